"""The twelve languages of Table 6.1 from final answers alone: words of at most 40 symbols and their answers.

Recipe `answers`: random bracketings, and the automaton that the network's own answers give. RegularGPT as in the
thesis, and with gates. Scored on 41 to 500 symbols, half near misses where there are members, and under `hard-2` at
10,000.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from experiments.experiment import Column, Experiment, Fields, Scale, Shows, configs
from experiments.table_6_1 import AT_10_000, BHATTAMISHRA, DELETANG, PROVEN, SEEDS
from regulargpt.config.protocols import MANY
from regulargpt.config.schema import RunConfig

TITLES = {"gated": "gated", "regulargpt": "RegularGPT"}
CHUNK_SIZES = (2, 3)
RUNS = {f"{name}-C{C}": {"model.gates": name == "gated", "model.chunk_size": C} for name in TITLES for C in CHUNK_SIZES}
# Every thirteenth length, even and odd ones, 496 among them.
CPU_TEST: Fields = {"evaluation.samples": 128, "evaluation.stride": 13}
CPU_STEPS = 8_000
# A table of 6.1 million windows is learned sooner with states twice as wide. The automaton of D_12 is found late; of
# its 339,066 windows a wider layer holds more. A network of either takes thousands of steps to settle, if it drifts.
SETTLING = "phases.table_fine_tuning.settling"
CPU_LARGE: Mapping[tuple[str, str], Fields] = {
    ("modular-arithmetic", "gated-C3"): {"training.steps": 16_000, "model.d_model": 128},
    ("modular-arithmetic", "regulargpt-C2"): {SETTLING: 14_000},
    ("dyck-12", "gated-C2"): {"training.steps": 20_000, "model.d_ff": 1024, SETTLING: 16_000},
}
SMOKE: Fields = {"training.steps": 20, "evaluation.samples": 8, "evaluation.stride": 51}


def titled(name: str) -> str:
    """The network of a column.

    >>> titled("gated-C3")
    'gated, C = 3'
    """
    model, _, chunks = name.partition("-C")
    return f"{TITLES[model]}, C = {chunks}"


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell, those with a large table with what they need.

    >>> [(c.data.train_len, c.recipe, c.model.label) for c in runs("parity", "gated-C3", "smoke")]
    [(40, 'answers', 'gated-regulargpt-C3')]
    """
    fields: dict[str, object] = {
        **RUNS[name],
        "evaluation.extra_lengths": (),
        "evaluation.extra_protocols": ("hard-2",),
    }
    if scale == "smoke":
        fields |= SMOKE
    if scale == "cpu":
        fields |= {**CPU_TEST, "training.steps": CPU_STEPS, **CPU_LARGE.get((row, name), {})}
    if scale == "full":
        fields |= MANY
    return configs(row, "answers", "regulargpt", "", fields, SEEDS[:1] if scale == "smoke" else SEEDS)


def columns(names: Iterable[str]) -> tuple[Column, ...]:
    """Of these networks the accuracy, that under `hard-2`, the share of runs that are proven, and the seconds.

    >>> [column.title for column in columns(["gated-C2"])][2:]
    ['gated, C = 2, proven', 'gated, C = 2, seconds of training']
    """
    shown = (("", "", Shows()), ("hard-", ", hard, 10,000", AT_10_000), ("proven-", ", proven", PROVEN))
    shown += (("seconds-", ", seconds of training", Shows("seconds")),)
    return tuple(
        Column(f"{key}{name}", f"{titled(name)}{says}", name, shows) for key, says, shows in shown for name in names
    )


EXPERIMENT = Experiment(
    "answers",
    "From final answers alone, and proven",
    (*DELETANG, *BHATTAMISHRA),
    columns(RUNS),
    runs,
    statistics=("mean",),
)
