"""Arrows with Boolean formulas over propositions, as Spot and LTLf2DFA draw them: a symbol says what holds.

Over the propositions a and b the symbols are `a&b`, `a&!b`, `!a&b` and `!a&!b`, and the label `a` stands for the two
in which a holds. Labels are formulas if all can be, and one joins propositions, or negates one beside others that only
formulas have. A set of symbols is a number with a bit for each.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from languages.convert.pieces import WILD, literal, parts
from languages.errors import AutomatonError

TOKEN = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<mark>&&?|∧|\|\|?|∨|[!~¬()01⊤⊥]))\s*")
SPELLED = {
    **{"&&": "&", "∧": "&", "||": "|", "∨": "|", "~": "!", "¬": "!"},
    **{"⊤": "1", "true": "1", "⊥": "0", "false": "0"},
}
JOINED = re.compile(r"\w\s*\)*\s*(?:&&?|∧|\|\||∨)\s*[!~¬(]*\s*\w")
NEGATED = re.compile(r"[!~¬]\s*\(*\s*[^\W\d]")
MAX_PROPOSITIONS = 12
MAX_NESTED = 50

Tokens = list[str]


class Formulas(NamedTuple):
    """All symbols, and those of each label."""

    alphabet: Sequence[str]
    symbols: Iterator[Sequence[str]]


def read_formulas(labels: Sequence[str]) -> Formulas | None:
    """What the labels say, where they are formulas, `else` or Σ; None where they are not.

    AutomatonError: some labels are formulas and others are none, or it is open whether they are.

    >>> [*read_formulas(["a & !b", "b"]).symbols], read_formulas(["a", "b"])
    ([['a&!b'], ['a&b', '!a&b']], None)
    """
    joined = next(filter(JOINED.search, labels), "")
    negated = next(filter(NEGATED.search, labels), "")
    if not joined and not negated:
        return None
    plain = [label for label in labels if label.strip() not in WILD]
    tokens = _with_true([[_tokens(part) for part in parts(label)] for label in plain])
    names = sorted({token for label in tokens for part in label for token in part if _is_name(token)})
    if joined and len(names) > MAX_PROPOSITIONS:
        raise AutomatonError(f"the formulas have {len(names)} propositions; at most {MAX_PROPOSITIONS} are read")
    holds = _holds(names[:MAX_PROPOSITIONS])
    values = [[_Formula(part, holds).value() for part in label] for label in tokens]
    wrong = next((label for label, value in zip(plain, values, strict=True) if not value or None in value), None)
    if wrong is not None:
        if not joined:
            return None
        raise AutomatonError(f"{joined!r:.80} is a formula, and {wrong!r:.80} is none; write formulas at all arrows, "
                             f"or {literal(joined):.80} for one symbol")  # fmt: skip
    has_constant = any(part in (["1"], ["0"]) for label in tokens for part in label)
    if not joined and not has_constant and len(names) > 1:
        raise AutomatonError(f"{negated!r:.80} may be one symbol, or all others; write {literal(negated):.80} for one, "
                             "or the others' names for those")  # fmt: skip
    every = ["&".join(name if value >> i & 1 else f"!{name}" for name, value in holds.items())
             for i in range(2 ** len(names))]  # fmt: skip
    sets = [reduce(lambda left, other: left | other, (part or 0 for part in value)) for value in values]
    meaning = dict(zip(plain, sets, strict=True))

    def symbols(label: str) -> Sequence[str]:
        if label not in meaning:
            return [WILD[label.strip()]]
        return [symbol for i, symbol in enumerate(every) if meaning[label] >> i & 1]

    return Formulas(every, map(symbols, labels))


def _holds(names: Sequence[str]) -> dict[str, int]:
    """Of each proposition the symbols in which it holds; in the first symbol all do."""
    last = 2 ** len(names) - 1
    return {name: sum(1 << last - bits for bits in range(last + 1) if bits >> i & 1) for i, name in enumerate(names)}


def _is_name(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"


def _tokens(text: str) -> Tokens:
    """Names and marks, each mark in one spelling; none if there is something else."""
    tokens: Tokens = []
    at = 0
    while at < len(text):
        if (match := TOKEN.match(text, at)) is None:
            return []
        token = match["name"] or match["mark"]
        tokens.append(SPELLED.get(token, token))
        at = match.end()
    return tokens


def _with_true(labels: list[list[Tokens]]) -> list[list[Tokens]]:
    """HOA writes `t` for true: so it is where it only stands alone."""
    if any("t" in part and len(part) > 1 for label in labels for part in label):
        return labels
    return [[["1"] if part == ["t"] else part for part in label] for label in labels]


class _Formula:
    """A formula as the set of the symbols in which it holds, by recursive descent: `!` before `&` before `|`."""

    def __init__(self, tokens: Tokens, holds: Mapping[str, int]) -> None:
        self.tokens = [*tokens, ""]
        self.at = 0
        self.depth = 0
        self.all = (1 << 2 ** len(holds)) - 1
        self.known = {"0": 0, "1": self.all, **holds}

    def value(self) -> int | None:
        """The set; None for what is no formula."""
        value = self.either()
        return value if not self.tokens[self.at] else None

    def take(self, mark: str) -> bool:
        matches = self.tokens[self.at] == mark
        self.at += matches
        return matches

    def either(self) -> int | None:
        value = self.both()
        while value is not None and self.take("|"):
            value = None if (other := self.both()) is None else value | other
        return value

    def both(self) -> int | None:
        value = self.atom()
        while value is not None and self.take("&"):
            value = None if (other := self.atom()) is None else value & other
        return value

    def atom(self) -> int | None:
        flips = 0
        while self.take("!"):
            flips ^= self.all
        if self.take("("):
            self.depth += 1
            value = self.either() if self.depth <= MAX_NESTED else None
            self.depth -= 1
            return value ^ flips if value is not None and self.take(")") else None
        value = self.known.get(self.tokens[self.at])
        self.at += value is not None
        return None if value is None else value ^ flips
