"""Every option of every part of a config, and values for them, read off the options themselves."""

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from regulargpt.config.phases import PHASES
from regulargpt.config.schema import ConfigError, RunConfig
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.objectives import OBJECTIVES
from regulargpt.options import Options, hints
from regulargpt.training.observers import OBSERVERS

SEVERAL = {"phases": PHASES, "observers": OBSERVERS}  # the kinds of which a config has any number
CHOICES: list[dict[str, str]] = [
    *({"data.name": name} for name in ("parity", "dyck-2")),
    *({"model.name": name} for name in MODELS),
    *({"model.name": "transformer", "model.encoding.name": name} for name in ENCODINGS),
    *({"objective.name": name} for name in OBJECTIVES),
]


class Place(typing.NamedTuple):
    """An option, the options that it is of, its dotted key."""

    key: str
    owner: type[Options]
    field: dataclasses.Field

    @property
    def kind(self) -> Any:
        return hints(self.owner)[self.field.name]


def places(part: Options, path: str = "") -> Iterator[Place]:
    """The options of a part and of the parts in it."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, Options):
            yield from places(value, f"{path}{field.name}.")
        elif field.name in SEVERAL:
            for one in value:
                here = f"{path}{field.name}.{one.name}."
                yield from (p for p in places(one, here) if p.field.name != "name")
        else:
            yield Place(f"{path}{field.name}", type(part), field)


WITH_ALL = RunConfig.parse("\n".join(f"[{kind}.{name}]" for kind, parts in SEVERAL.items() for name in parts))
CONFIGS = [WITH_ALL.replaced(chosen) for chosen in CHOICES]
PLACES = {p.key: (config, p) for config in reversed(CONFIGS) for p in places(config)}  # with a config that has the key
NAMES = [key for key in PLACES if key.endswith("name")]


def values(place: Place) -> st.SearchStrategy:
    """Values within the bounds of an option."""
    kind, bounds = place.kind, place.field.metadata
    if typing.get_origin(kind) is typing.Literal:
        return st.sampled_from(typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        items = {int: st.integers(1, 99), float: st.floats(0.5, 99)}.get(typing.get_args(kind)[0], TEXT)
        return st.lists(items, max_size=4).map(tuple)
    if kind in (bool, str):
        return {bool: st.booleans(), str: TEXT}[kind]
    low, high = bounds.get("least"), bounds.get("most")
    if kind is int:
        return st.integers(low, high)
    below = bounds.get("below")
    return st.floats(
        low, high if below is None else below, allow_nan=False, allow_infinity=False, exclude_max=below is not None
    )


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def configs(draw: st.DrawFn) -> RunConfig:
    """Any choice of parts, some of their options changed."""
    config = draw(st.sampled_from([RunConfig(), WITH_ALL]))
    for chosen in draw(st.lists(st.sampled_from(CHOICES), max_size=3)):
        config = config.replaced(chosen)
    there = [place for place in places(config) if place.key not in NAMES]
    for place in draw(st.lists(st.sampled_from(there), max_size=5)):
        try:
            config = config.replaced({place.key: draw(values(place))})
        except ConfigError:  # what two options say together
            continue
    return config
