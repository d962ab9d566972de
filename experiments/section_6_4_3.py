"""Section 6.4.3 of the thesis: what a larger chunk does to accuracy, depth and training time.

Its networks are those of Table 6.1, with other C too.
"""

from __future__ import annotations

from experiments import table_6_1
from experiments.experiment import Column, Experiment, Scale, Shows
from regulargpt.config.schema import RunConfig

CHUNK_SIZES = (2, 3, 4, 5, 8)
LANGUAGES = ("parity", "even-pairs", "cycle-navigation", "modular-arithmetic")
RECIPES = ("paper", "words")
LONGEST = 500
SHOWS = {"accuracy": Shows(), "seconds": Shows("seconds"), "depth": Shows("depth", length=LONGEST)}


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `row` is language/recipe/what is shown, `name` the chunk size.

    >>> [c.model.chunk_size for c in runs("parity/words/accuracy", "8", "smoke")]
    [8]
    """
    language, recipe, _ = row.split("/")
    if recipe == "paper":
        return table_6_1.published(language, "regulargpt", int(name), scale)
    return table_6_1.ours(language, int(name), scale)


EXPERIMENT = Experiment(
    "section-6.4.3",
    "The effect of the chunk size",
    tuple(f"{language}/{recipe}/{what}" for language in LANGUAGES for recipe in RECIPES for what in SHOWS),
    tuple(Column(str(C), f"C = {C}", str(C)) for C in CHUNK_SIZES),
    runs,
    shows=lambda row, column: SHOWS[row.rpartition("/")[2]],
    statements="section-6.4.3",
)
