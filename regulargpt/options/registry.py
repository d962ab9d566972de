"""Registries: parts by name. A built-in part, an installed package's, and a class given by its import path are alike.

A row says where the class is, which options it has, and what to say of it. Nothing here imports torch: a built-in
class is imported when it is built, and the options lie in files of their own.

The wings of this package are apart from its core as a user's package is: what they bring is named by entry points
alone. Theirs name a `Row` in a file without torch, so that they are listed among the built-in parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from languages.errors import nearest, one_of
from regulargpt.options import ConfigError, Options, from_mapping, hints, read, registries, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

HOUSE = "regulargpt-testbed"
"""The distribution whose entry points are those of the wings."""
PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""How a class outside is named: `package.module:Class`."""


class CannotImport(ConfigError):
    """A class outside this package that is not installed here."""


@dataclass(frozen=True)
class Row:
    """One line of a registry: the class ("module:Class"), its options, what it is, who published it.

    `recipes` are the model's own options in recipes: `recipes[recipe][language]`, "*" for every language. A row of a
    wing is listed `after` another; `examples` are two of its verb, if it has any.
    """

    place: str
    options: type[Options]
    summary: str
    source: str = ""
    recipes: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    after: str = ""
    examples: tuple[str, ...] = ()

    def load(self) -> Any:
        """The class; its module is imported here and not before."""
        return load(self.place)


class Placed(Protocol):
    """What a wing brings: it is listed behind another of its kind."""

    @property
    def after(self) -> str:
        """The name of that one."""
        ...


Part = TypeVar("Part", bound=Placed)


class ExtendedRegistry(Mapping[str, Part]):
    """What the core has of a kind, by name, and what wings bring of it in a group of entry points.

    What a wing brings is imported when it is requested by name, or all is listed.
    """

    def __init__(self, own: Mapping[str, Part], group: str):
        self.own, self.group = dict(own), group

    def __iter__(self) -> Iterator[str]:
        return iter(placed(self.own, {name: brought(self.group, name) for name in wings(self.group)}))

    def __len__(self) -> int:
        return len(self.own) + len(wings(self.group))

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in wings(self.group)

    def __getitem__(self, name: str) -> Part:
        return self.own[name] if name in self.own else brought(self.group, name)


class Registry(ExtendedRegistry[Row]):
    """The parts of one kind. Iterating gives the names of the core and its wings; a name may also be an entry point
    of another package, or an import path.

    `group` is the entry-point group in which a package offers parts under names of its own; `default` the options of a
    class outside that declares none; `base` ("module:Class"), if any, what such a class derives from.
    `synonyms` are other names that people say, as `languages.errors.nearest` takes them.

    >>> from regulargpt.encodings import ENCODINGS
    >>> ENCODINGS["alibi"].source, "aliby" in ENCODINGS
    ('Press et al. 2022', False)
    >>> ENCODINGS["aliby"]
    Traceback (most recent call last):
    regulargpt.options.ConfigError: unknown encoding 'aliby'; did you mean 'alibi'?
    """

    def __init__(
        self,
        kind: str,
        rows: Mapping[str, Row],
        default: type[Options],
        group: str = "",
        base: str = "",
        synonyms: Mapping[str, str] = MappingProxyType({}),
    ):
        super().__init__(rows, group)
        self.kind, self.default, self.base, self.synonyms = kind, default, base, synonyms

    def __getitem__(self, name: str) -> Row:
        # Other packages are looked at only where a name is neither the core's nor a wing's: that takes milliseconds.
        if name in self:
            return super().__getitem__(name)
        offered = self.offered()
        place = offered.get(name, name)
        if not PATH.fullmatch(place):
            names = [*self, *offered]
            remedy = nearest(name, names, self.synonyms) or f" choose {one_of(names)}"
            raise ConfigError(f"unknown {self.kind} {name!r:.80};{remedy}")
        return outside(self.kind, place, self.default, self.base)

    def offered(self) -> dict[str, str]:
        """What other installed packages offer: names and import paths."""
        from importlib.metadata import entry_points  # slow, and only a name that is not built in needs it

        of_wings, points = wings(self.group), entry_points(group=self.group) if self.group else ()
        return {point.name: point.value for point in points if of_wings.get(point.name) != point.value}

    def options(self, value: Any, path: str) -> Any:
        """The options of a part, from its name, from `name:key=value,...`, or from a mapping with `name` in it."""
        if isinstance(value, str):
            value = self.written(value, path)
        if not isinstance(value, Mapping):
            raise ConfigError(f"{path} = {value!r}: {path} is a section; write [{path}]")
        if "name" not in value:
            raise ConfigError(f"[{path}] has no name; write name = '{self.kind.upper()}' in it")
        name = value["name"]
        if not isinstance(name, str):
            raise ConfigError(f"{path}.name = {name!r}; give a text")
        options = self[name].options
        for key in value:
            if key not in hints(options):
                raise ConfigError(self.unknown(name, f"{path}.{key}"))
        return from_mapping(options, value, f"{path}.")

    def unknown(self, part: str, key: str) -> str:
        """What is said of an option that a part does not have: who has it, else the nearest of its own."""
        name = key.rpartition(".")[2]
        if who := self.who_has(name):
            return f"unknown key '{key}': '{part}' has no {name}; {who}"
        return unknown(key, [own for own in hints(self[part].options) if own != "name"])

    def who_has(self, option: str) -> str:
        """The parts that have an option, in words; empty if there is none.

        >>> from regulargpt.models import MODELS
        >>> MODELS.who_has("causal"), MODELS.who_has("casual")
        ("'transformer', 'looped' have", '')
        """
        names = [name for name, row in self.items() if option != "name" and option in hints(row.options)]
        return f"{one_of(names)} ha{'s' if len(names) == 1 else 've'}" if names else ""

    def written(self, text: str, path: str) -> dict[str, Any]:
        """What the command line's `name:key=value,key=value` stands for; values are read as the options' types say."""
        name, colon, last = text.rpartition(":")
        if not (colon and "=" in last) and name not in self:
            name, last = text, ""
        values: dict[str, Any] = {"name": name}
        options = self[name].options
        kinds, chosen = hints(options), registries(options)
        for part in last.split(",") if last else ():
            key, equals, given = part.partition("=")
            if not equals:
                raise ConfigError(f"{path} = {text!r}; options are written {name}:key=value,key=value")
            if key not in kinds or key == "name":
                raise ConfigError(self.unknown(name, f"{path}.{key}"))
            if key in values:
                raise ConfigError(f"{path}.{key} is given twice in {text!r}; leave one of them out")
            values[key] = given if key in chosen else read(f"{path}.{key}", kinds[key], given)
        return values


@cache
def wings(group: str) -> Mapping[str, str]:
    """What the wings bring in a group of entry points: names, and where each is; nothing of them is imported.

    >>> wings("regulargpt.models")["decoder-only"]
    'regulargpt.text.models:DECODER_ONLY'
    """
    return MappingProxyType({point.name: point.value for point in of_house() if point.group == group})


@cache
def of_house() -> tuple[EntryPoint, ...]:
    """The entry points of this package; none where it is not installed."""
    from importlib.metadata import PackageNotFoundError, distribution  # slow, and `--help` of the core does without

    try:
        return tuple(distribution(HOUSE).entry_points)
    except PackageNotFoundError:
        return ()


def brought(group: str, name: str) -> Any:
    """What a wing brings by this name; ConfigError for a name that none brings.

    >>> brought("regulargpt.models", "no-such-model")
    Traceback (most recent call last):
    regulargpt.options.ConfigError: no-such-model is not installed (regulargpt.models); install regulargpt-testbed again
    """
    if name not in wings(group):
        raise ConfigError(f"{name} is not installed ({group}); install {HOUSE} again")
    return load(wings(group)[name])


def placed(names: Iterable[str], more: Mapping[str, Placed]) -> list[str]:
    """The names, each of `more` behind the name that its row says; those behind no name come last.

    >>> from regulargpt.options import Options
    >>> placed(["a", "b"], {"d": Row("", Options, "", after="c"), "c": Row("", Options, "", after="a")})
    ['a', 'c', 'd', 'b']
    """
    listed, waiting = list(names), dict(more)
    while waiting:
        name = next((name for name, row in waiting.items() if row.after in listed), next(iter(waiting)))
        after = waiting.pop(name).after
        listed.insert(listed.index(after) + 1 if after in listed else len(listed), name)
    return listed


def rows(options: Options) -> Iterator[Row]:
    """The rows of all parts that are chosen in these options, and in theirs.

    >>> from regulargpt.config.schema import RunConfig
    >>> [row.place for row in rows(RunConfig())][-1]
    'regulargpt.models.regulargpt.model:RegularGPT'
    """
    for name, place in registries(type(options)).items():
        value = getattr(options, name)
        for part in value if isinstance(value, tuple) else (value,):
            yield registry(place)[part.name]
            yield from rows(part)


def registry(place: str) -> Registry:
    """The registry at "module:NAME"."""
    return load(place)


@cache
def outside(kind: str, place: str, default: type[Options], base: str = "") -> Row:
    """The row of a class outside this package, by its import path `package.module:Class`.

    Its options are the class attribute `Options`, what it takes of recipes is `RECIPES`, if it has them. Raises
    ConfigError if it cannot be imported, or is not of the class at `base`.
    """
    module, _, name = place.partition(":")
    try:
        imported = import_module(module)
    except ImportError as error:
        raise CannotImport(
            f"{kind} {place}: {error}; install the package, or put the folder that holds it on PYTHONPATH"
        ) from error
    except Exception as error:
        raise ConfigError(f"{kind} {place}: importing {module} fails with {type(error).__name__}: {error}") from error
    imported_class = getattr(imported, name, None)
    if not isinstance(imported_class, type):
        have = [key for key, value in vars(imported).items() if isinstance(value, type)]
        raise ConfigError(f"{kind} {place}: {module} has no class {name};{nearest(name, have) or ' name one of its'}")
    if base and not issubclass(imported_class, load(base)):
        raise ConfigError(
            f"{kind} {place}: {name} is no {base.rpartition(':')[2]}; derive it from {base.replace(':', '.')}"
        )
    options = getattr(imported_class, "Options", default)
    if not (isinstance(options, type) and issubclass(options, default)):
        raise ConfigError(f"{kind} {place}: its Options is no {default.__name__}; derive it from that class")
    summary = (imported_class.__doc__ or "").strip().partition("\n")[0]
    return Row(place, options, summary, module, getattr(imported_class, "RECIPES", {}))


def load(place: str) -> Any:
    """What is at "module:NAME"."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
