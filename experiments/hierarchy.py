"""Networks with a stack from answers alone, proven at every length: stack-rnn with signs, by the recipe `answers`.

Words of at most 40 symbols are shown, and their answers. Whole words are scored, of 41 to 500 symbols and of 20,000.
Where brackets are visible they push and pop; elsewhere the network learns to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from experiments.experiment import Column, Experiment, Fields, Scale, Shows, configs
from experiments.table_6_1 import SEEDS
from regulargpt.config.schema import RunConfig

LANGUAGES: Mapping[str, str] = {
    "reverse-string": "reverse-string",
    "stack-manipulation": "stack-manipulation",
    "brackets-2": "brackets-2",
    "marked-reversal": "marked-reversal",
    "arithmetic-brackets": "arithmetic-brackets",
    "equation": "equation",
}
# A fresh seed of this language was not hardened after 8,800 steps: it has five more in the table.
MORE_SEEDS: Mapping[str, tuple[int, ...]] = {"stack-manipulation": (*SEEDS, 3, 4, 5, 6, 7)}
LONG = 20_000
# On two cores; training ends before, when the proof holds. One answer a word takes longer than a row.
CPU_STEPS, LONGER = 6_000, ("brackets-2", "arithmetic-brackets", "equation")
CPU_LONGER: Mapping[str, int] = dict.fromkeys(LONGER, 20_000)
CPU_TEST: Fields = {"evaluation.samples": 64, "evaluation.stride": 13, "evaluation.symbols": 327_680}
SMOKE: Fields = {"training.steps": 20, "evaluation.samples": 4, "evaluation.stride": 51, "evaluation.symbols": 20_000}
FULL: Fields = {"training.steps": 100_000, "evaluation.samples": 512, "evaluation.symbols": 655_360}


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell, those of `name`: there is one network.

    >>> [(c.data.name, c.recipe, c.model.title) for c in runs("marked-reversal", "binary", "smoke")]
    [('marked-reversal', 'answers', 'stack-rnn')]
    """
    fields: dict[str, object] = {"evaluation.extra_lengths": (long(row),), "evaluation.extra_protocols": ()}
    if scale == "smoke":
        # A long word takes longer than such a training.
        fields |= {**SMOKE, "evaluation.extra_lengths": ()}
    if scale == "cpu":
        fields |= {**CPU_TEST, "training.steps": CPU_LONGER.get(row, CPU_STEPS)}
    if scale == "full":
        fields |= FULL
    return configs(LANGUAGES[row], "answers", "stack-rnn", "", fields, seeds(row, scale))


def seeds(row: str, scale: Scale) -> tuple[int, ...]:
    """The seeds of a row.

    >>> seeds("reverse-string", "cpu"), seeds("stack-manipulation", "cpu"), seeds("stack-manipulation", "smoke")
    ((0, 1, 2), (0, 1, 2, 3, 4, 5, 6, 7), (0,))
    """
    return SEEDS[:1] if scale == "smoke" else MORE_SEEDS.get(row, SEEDS)


def long(row: str) -> int:
    """The length of the long words: about 20,000 symbols. A word, a mark and its mirror image have an odd length.

    >>> long("reverse-string"), long("marked-reversal")
    (20000, 20001)
    """
    return LONG + (row == "marked-reversal")


def shows(row: str, column: Column) -> Shows:
    """What the cells show: the long words of a row have a length of their own."""
    return replace(column.shows, length=column.shows.length and long(row))


EXPERIMENT = Experiment(
    "hierarchy",
    "Networks with a stack, from final answers alone",
    tuple(LANGUAGES),
    (
        Column("binary", "whole words, 41..500", "binary"),
        Column("long-binary", "whole words, 20,000 symbols", "binary", Shows(length=LONG)),
        Column("proven-binary", "proven", "binary", Shows("proven")),
        Column("training-binary", "training", "binary", Shows("training")),
    ),
    runs,
    related=("related-deletang",),
    shows=shows,
    statistics=("mean", "worst"),
)
