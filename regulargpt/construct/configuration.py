"""The config of a constructed model: complete as that of a run, with 0 training steps."""

from __future__ import annotations

import dataclasses

import languages
from languages.errors import UserError
from languages.task import Task
from regulargpt.config import ModelConfig, RunConfig
from regulargpt.construct.plan import model_config, smaller
from regulargpt.recipes import CONSTRUCTED, NEAR_MISSES

# What is exact by construction needs no long test to believe it: this one takes seconds. Weights of one layer of the
# FFN up to which a model is small: larger ones are tested on fewer and shorter words.
SMALL = 1 << 14
TEST = {"evaluation.test_len": 100, "evaluation.samples": 128, "evaluation.beyond": (10_000,)}
LARGE_TEST = TEST | {"evaluation.samples": 32, "evaluation.beyond": (1000,)}


def configuration(language: str, chunk_size: int = 2, representation: str | None = None) -> RunConfig:
    """The config of `regulargpt construct`; without a representation, the one that needs less memory.

    Raises UserError for an unknown language or representation, or a construction that is too large.

    >>> config = configuration("tomita-3", representation="matrix")
    >>> config.recipe, config.training.steps, config.model.d_model, config.task.near_misses
    ('constructed-matrix', 0, 50, 0.5)
    """
    task = languages.get(language)
    chosen = smaller(task, chunk_size) if representation is None else representation
    model = model_config(task, chunk_size, chosen)
    fields = {"recipe": f"constructed-{chosen}", "task.language": language, "training.steps": 0}
    fields |= {f"model.{key}": value for key, value in dataclasses.asdict(model).items()}
    if task.sampling == "balanced":
        fields |= NEAR_MISSES
    return RunConfig().replaced(fields | (TEST if model.d_model * model.d_ff <= SMALL else LARGE_TEST))


def check(config: RunConfig, task: Task) -> None:
    """Raise UserError if a config with a constructed recipe is not the one that its construction needs.

    >>> config = configuration("parity").replaced({"model.d_model": 6})
    >>> check(config, languages.get("parity"))
    Traceback (most recent call last):
    languages.errors.UserError: model.d_model = 6; recipe 'constructed-one-hot' needs 4: use `regulargpt construct`
    """
    needed = model_config(task, config.model.chunk_size, CONSTRUCTED[config.recipe])
    for field in dataclasses.fields(ModelConfig):
        asked, right = getattr(config.model, field.name), getattr(needed, field.name)
        if asked != right:
            raise UserError(
                f"model.{field.name} = {asked}; recipe '{config.recipe}' needs {right}: use `regulargpt construct`"
            )
    if config.task.supervision not in ("last", "every"):
        raise UserError(
            f"task.supervision = '{config.task.supervision}'; recipe '{config.recipe}' gives the machine's answers: "
            "choose 'last' or 'every'"
        )
