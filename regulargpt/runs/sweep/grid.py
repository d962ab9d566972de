"""The product of languages, models, recipes, protocols and values of options, as a list of complete configs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from languages.errors import UserError
from regulargpt.config.phases import PHASES
from regulargpt.config.recipes import BY_BRACKETS, apart, resolve, usual_model
from regulargpt.config.schema import RunConfig, first_part, flat, parts_first, type_of, why_unused
from regulargpt.options import ConfigError, shown
from regulargpt.runs.sweep.values import read_values
from regulargpt.training.given import Given, given, phrase
from regulargpt.training.proof import EVERY, no_certificate

MOST_RUNS = 100_000
"""Runs of a sweep: a product with more of them is a slip of the pen."""
AXES = ("data.name", "model.name", "recipe", "protocol")


@dataclass(frozen=True)
class Grid:
    """What a sweep goes over. A recipe None is the recipe that suits language and model, a protocol None is none.

    A model None is the usual model of each language or text.

    All models have the same supervision and the same words, unless recipes or values say otherwise: what is not the
    same in the recipes of all is as the user wrote it (`regulargpt.config.recipes.apart`).

    `values` says of dotted keys which values they take, as values or, in lists of texts, as written. A key that a run
    does not have, or that changes nothing there (the chunk size of an LSTM), makes no run twice.

    >>> grid = Grid(("parity",), ("regulargpt", "lstm"), values={"model.chunk_size": (2, 3), "seed": (0, 1)})
    >>> [c.model.label for c in grid.configs if c.seed == 0]
    ['gated-regulargpt-C2', 'gated-regulargpt-C3', 'lstm']
    >>> len(grid.configs)
    6
    """

    languages: Sequence[str]
    models: Sequence[str | None] = (None,)
    recipes: Sequence[str | None] = (None,)
    protocols: Sequence[str | None] = (None,)
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    certify: bool = False

    @cached_property
    def configs(self) -> list[RunConfig]:
        """One config a run, each once: languages outermost, the last of `values` innermost.

        Raises UserError for a key that changes nothing in any run, for a certificate that no run can have, for a
        product that is too large, and what `regulargpt.config.recipes.resolve` raises.
        """
        self._refuse_size(given for given in self.values.values() if not is_written(given))
        values = self.read()
        self._refuse_size(values.values())
        if self.certify and (off := [key for key in EVERY if 0 in values.get(key, ())]):
            raise UserError(f"--certify and {off[0]} = 0 contradict each other; leave one of them out")
        used: set[str] = set()
        # Each once: models without a key that is swept over would be there again for every value.
        configs = list(dict.fromkeys(self._configs(values, used)))
        for key in values:
            if key not in used:
                raise UserError(f"{key} changes nothing in any of these runs; leave it out")
        parts = [(config.model, config.objective, config.data.name) for config in configs if self.certify]
        reasons = [no_certificate(*of) for of in parts] or [None]
        if None not in reasons:
            raise UserError(f"--certify: {reasons[0]}")
        return configs

    def _configs(self, values: Mapping[str, Sequence[Any]], used: set[str]) -> Iterator[RunConfig]:
        """Every combination; `used` collects the keys that change something in one."""
        for axes in self.axes():
            base = self.base(*axes)
            for chosen in product(*values.values()):
                here = dict(zip(values, chosen, strict=True))
                kept = {key: here[key] for key in applicable(base, here)}
                used.update(kept)
                yield self.base(*axes, kept, self.certify)

    def axes(self) -> Iterator[tuple[str, str, str | None, str | None]]:
        """Languages, models, recipes and protocols."""
        for language, model, recipe, preset in product(self.languages, self.models, self.recipes, self.protocols):
            yield language, usual_model(language) if model is None else model, recipe, preset

    @property
    def named_models(self) -> list[str]:
        """The models, each once."""
        return list(dict.fromkeys(model for _, model, *_ in self.axes()))

    def base(
        self,
        language: str,
        model: str,
        recipe: str | None,
        preset: str | None,
        chosen: Mapping[str, Any] | None = None,
        certify: bool = False,
    ) -> RunConfig:
        """The config of a place, with the values that are `chosen`."""
        unless = {key for fields in self.apart(language, recipe).values() for key in fields}
        return resolve(recipe, model, language, chosen, preset=preset, unless=tuple(unless), certify=certify)

    def apart(self, language: str, recipe: str | None) -> dict[str, dict[str, Any]]:
        """What not all models have in common on a language."""
        if (language, recipe) not in self._apart:
            models = list(dict.fromkeys(usual_model(language) if model is None else model for model in self.models))
            self._apart[language, recipe] = apart(recipe, models, language)
        return self._apart[language, recipe]

    @cached_property
    def _apart(self) -> dict[tuple[str, str | None], dict[str, dict[str, Any]]]:
        return {}

    def notices(self) -> list[str]:
        """What was left out so that the models can be compared, and how to have it.

        >>> Grid(("modular-arithmetic",), ("lstm", "regulargpt")).notices()[0].partition(";")[0]
        'all models have the same words (alone regulargpt has data.name = modular-arithmetic:plus=true)'
        """
        alone = [
            f"{model} has {key} = {value}"
            for language, recipe in product(self.languages, self.recipes)
            for model, fields in self.apart(language, recipe).items()
            for key, value in fields.items()
        ]
        words = f"all models have the same words (alone {listed(alone)})"
        return [
            *([f"{words}; write the language so, or --set them, for all"] if alone else []),
            *self.several(),
            *self.unlike(),
        ]

    def unlike(self) -> list[str]:
        """What some of the runs are given beside their batches, where not all are given the same.

        >>> Grid(("parity",), ("lstm", "transformer")).unlike()[0].partition(" (chain")[0]
        'not all is shown to all: lstm on parity is also given answers beside the batches'
        >>> Grid(("parity",), ("lstm", "gru")).unlike()
        []
        """
        runs_given: dict[str, list[tuple[str, Given]]] = defaultdict(list)
        kinds = set()
        for config in self.configs:
            had = given(flat(config))
            kinds.add(had and had.kind)
            if had is not None:
                runs_given[had.kind].append((f"{config.model.title} on {config.data.name}", had))
        parts = [
            f"{listed(run for run, _ in of)} {'is' if len({run for run, _ in of}) == 1 else 'are'} also given "
            + phrase(had for _, had in of)
            for of in runs_given.values()
        ]
        said = f"not all is shown to all: {'; '.join(parts)}; --recipe words gives none of it"
        return [said] if len(kinds) > 1 else []

    def several(self) -> list[str]:
        """The models that are not one network in all languages, under the same recipe and protocol.

        >>> Grid(("parity", "brackets-2"), ("regulargpt", "lstm")).several()
        ['regulargpt is not one network: model.tree = flat on parity, nested on brackets-2; --set it for all']
        """
        values_of: dict[Any, dict[str, dict[str, list[str]]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(list))
        )
        for language, model, recipe, preset in self.axes():
            for key, value in network(self.base(language, model, recipe, preset)).items():
                if key not in self.values:
                    values_of[model, recipe, preset][key][shown(value)].append(language)
        apart = {
            f"{model} is not one network: {key} = "
            + ", ".join(f"{value} on {listed(languages)}" for value, languages in by_value.items()): None
            for (model, *_), of_model in values_of.items()
            for key, by_value in of_model.items()
            if len(by_value) > 1
        }
        return [f"{line}; --set it for all" for line in apart]

    def read(self) -> dict[str, tuple[Any, ...]]:
        """The values of each key: as they are, or as written (in a list), read by the first config that has the key."""
        bases = [self.base(*axes) for axes in self.axes()]
        values: dict[str, tuple[Any, ...]] = {}
        for key in sorted(self.values, key=parts_first):
            given = self.values[key]
            values[key] = self.read_one(key, given, bases) if is_written(given) else tuple(given)
            if any(is_part(base, key) for base in bases):
                bases += [with_parts(base, {key: value}) for base in bases for value in values[key]]
        return {key: values[key] for key in self.values}

    def read_one(self, key: str, texts: Sequence[str], bases: Sequence[RunConfig]) -> tuple[Any, ...]:
        """The values of a key as the first config reads them that has it."""
        refusals = []
        for base in bases:
            try:
                type_of(base, key)
            except ConfigError as error:
                refusals.append(error)
            else:
                return read_values(base, key, texts)
        raise refusals[0]

    def differences(self) -> list[dict[str, Any]]:
        """For each config, the keys that are not the same in all of them."""
        flats = [flat(config) for config in self.configs]
        everywhere = dict.fromkeys(key for of_run in flats for key in of_run)
        # A part that is swept over brings options of its own: `alibi:slopes=press,alibi:slopes=geometric`.
        inside = tuple(f"{key}." for key in self.values)
        of_parts = [key for key in everywhere if key.endswith(".name") or key.startswith(inside)]
        keys = dict.fromkeys([*AXES, *self.values, *of_parts])
        varied = [key for key in keys if len({of_run.get(key) for of_run in flats}) > 1]
        return [{key: of_run[key] for key in varied if key in of_run} for of_run in flats]

    def _refuse_size(self, values: Iterable[Sequence[Any]]) -> None:
        n = math.prod(map(len, (self.languages, self.models, self.recipes, self.protocols, *values)))
        if n > MOST_RUNS:
            raise UserError(f"{n:,} runs; a sweep has at most {MOST_RUNS:,}")


def network(config: RunConfig) -> dict[str, Any]:
    """What of a config the function depends on that the network computes, beside its weights.

    >>> network(RunConfig().replaced({"model.name": "lstm"}))
    {'model.d_model': 64, 'model.n_layers': 1}
    """
    of_brackets = {key: value for key, value in flat(config).items() if key in BY_BRACKETS}
    return {f"model.{key}": value for key, value in config.model.arguments().items()} | of_brackets


def listed(texts: Iterable[str], most: int = 3) -> str:
    """Texts, not too many.

    >>> listed("abcde")
    'a, b, c, ...'
    """
    texts = list(dict.fromkeys(texts))
    return ", ".join([*texts[:most], *["..."] * (len(texts) > most)])


def is_written(values: Sequence[Any]) -> bool:
    """Whether values are texts still to be read."""
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def is_part(config: RunConfig, key: str) -> bool:
    """Whether a key chooses a part of this config: by its name, or with its options."""
    with suppress(ConfigError):
        return type_of(config, key) is None
    return False


def with_parts(config: RunConfig, chosen: Mapping[str, Any]) -> RunConfig:
    """The config with those of the chosen parts that it has a place for."""
    for key in sorted(chosen, key=parts_first):
        if is_part(config, key):
            config = config.replaced({key: chosen[key]})
    return config


def applicable(base: RunConfig, chosen: Mapping[str, Any]) -> list[str]:
    """The keys that change something in this run, in their order.

    >>> applicable(RunConfig(), {"model.chunk_size": 3, "model.n_layers": 2, "model.noise_loss": 0.1})
    ['model.chunk_size']
    """
    config = with_parts(base, chosen)
    there = [key for key in chosen if has(config, key)]
    whole = config.replaced({key: chosen[key] for key in there})
    return [key for key in there if why_unused(whole, key) is None]


def has(config: RunConfig, key: str) -> bool:
    """Whether the config has this key, or could have the phase that it is of."""
    try:
        type_of(config, key)
    except ConfigError:
        return False
    section, _, rest = key.partition(".")
    if section != "phases":
        return True
    phase = PHASES.options({"name": first_part(rest)}, "phases")
    return phase.refuse(config.model, config.objective, config.data.name) is None
