"""The product of languages, models, recipes, protocols and values of fields, as a list of complete configs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import languages
from languages.errors import UserError
from languages.task import Task
from regulargpt.config import RunConfig, value_of
from regulargpt.protocols import protocol
from regulargpt.recipes import CERTIFY, recommended, resolve
from regulargpt.sweep.applies import applies
from regulargpt.validation import no_certificate_for

MOST = 100_000
"""Runs of one sweep: a product with more of them is a slip of the pen."""
AXES = ("task.language", "model.name", "recipe", "protocol")


@dataclass(frozen=True)
class Grid:
    """What a sweep goes over. A recipe None is the one that suits language and model, a protocol None is none.

    `values` says of dotted keys which values they take. A field that changes nothing in a run (the chunk size of an
    LSTM) keeps the recipe's value there, so that it makes no run twice.

    >>> grid = Grid(("parity",), ("regulargpt", "lstm"), values={"model.chunk_size": (2, 3), "seed": (0, 1)})
    >>> [(c.model.name, c.model.chunk_size, c.seed) for c in grid.configs if c.seed == 0]
    [('regulargpt', 2, 0), ('regulargpt', 3, 0), ('lstm', 2, 0)]
    >>> len(grid.configs)
    6
    """

    languages: Sequence[str]
    models: Sequence[str] = ("regulargpt",)
    recipes: Sequence[str | None] = (None,)
    protocols: Sequence[str | None] = (None,)
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    certify: bool = False

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """The task of each language."""
        return {language: languages.get(language) for language in self.languages}

    @cached_property
    def configs(self) -> list[RunConfig]:
        """One config a run, each once: languages outermost, the last of `values` innermost.

        Raises UserError for a field that changes nothing in any run, for a certificate that no run can have, for a
        product that is too large, and what `regulargpt.recipes.resolve` raises.
        """
        self._refuse_size()
        if self.certify and 0 in self.values.get("training.certify_every", ()):
            raise UserError("--certify and training.certify_every = 0 contradict each other; leave one of them out")
        found = [
            effective(self._certified(base.replaced(values)), base, values, task)
            for language, task in self.tasks.items()
            for model, recipe, preset in product(self.models, self.recipes, self.protocols)
            for chosen in product(*self.values.values())
            for values in [dict(zip(self.values, chosen, strict=True))]
            for base in [self.base(language, model, recipe, preset, values.get("model.chunk_size", 2))]
        ]
        for key in self.values:
            if all(key in unused for _, unused in found):
                raise UserError(f"{key} changes nothing in any of these runs; leave it out")
        configs = [config for config, _ in found]
        reasons = [no_certificate_for(config) for config in configs] if self.certify else [None]
        if None not in reasons:
            raise UserError(f"--certify: {reasons[0]}")
        return list(dict.fromkeys(configs))

    def base(self, language: str, model: str, recipe: str | None, preset: str | None, chunk_size: int) -> RunConfig:
        """The config that the values are set over."""
        sampling = self.tasks[language].sampling
        chosen = recommended(language, model) if recipe is None else recipe
        config = resolve(chosen, model, language, sampling, chunk_size)
        return config if preset is None else protocol(preset).apply(config)

    def differences(self) -> list[dict[str, Any]]:
        """For each config, the fields that are not the same in all of them and change something in it."""
        keys = [*AXES, *self.values]
        varied = [key for key in keys if len({value_of(config, key) for config in self.configs}) > 1]
        sampled: dict[str, Task] = {}
        rows = []
        for config in self.configs:
            name = config.task.language
            task = sampled.setdefault(name, self.tasks.get(name) or languages.get(name))
            rows.append({key: value_of(config, key) for key in varied if applies(key, config, task)})
        return rows

    def _certified(self, config: RunConfig) -> RunConfig:
        """With `certify`, trained on until the certificate holds, where there can be one and it is not so already."""
        if not self.certify or config.training.certify_every or no_certificate_for(config) is not None:
            return config
        return config.replaced({key: value for key, value in CERTIFY.items() if key not in self.values})

    def _refuse_size(self) -> None:
        axes = (self.languages, self.models, self.recipes, self.protocols, *self.values.values())
        n = math.prod(map(len, axes))
        if n > MOST:
            raise UserError(f"{n:,} runs; a sweep has at most {MOST:,}")


def effective(config: RunConfig, base: RunConfig, values: Iterable[str], task: Task) -> tuple[RunConfig, set[str]]:
    """The config with those of `values` set back to the base that change nothing in this run; their keys."""
    unused = {key for key in values if not applies(key, config, task)}
    return config.replaced({key: value_of(base, key) for key in unused}) if unused else config, unused
