"""Section 6.4.3 of the thesis: what a larger chunk does to accuracy, depth and training time."""

from __future__ import annotations

from experiments.experiment import Column, Experiment, Fields, Scale, Shows, configs
from experiments.table_6_1 import CPU_STEPS_WIDE, CPU_TEST, SEEDS, SMOKE, early_stop
from regulargpt.config import RunConfig

CHUNK_SIZES = (2, 3, 4, 5, 8)
LANGUAGES = ("parity", "even-pairs", "cycle-navigation", "modular-arithmetic")
RECIPES = ("paper", "robust")
LONGEST = 500
SHOWS = {"accuracy": Shows(), "seconds": Shows("seconds"), "depth": Shows("depth", length=LONGEST)}


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `row` is language/recipe/what is shown, `name` the chunk size.

    >>> [c.model.chunk_size for c in runs("parity/robust/accuracy", "8", "smoke")]
    [8]
    """
    language, recipe, _ = row.split("/")
    fields: dict[str, object] = {"model.chunk_size": int(name), "evaluation.beyond": (), **test(scale)}
    if scale == "cpu" and recipe == "paper":
        fields |= early_stop("regulargpt")
        fields |= {"training.steps": min(CPU_STEPS_WIDE.get(language, 20_000), 20_000)}
    return configs(language, recipe, "regulargpt", "thesis", fields, (0,) if scale == "smoke" else SEEDS)


def test(scale: Scale) -> Fields:
    """How much is tested, and at the scale smoke how little is trained."""
    return {"smoke": SMOKE, "cpu": CPU_TEST["regulargpt"], "full": {}}[scale]


test.__test__ = False  # type: ignore[attr-defined]  # its name is no invitation to pytest

EXPERIMENT = Experiment(
    "section-6.4.3",
    "The effect of the chunk size",
    tuple(f"{language}/{recipe}/{what}" for language in LANGUAGES for recipe in RECIPES for what in SHOWS),
    tuple(Column(str(C), f"C = {C}", str(C)) for C in CHUNK_SIZES),
    runs,
    shows=lambda row, column: SHOWS[row.rpartition("/")[2]],
    statements="section-6.4.3",
)
