"""The config of a constructed model: complete as that of a run, with 0 training steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import languages
from languages.errors import UserError
from languages.tasks import TreeTask, tree_task
from regulargpt.config.recipes import CONSTRUCTED, RECIPES
from regulargpt.config.schema import RunConfig, flat
from regulargpt.construct.plan import model_config, smaller
from regulargpt.models.regulargpt.options import RegularGPTOptions
from regulargpt.options import without_name

if TYPE_CHECKING:
    from regulargpt.models.regulargpt import RegularGPT

# What is exact by construction needs no long test to believe it: this one takes seconds. Weights of a layer of the
# FFN up to which a model is small: larger ones are tested on fewer and shorter words, and so are trees along brackets,
# which may be as deep as a word is long.
SMALL = 1 << 14
TEST = {"evaluation.test_len": 100, "evaluation.samples": 128, "evaluation.extra_lengths": (10_000,)}
LARGE_TEST = TEST | {"evaluation.samples": 32, "evaluation.extra_lengths": (1000,)}


def configuration(language: str, chunk_size: int = 2, representation: str | None = None) -> RunConfig:
    """The config of `regulargpt construct`; without a representation, the one that needs less memory.

    Raises UserError for an unknown language or representation, or a construction that is too large.

    >>> config = configuration("tomita-3", representation="matrix")
    >>> config.recipe, config.training.steps, config.model.d_model, config.data.near_misses
    ('constructed-matrix', 0, 50, 0.5)
    """
    task = tree_task(languages.find(language))
    chosen = smaller(task, chunk_size) if representation is None else representation
    model = model_config(task, chunk_size, chosen)
    fields = {"recipe": f"constructed-{chosen}", "data.name": language, "training.steps": 0}
    fields |= {f"model.{key}": value for key, value in without_name(model).items()}
    if task.sampling == "balanced":
        fields |= RECIPES["words"].balanced
    quick = model.d_model * model.d_ff <= SMALL and not model.follows_brackets
    return RunConfig().replaced(fields | (TEST if quick else LARGE_TEST))


def check(config: RunConfig, task: TreeTask) -> None:
    """Raise UserError if a config with a constructed recipe is not the one that its construction needs.

    >>> config = configuration("parity").replaced({"model.d_model": 6})
    >>> check(config, languages.get("parity"))
    Traceback (most recent call last):
    languages.errors.UserError: model.d_model = 6; recipe 'constructed-one-hot' needs 4: use `regulargpt construct`
    """
    if not isinstance(config.model, RegularGPTOptions):
        raise UserError(f"model.name = '{config.model.name}'; recipe '{config.recipe}' is for 'regulargpt'")
    needed = flat(model_config(task, config.model.chunk_size, CONSTRUCTED[config.recipe]))
    for key, given in flat(config.model).items():
        if given != needed[key]:
            raise UserError(
                f"model.{key} = {given}; recipe '{config.recipe}' needs {needed[key]}: use `regulargpt construct`"
            )
    if config.objective.name not in ("last", "prefixes"):
        raise UserError(
            f"objective.name = '{config.objective.name}'; recipe '{config.recipe}' gives the machine's answers: "
            "choose 'last' or 'prefixes'"
        )


def build(config: RunConfig, task: TreeTask) -> RegularGPT:
    """The model of a constructed config, as `check` lets it pass."""
    from regulargpt.construct.weights import constructed

    assert isinstance(config.model, RegularGPTOptions), "`check` refuses other models"
    return constructed(config.model, task, CONSTRUCTED[config.recipe])
