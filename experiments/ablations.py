"""What each part of RegularGPT is good for: the recipe with one part taken away (thesis, section 6.2)."""

from __future__ import annotations

from experiments.experiment import Column, Experiment, Fields, Scale, configs
from experiments.table_6_1 import SEEDS, SMOKE, cpu_test, early_stop, quadratic_stride
from regulargpt.config.schema import RunConfig

# ceil(log_2 40) levels: as many as training words need.
LEVELS = 6
PARTS: dict[str, Fields] = {
    "whole": {},
    "no-sharing": {"model.distinct_levels": LEVELS},
    "fixed-depth": {"model.levels": LEVELS},
    "no-dilation": {"model.attention": "full"},
    "masked-pad": {"model.pad": "masked"},
    "no-state-norm": {"model.state_norm": False},
    "no-state-noise": {"model.state_noise": 0.0, "model.noise_loss": 0.0},
}
TITLES = {
    "whole": "all parts",
    "no-sharing": "without weight sharing",
    "fixed-depth": "fixed depth",
    "no-dilation": "without the sliding-dilated mask",
    "masked-pad": "pad masked, not learned",
    "no-state-norm": "without state norm",
    "no-state-noise": "without state noise",
}
# All positions of every level make a step more than ten times as long, of the wide networks about 1 s: on two cores
# there is one seed, and for those 4,000 steps, of which the whole model needs 2,200 to 3,900.
SLOW = "no-dilation"
SLOW_STEPS = {"even-pairs/paper": 4_000, "cycle-navigation/paper": 4_000}
LANGUAGES = ("parity", "even-pairs", "cycle-navigation", "tomita-5")
# The recipe `paper` has neither state norm nor state noise.
OF_WORDS = ("no-state-norm", "no-state-noise")
# The whole model needs 1,200 to 7,200 steps on these languages.
CPU_STEPS = 10_000


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `row` is language/recipe, `name` the part that is missing.

    >>> [c.model.pad for c in runs("parity/words", "masked-pad", "smoke")], runs("parity/paper", "no-state-norm", "cpu")
    (['masked'], [])
    """
    language, recipe = row.split("/")
    if recipe == "paper" and name in OF_WORDS:
        return []
    fields: dict[str, object] = {"evaluation.extra_lengths": ()}
    if scale == "smoke":
        fields |= SMOKE
    if scale == "cpu":
        fields |= {**cpu_test("regulargpt", language), **(early_stop("regulargpt") if recipe == "paper" else {})}
        fields |= {"training.steps": SLOW_STEPS.get(row, CPU_STEPS) if name == SLOW else CPU_STEPS}
    fields |= PARTS[name]
    if name == SLOW and scale != "smoke":
        fields |= {"evaluation.samples": 32, "evaluation.stride": quadratic_stride(language)}
    seeds = SEEDS if scale == "full" or (scale == "cpu" and name != SLOW) else SEEDS[:1]
    return configs(language, recipe, "regulargpt", "thesis", fields, seeds)


EXPERIMENT = Experiment(
    "ablations",
    "RegularGPT with one part taken away",
    tuple(f"{language}/{recipe}" for language in LANGUAGES for recipe in ("paper", "words")),
    tuple(Column(name, TITLES[name], name) for name in PARTS),
    runs,
)
