"""How languages are written: `name:key=value,...`, and the rows of the registry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from languages.errors import LanguageError, nearest, one_of

if TYPE_CHECKING:
    from languages.tasks import AnyTask

Value = str | int | float | bool
MAX_DIGITS = 40
WORDS = {"true": True, "false": False}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a language: what is written after the name as `name:key=value`."""

    key: str
    default: Value
    accepts: str  # for the listing and for messages
    choices: tuple[str, ...] = ()

    def read(self, text: str, language: str) -> Value:
        """The value that a text stands for. LanguageError if it stands for none."""
        refusal = f"{language}: {self.key} is {text!r:.80}; it is {self.accepts}"
        kind = type(self.default)
        if kind in (int, float) and len(text) > MAX_DIGITS:
            raise LanguageError(refusal)
        try:
            value = WORDS[text] if kind is bool else kind(text)
        except (KeyError, ValueError):
            raise LanguageError(refusal) from None
        if self.choices and text not in self.choices:
            close = nearest(text, self.choices)
            raise LanguageError(refusal + (f";{close}" if close else ""))
        return value


def read_parameters(parameters: Sequence[Parameter], name: str, text: str) -> dict[str, Any]:
    """What is written after the colon of a name, as key=value,... LanguageError for anything else.

    >>> read_parameters([Parameter("size", 5, "a number")], "cycle", "size=3")
    {'size': 3}
    """
    by_key = {parameter.key: parameter for parameter in parameters}
    values: dict[str, Any] = {}
    for part in text.split(",") if text else []:
        key, equals, value = part.partition("=")
        if key not in by_key:
            hint = nearest(key, by_key) or (f" its parameters are {one_of(by_key)}" if by_key else " it has none")
            raise LanguageError(f"{name} has no parameter {key!r:.80};{hint}")
        if not equals or key in values:
            raise LanguageError(f"{name}: write each parameter once, as {key}=VALUE; VALUE is {by_key[key].accepts}")
        values[key] = by_key[key].read(value, name)
    return values


@dataclass(frozen=True)
class Family:
    """A row of the table: languages made by one function.

    `pattern` is a name, a name ending in N (a number), two kinds of names with * between, or a prefix followed by
    something of the user's, as in "regex:EXPRESSION".
    """

    pattern: str
    function: str  # "module:function", of the folder of its level for a built-in
    summary: str
    parameters: tuple[Parameter, ...] = ()
    numbers: tuple[int, ...] = ()  # of a numbered pattern, those that the listing and the tests use
    examples: tuple[str, ...] = ()  # of a product, the names that they use
    package: str = ""  # the installed package that brings it, empty for a built-in
    level: Literal["regular", "context-free", "context-sensitive", "vast", "unknown"] = "regular"  # of the hierarchy
    has_brackets: bool = False  # whether its words have visible brackets, so that a tree can follow them
    has_rows: bool = False  # whether a word is answered by a row of symbols

    @property
    def is_numbered(self) -> bool:
        return self.pattern.endswith("-N")

    @property
    def is_product(self) -> bool:
        return "*" in self.pattern

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the listing and the tests use; none of an open pattern or an installed language."""
        if self.is_product:
            return self.examples
        if self.is_numbered:
            return tuple(f"{self.pattern.removesuffix('N')}{number}" for number in self.numbers)
        return () if self.prefix or self.package else (self.pattern,)

    @property
    def prefix(self) -> str:
        """What an open pattern begins with ("regex:"), empty for the others."""
        head, colon, _ = self.pattern.partition(":")
        return head + colon if colon else ""

    def load(self) -> "Callable[..., AnyTask]":
        """The function of a built-in family. Its module is imported here and not before."""
        module, _, function = self.function.partition(":")
        return getattr(import_module(f"languages.{self.level.replace('-', '_')}.{module}"), function)


def spec(name: str, parameters: Mapping[str, tuple[object, object]]) -> str:
    """The specification that `languages.get` reads back: the name and the parameters that differ from their default.

    >>> spec("parity", {"p_one": (0.1, 0.5)}), spec("parity", {"p_one": (0.5, 0.5)})
    ('parity:p_one=0.1', 'parity')
    """
    changed = {key: value for key, (value, default) in parameters.items() if value != default}
    texts = [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in changed.items()]
    return f"{name}:{','.join(texts)}" if changed else name
