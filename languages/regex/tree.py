"""The syntax tree of a regular expression, a class for each operation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Letters:
    """One symbol: one of `symbols` or, negated, one of the others. `.` is the negated empty class."""

    symbols: frozenset[str]
    negated: bool = False


@dataclass(frozen=True)
class Joined:
    """Parts, joined by an operation."""

    parts: tuple["Tree", ...]


class Concatenation(Joined):
    """The parts one after the other; without parts the empty word."""


class Union(Joined):
    """The words of any of the parts."""


class Intersection(Joined):
    """The words of all parts."""


class Shuffle(Joined):
    """The words of all parts interleaved, each part's symbols in their order."""


@dataclass(frozen=True)
class Repetition:
    """The part, at least `low` and at most `high` times; any number of times if `high` is None."""

    part: "Tree"
    low: int
    high: int | None


Tree = Letters | Concatenation | Union | Intersection | Shuffle | Repetition
