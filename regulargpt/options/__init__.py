"""Options: a frozen dataclass beside each part, whose fields carry their default, their bounds and one line of help.

A config is a nesting of options. Whatever reads or writes options (TOML, the command line, `list`, the docs) does it by
these fields, so a part that has an option says so in one place.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar

from languages.errors import UserError, nearest, whole

Chosen = TypeVar("Chosen", bound="Options")

LARGEST = 2**63 - 1
"""Of whole numbers: with larger ones no tensor counts, and no number of seconds is a float."""
OR_NONE = (UnionType, typing.Union)
"""What the type of an option that may be left out has as its origin."""
NOUNS: dict[Any, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


class ConfigError(UserError):
    """A configuration that cannot be run: the message names the option."""


def option(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
    why: str = "",
    needs: str = "",
    flag: str = "",
    takes: str = "",
    at_test: bool = False,
    usual: str = "",
) -> Any:
    """A field of options: its default, one line of help, its bounds and what they mean.

    `needs` names another option of the class; while that option is 0, off or empty, this one changes nothing. `flag` is
    the option of the command line that sets it, if there is one beside `--set`. `takes` names another key of the
    config, whose value this option has while it is 0 itself. `at_test` says that a trained network may be tested with
    another value. `usual` is what stands for the default in help, where it depends on something else.

    >>> @dataclass(frozen=True)
    ... class Slopes(Options):
    ...     steepest: float = option(0.5, "The slope of the first head.", least=0, why="a slope is not negative")
    >>> Slopes(steepest=-1)
    Traceback (most recent call last):
    regulargpt.options.ConfigError: steepest = -1.0; a slope is not negative
    """
    bounds = {"least": least, "most": most, "below": below, "why": why}
    return dataclasses.field(
        default=default,
        metadata={
            "help": help,
            "needs": needs,
            "flag": flag,
            "takes": takes,
            "at_test": at_test,
            "usual": usual,
            **bounds,
        },
    )


def share(default: float, help: str, **more: Any) -> Any:
    """An option from 0 to 1."""
    return option(default, help, least=0, most=1, why="it is a share, 0 to 1", **more)


def section(registry: str, default: Any, help: str, flag: str = "") -> Any:
    """A field that holds the options of a chosen part: `registry` is the place of the parts, "module:REGISTRY"."""
    return dataclasses.field(default=default, metadata={"registry": registry, "help": help, "flag": flag})


@dataclass(frozen=True)
class Options:
    """The base of all options: every value is checked when it is made.

    Raises ConfigError naming the option, without the section that it stands in; who knows the section adds it. A class
    that wants more than types and bounds adds `problems`.
    """

    def __post_init__(self) -> None:
        for name, kind in hints(type(self)).items():
            value = checked(name, kind, getattr(self, name))
            # A whole number where a number is wanted; the dataclass is frozen for everybody else.
            object.__setattr__(self, name, value)
        # What options say together is asked only of options within their bounds.
        for problem in chain(_bounds(self), self.problems()):
            raise ConfigError(problem)

    def arguments(self) -> dict[str, Any]:
        """What the constructor of the class that has these options is given by name."""
        return {key: getattr(self, key) for key in hints(type(self)) if key != "name"}

    def problems(self) -> Iterator[str]:
        """What is wrong among the options themselves, each as one line beginning with the option."""
        yield from ()


def checked(key: str, kind: Any, value: Any) -> Any:
    """The value as the field wants it; ConfigError naming the field and what it takes. Only int becomes float."""
    # Strict: a text that looks like a number, or True for 1, is a slip in a file that somebody wrote.
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in OR_NONE:
        return None if value is None else checked(key, arguments[0], value)
    if origin is Literal:
        if value not in arguments:
            raise ConfigError(f"{key} = {value!r}; choose one of {', '.join(arguments)}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{key} = {value!r}; give a list of {arguments[0].__name__}s")
        return tuple(checked(key, arguments[0], item) for item in value)
    if isinstance(kind, type) and issubclass(kind, Options):
        if not isinstance(value, kind):
            raise ConfigError(f"{key} = {value!r}: {key} is a section; write [{key}]")
        return value
    if type(value) is int and abs(value) > LARGEST:
        # Python writes no number of thousands of digits.
        written = value if abs(value) < 10**40 else "a number of more than 40 digits"
        raise ConfigError(f"{key} = {written}; at {f'most {LARGEST}' if value > 0 else f'least {-LARGEST}'}")
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind and not (kind in (str, Path) and isinstance(value, kind)):
        raise ConfigError(f"{key} = {value!r}; give {NOUNS.get(kind, f'a {kind}')}")
    return value


def _bounds(options: Options) -> Iterator[str]:
    for field in dataclasses.fields(options):
        value, bounds = getattr(options, field.name), field.metadata
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{field.name} = {value}; it is a finite number"
        if type(value) not in (int, float):
            continue
        least, most, below = (bounds.get(name) for name in ("least", "most", "below"))
        if least is not None and value < least:
            yield f"{field.name} = {value}; {bounds['why'] or f'at least {least}'}"
        if below is not None and value >= below:
            yield f"{field.name} = {value}; {bounds['why'] or f'it is below {below}'}"
        if most is not None and value > most:
            yield f"{field.name} = {value}; {bounds['why'] if most == 1 and bounds['why'] else f'at most {most}'}"


@cache
def hints(owner: type[Options]) -> dict[str, Any]:
    """The types of the fields, in order."""
    types = typing.get_type_hints(owner)
    return {field.name: types[field.name] for field in dataclasses.fields(owner)}


@cache
def registries(owner: type[Options]) -> dict[str, str]:
    """The fields that hold a chosen part, and where its registry is."""
    return {f.name: f.metadata["registry"] for f in dataclasses.fields(owner) if "registry" in f.metadata}


def as_mapping(options: Options) -> dict[str, Any]:
    """The nesting of mappings that `from_mapping` reads back, which is that of config.toml."""
    mapping: dict[str, Any] = {}
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if isinstance(value, Options):
            mapping[field.name] = as_mapping(value)
        elif field.name in registries(type(options)):  # several parts: a section each, under its name
            if value:
                mapping[field.name] = {part.name: without_name(part) for part in value}
        else:
            mapping[field.name] = value
    return mapping


def changed(options: Options) -> dict[str, Any]:
    """What of that mapping is not at its default, and the names of parts: `from_mapping` reads it back as well.

    An option that is new, and at its default, is not in it.

    >>> from regulargpt.training.options import PhaseOptions
    >>> from regulargpt.models.options import RecurrentOptions
    >>> changed(RecurrentOptions("lstm", d_model=8)), changed(PhaseOptions("my_lab:Longer"))
    ({'name': 'lstm', 'd_model': 8}, {'name': 'my_lab:Longer'})
    """
    mapping: dict[str, Any] = {}
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        usual = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if value == usual:
            continue
        if isinstance(value, Options):
            mapping[field.name] = changed(value)
        elif field.name in registries(type(options)):  # several parts: a section each, under its name
            mapping[field.name] = {part.name: {k: v for k, v in changed(part).items() if k != "name"} for part in value}
        else:
            mapping[field.name] = value
    return mapping


def without_name(options: Options) -> dict[str, Any]:
    """The mapping of a part whose name stands elsewhere.

    >>> from regulargpt.encodings.options import EncodingOptions
    >>> without_name(EncodingOptions("none"))
    {}
    """
    return {key: value for key, value in as_mapping(options).items() if key != "name"}


def defaults(owner: type[Options]) -> dict[str, Any]:
    """The mapping of a part's options that have a default, each at it: all but the name.

    >>> from regulargpt.objectives.options import LastOptions
    >>> defaults(LastOptions)
    {'output_token': False, 'bracketings': 0.0, 'merged': 0.5}
    """
    mapping = {}
    for field in dataclasses.fields(owner):
        value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if value is not dataclasses.MISSING:
            mapping[field.name] = as_mapping(value) if isinstance(value, Options) else value
    return mapping


def from_mapping(owner: type[Chosen], values: Any, path: str = "") -> Chosen:
    """The options from a mapping, strictly: no unknown keys, no wrong types, no conversion but int to float.

    `path` is where they stand ("model."), for the messages.
    """
    if not isinstance(values, Mapping):
        place = path.rstrip(".")
        raise ConfigError(f"{place} = {values!r}: {place} is a section; write [{place}]")
    known, chosen = hints(owner), registries(owner)
    chosen_values = {}
    for name, value in values.items():
        if name not in known:
            raise ConfigError(unknown(f"{path}{name}", known))
        if name in chosen:
            chosen_values[name] = _part(chosen[name], known[name], value, f"{path}{name}")
        elif isinstance(known[name], type) and issubclass(known[name], Options):
            chosen_values[name] = from_mapping(known[name], value, f"{path}{name}.")
        else:
            chosen_values[name] = value
    return made(owner, chosen_values, path)


def made(owner: type[Chosen], values: Mapping[str, Any], path: str) -> Chosen:
    """The options, with the section in what they refuse."""
    try:
        return owner(**values)
    except ConfigError as error:
        raise ConfigError(f"{path}{error}") from None


def _part(place: str, kind: Any, value: Any, path: str) -> Any:
    from regulargpt.options.registry import registry

    parts = registry(place)
    if typing.get_origin(kind) is not tuple:
        return parts.options(value, path)
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path} = {value!r}: {path} is a section; write [{path}.NAME]")
    for name, of_part in value.items():
        if not isinstance(of_part, Mapping):
            raise ConfigError(f"{path}.{name} = {of_part!r}: {path}.{name} is a section; write [{path}.{name}]")
        if "name" in of_part:
            raise ConfigError(parts.unknown(name, f"{path}.{name}.name"))
    return tuple(parts.options({**of_part, "name": name}, f"{path}.{name}") for name, of_part in value.items())


def unknown(key: str, known: Any) -> str:
    """What is said of a key that there is not."""
    name = key.rpartition(".")[2]
    return f"unknown key '{key}';{nearest(name, known) or (' known: ' + ', '.join(known) if known else ' it has none')}"


@dataclass(frozen=True)
class Description:
    """An option as people read about it."""

    name: str
    default: str
    accepts: str
    help: str


def describe(owner: type[Options]) -> list[Description]:
    """The options of a part but its name, those of its sections by dotted keys: what `list` and the docs say of them.

    >>> from regulargpt.encodings.options import WindowOptions
    >>> [(d.name, d.default) for d in describe(WindowOptions)]
    [('width', '40')]
    """
    descriptions = []
    for field in dataclasses.fields(owner):
        value, kind = field.default, hints(owner)[field.name]
        if value is dataclasses.MISSING and field.name != "name":  # a section of its own
            descriptions += [dataclasses.replace(of, name=f"{field.name}.{of.name}") for of in describe(kind)]
        elif field.name != "name":
            default = written(value) if isinstance(value, Options) else shown(value)
            taken = accepts(kind) + bounds(*(field.metadata.get(key) for key in ("least", "most", "below")))
            descriptions.append(Description(field.name, default, taken, field.metadata["help"]))
    return descriptions


def written(part: Options) -> str:
    """A part as it is written on the command line: its name, and its options that are not at their defaults.

    >>> from regulargpt.encodings.options import WindowOptions
    >>> written(WindowOptions("window")), written(WindowOptions("window", width=8))
    ('window', 'window:width=8')
    """
    usual, name = defaults(type(part)), getattr(part, "name", "")
    changed = [f"{key}={shown(value)}" for key, value in without_name(part).items() if value != usual[key]]
    return f"{name}:{','.join(changed)}" if changed else name


def accepts(kind: Any) -> str:
    """What a field takes, in words.

    >>> accepts(int), accepts(Literal["pre", "post"]), accepts(tuple[int, ...])
    ('a whole number', 'pre, post', 'whole numbers')
    """
    if typing.get_origin(kind) is Literal:
        return ", ".join(typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return {int: "whole numbers", str: "texts"}.get(typing.get_args(kind)[0], "parts")
    return NOUNS.get(kind, "a part")


def bounds(least: float | None, most: float | None, below: float | None) -> str:
    """The bounds of a number, behind what it is.

    >>> bounds(1, 4, None), bounds(0, None, 1), bounds(1, None, None), bounds(None, None, None)
    (', 1 to 4', ', from 0, below 1', ', from 1', '')
    """
    if least is not None and most is not None:
        return f", {least:,} to {most:,}"
    ends = (("from", least), ("to", most), ("below", below))
    return "".join(f", {word} {end:,}" for word, end in ends if end is not None)


def shown(value: Any) -> str:
    """A value as it is written in a config.

    >>> shown(True), shown((1000, 10000)), shown("next")
    ('true', '1000,10000', 'next')
    """
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def read(key: str, kind: Any, text: str) -> Any:
    """The value of a field written on the command line: `3e-4`, `true`, `8,16,40`.

    >>> read("training.lr", float, "3e-4"), read("training.curriculum", tuple[int, ...], "8,16")
    (0.0003, (8, 16))
    >>> read("training.steps", int, "many")
    Traceback (most recent call last):
    regulargpt.options.ConfigError: training.steps = 'many'; give a whole number
    >>> read("training.steps", int, "1e3")
    Traceback (most recent call last):
    regulargpt.options.ConfigError: training.steps = '1e3'; write 1000
    """
    if typing.get_origin(kind) is tuple:
        return tuple(read(key, typing.get_args(kind)[0], part) for part in text.split(",") if part)
    if kind is bool:
        return checked(key, kind, {"true": True, "false": False}.get(text, text))
    if kind is int:
        try:
            return whole(text)
        except ValueError as error:
            raise ConfigError(f"{key} = {text!r};{str(error).rpartition(';')[2]}") from None
    if kind is float:
        try:
            return float(text)
        except ValueError:
            raise ConfigError(f"{key} = {text!r}; give {NOUNS[float]}") from None
    return checked(key, kind, text)
