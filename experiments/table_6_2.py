"""Table 6.2 of the thesis: Parity with other shares of ones, at the training length and at longer ones."""

from __future__ import annotations

from experiments.experiment import Column, Experiment, Scale, Shows, configs
from experiments.table_6_1 import SEEDS, SMOKE, cpu_test, early_stop
from regulargpt.config.schema import RunConfig

PROBABILITIES = ("0.1", "0.3", "0.5", "0.7", "0.9")
MODELS = {"regulargpt": "paper", "rnn": "paper", "transformer": "paper", "words": "words"}
SAME, LONGER = "same-length", "extrapolation"
SAME_LENGTH = 40


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `name` is P(1); both settings test the same networks.

    >>> [c.data.name for c in runs("same-length/rnn", "0.1", "smoke")]
    ['parity:p_one=0.1']
    """
    label = row.partition("/")[2]
    model = "regulargpt" if label == "words" else label
    language = "parity" if name == "0.5" else f"parity:p_one={name}"
    fields: dict[str, object] = {"evaluation.extra_lengths": (SAME_LENGTH,)}
    if scale == "smoke":
        fields |= SMOKE
    if scale == "cpu" and label != "words":
        fields |= early_stop(model)
    if scale == "cpu":
        fields |= cpu_test(model, "parity")
    return configs(language, MODELS[label], model, "thesis", fields, (0,) if scale == "smoke" else SEEDS)


EXPERIMENT = Experiment(
    "table-6.2",
    "Parity with other probabilities of a one",
    tuple(f"{setting}/{label}" for setting in (SAME, LONGER) for label in MODELS),
    tuple(Column(p, f"P(1) = {p}", p, published=p) for p in PROBABILITIES),
    runs,
    published="table-6.2",
    shows=lambda row, column: Shows(length=SAME_LENGTH if row.startswith(SAME) else None),
)
