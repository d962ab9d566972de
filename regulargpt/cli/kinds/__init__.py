"""What the terminal says of data: a file a kind, with what `KindModule` names, so that no verb asks which it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from languages.registry import has_brackets, level_of
from regulargpt.data import kind_of
from regulargpt.data.kinds import KINDS as BROUGHT

KINDS = {"languages": "words", "texts": "text", "retrieval": "retrieval"}
"""What `list` calls the kinds."""
OF_WORDS = ("words", "nested", "drawn")
"""The kinds that have a file here."""


@dataclass(frozen=True)
class DrawnSample:
    """What was drawn: its kind, what names it, a record each, a record as text, and what this length has none of."""

    kind: str
    name: dict[str, str]
    records: list[dict[str, Any]]
    line: Callable[[dict[str, Any]], str]
    notice: str = ""


class KindModule(Protocol):
    """A kind of data, as its module has it."""

    MOST_SYMBOLS: int
    """That are drawn at once."""

    def rows(self) -> list[dict[str, str]]:
        """What there is, for `list`; nothing is built or opened."""
        ...

    def describe(self, name: str, seed: int) -> dict[str, Any]:
        """What one is, for `show --json`."""
        ...

    def text(self, facts: dict[str, Any]) -> str:
        """The same for people."""
        ...

    def sample(self, name: str, length: int, count: int, seed: int, **mixture: Any) -> DrawnSample:
        """What `sample` draws; only words have a mixture of members and near misses."""
        ...


def named(kind: str) -> KindModule:
    """A kind, by the name that `regulargpt.data.kind_of` gives it."""
    return cast(KindModule, import_module(f"{__name__}.{kind}" if kind in OF_WORDS else BROUGHT[kind].terminal))


def kind_with(name: str) -> KindModule:
    """The kind of data that a name is of; languages above the regular ones are described in their own words."""
    kind = kind_of(name)
    if kind != "words" or level_of(name) == "regular":
        return named(kind)
    return named("nested" if has_brackets(name) else "drawn")
