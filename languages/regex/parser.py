"""From the text of a regular expression to its tree, by recursive descent.

expression    = intersection ("|" intersection)*      an intersection may be empty here: the empty word
intersection  = shuffle ("&" shuffle)*
shuffle       = concatenation ("^" concatenation)*
concatenation = repetition ("·"? repetition)* | nothing
repetition    = item ("*" | "+" | "?" | "{n}" | "{n,}" | "{,n}" | "{n,m}")?
item          = symbol | "." | "ε" | "∅" | "[" "^"? (symbol | symbol "-" symbol)+ "]" | "(" expression ")"

What else textbooks write is said in `languages.regex.textbook`.
"""

import re
from collections.abc import Callable, Collection
from typing import NoReturn

from languages.budget import allowed, check, too_large
from languages.errors import LanguageError
from languages.regex.textbook import BETWEEN, EMPTY_WORD, NO_WORD, in_ours, marks, open_question
from languages.regex.tree import Concatenation, Intersection, Letters, Repetition, Shuffle, Tree, Union

OPERATORS = "*|()?&+.^{}[]"
QUANTIFIERS = "*+?{"
BOUNDS = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}")
SIMPLE = {"*": (0, None), "+": (1, None), "?": (0, 1)}
MAX_SYMBOLS = 2**16  # with all quantifiers written out
MAX_SPANNED = 2**18  # by all ranges together
MAX_NESTED = 64
SHOWN = 30  # characters of the pattern on each side of an error


def parse(pattern: str, symbols: Collection[str] = ()) -> Tree:
    """The tree of a pattern. LanguageError, with the position, for a pattern that has none or is too large.

    `symbols` are those of the alphabet, where it is given: they mean themselves, also where textbooks have them as
    marks.

    >>> parse("a{2}")
    Repetition(part=Letters(symbols=frozenset({'a'}), negated=False), low=2, high=2)
    >>> parse("(a")
    Traceback (most recent call last):
    languages.errors.LanguageError: '(a', position 1: this bracket is never closed; add ')'
    """
    return _Parser(pattern, symbols).whole()


class _Parser:
    def __init__(self, pattern: str, symbols: Collection[str]) -> None:
        check(len(pattern), MAX_SYMBOLS, f"the regular expression has {len(pattern):,} characters")
        self.written = pattern
        self.symbols = symbols
        self.marks = marks(symbols)
        self.pattern = in_ours(pattern, symbols)
        self.at = 0
        self.open: list[int] = []  # where the brackets begin that are open here
        self.spanned = 0  # symbols in the ranges up to here

    @property
    def next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take_mark(self, marks: str) -> bool:
        """Whether the next character is one of these marks, and no symbol of the alphabet; it is then passed over."""
        matches = self.next in self.marks and self.next in marks
        self.at += matches
        return matches

    def take(self, character: str) -> bool:
        matches = self.next == character
        self.at += matches
        return matches

    def refuse(self, problem: str, at: int | None = None) -> NoReturn:
        """LanguageError with the place, by default the next character."""
        at = self.at if at is None else at
        start, end = max(0, at - SHOWN), at + SHOWN
        shown = ("..." if start else "") + self.written[start:end] + ("..." if end < len(self.written) else "")
        raise LanguageError(f"{shown!r}, position {at + 1}: {problem}")

    def whole(self) -> Tree:
        """The tree of the whole pattern; LanguageError if something is left behind it, or it is too large."""
        tree, size = self.expression()
        if self.next:
            self.refuse("this ')' closes no bracket; remove it, or add '(' before")
        check(size, MAX_SYMBOLS, f"with its quantifiers written out the regular expression has {size:,} symbols")
        place, question = open_question(self.written, self.symbols)
        if question:
            self.refuse(question, place)
        return tree

    # Each of these returns a tree and how many symbols it has with all quantifiers written out.

    def expression(self) -> tuple[Tree, int]:
        return self.joined("|", Union, self.intersection)

    def intersection(self) -> tuple[Tree, int]:
        return self.joined("&", Intersection, self.shuffle)

    def shuffle(self) -> tuple[Tree, int]:
        return self.joined("^", Shuffle, self.concatenation)

    def joined(
        self, operator: str, kind: Callable[[tuple[Tree, ...]], Tree], part: Callable[[], tuple[Tree, int]]
    ) -> tuple[Tree, int]:
        """Parts with an operator between them; only `|` may have nothing beside it."""
        parts = [self.operand(operator, part)]
        while self.take(operator):
            parts.append(self.operand(operator, part))
        trees = [tree for tree, _ in parts]
        return (trees[0] if len(trees) == 1 else kind(tuple(trees))), sum(size for _, size in parts)

    def operand(self, operator: str, part: Callable[[], tuple[Tree, int]]) -> tuple[Tree, int]:
        """What stands on one side of an operator; LanguageError for nothing beside one that is not `|`."""
        start = self.at
        operand = part()
        before = self.pattern[start - 1 : start] if start else ""
        if operator != "|" and start == self.at and operator in (before, self.next):
            where = start - 1 if before == operator else start
            name = {"&": "the intersection", "^": "the shuffle"}[operator]
            self.refuse(f"{operator!r} is {name} of what stands on both sides; write () for the empty word", where)
        return operand

    def concatenation(self) -> tuple[Tree, int]:
        parts: list[tuple[Tree, int]] = []
        while self.next and self.next not in "|&^)":
            parts.append(self.repetition())
            if self.take_mark(BETWEEN) and (not self.next or self.next in "|&^)"):
                self.refuse(
                    f"{self.written[self.at - 1]!r} joins what stands on both sides; add the other", self.at - 1
                )
        trees = [tree for tree, _ in parts]
        return (trees[0] if len(trees) == 1 else Concatenation(tuple(trees))), sum(size for _, size in parts)

    def repetition(self) -> tuple[Tree, int]:
        """item quantifier?; LanguageError for two quantifiers, or so many repetitions that they are too large."""
        start = self.at
        tree, size = self.item()
        if not self.next or self.next not in QUANTIFIERS:
            return tree, size
        first = self.at
        low, high = self.bounds()
        if self.next and self.next in QUANTIFIERS:
            inner, outer = self.written[start : self.at], self.next if self.next != "{" else "{...}"
            part = f"({inner}){outer}" if len(inner) <= SHOWN else f"(...){outer}"
            self.refuse(f"a second quantifier, and there are no lazy ones; to repeat what is repeated write {part}")
        # Before it is written out: a{9}{9}{9}... is short as text and as a tree.
        times = max(low, high or 0, 1)
        if size * times > allowed(MAX_SYMBOLS):
            text = self.written[first : self.at]
            what = f"{text} makes {size * times:,} symbols of {size:,}"
            self.refuse(str(too_large(size * times, MAX_SYMBOLS, what)), first)
        return Repetition(tree, low, high), size * times

    def bounds(self) -> tuple[int, int | None]:
        if self.next != "{":
            self.at += 1
            return SIMPLE[self.pattern[self.at - 1]]
        match = BOUNDS.match(self.pattern, self.at)
        if match is None or match.group() == "{}":
            self.refuse("after '{' stands how often: write {n}, {n,}, {,n} or {n,m}")
        least, comma, most = match.groups()
        if max(len(least), len(most)) > 9:
            self.refuse("the number in {...} has more than 9 digits; choose a smaller one")
        low = int(least or 0)
        high = low if not comma else int(most) if most else None
        if high is not None and high < low:
            self.refuse(f"{match.group()} is at least {low} and at most {high} times; write {{{high},{low}}}")
        self.at = match.end()
        return low, high

    def item(self) -> tuple[Tree, int]:
        """A symbol, any symbol, a class or a group; LanguageError for a quantifier or a bracket without its other."""
        if self.take("."):
            return Letters(frozenset(), negated=True), 1
        if self.take_mark(EMPTY_WORD):
            return Concatenation(()), 0
        if self.take_mark(NO_WORD):
            return Letters(frozenset()), 1
        if self.next == "(":
            return self.group()
        if self.next == "[":
            return self.letters(), 1
        if self.next in QUANTIFIERS:
            group = self.at and self.pattern[self.at - 1 : self.at + 1] == "(?"
            remedy = "a group is written (...)" if group else "write it after a symbol or a group"
            self.refuse(f"{self.next!r} has nothing before it to repeat; {remedy}")
        if self.next in "]}":
            self.refuse(f"this {self.next!r} closes no bracket; remove it")
        return Letters(frozenset(self.symbol())), 1

    def group(self) -> tuple[Tree, int]:
        self.open.append(self.at)
        # Each bracket is a few Python calls deep.
        if len(self.open) > MAX_NESTED:
            self.refuse(f"brackets are nested more than {MAX_NESTED} deep; use fewer")
        self.at += 1
        inside = self.expression()
        if not self.take(")"):
            self.refuse("this bracket is never closed; add ')'", self.open[-1])
        self.open.pop()
        return inside

    def symbol(self) -> str:
        character = self.next
        if character.isspace() or character == "\\":
            self.refuse(f"contains {character!r}; here are no blanks and no escapes")
        if character in OPERATORS:
            self.refuse(f"{character!r} is an operator and no symbol; use other characters as symbols")
        if character in self.marks:
            self.refuse(f"{character!r} is no symbol here; use it alone, or list it behind ;alphabet= to be one")
        self.at += 1
        return character

    def letters(self) -> Letters:
        start = self.at
        if self.pattern.find("]", start) < 0:
            self.refuse("this bracket is never closed; add ']'")
        self.at += 1
        negated = self.take("^")
        symbols: set[str] = set()
        while not self.take("]"):
            symbols |= self.span()
        if not symbols:
            self.refuse("a class in [...] has at least one symbol; write . for any symbol", start)
        return Letters(frozenset(symbols), negated)

    def span(self) -> set[str]:
        """A symbol or a range of symbols of a class. A hyphen first or last is a symbol, as in Python's `re`."""
        at, first = self.at, self.symbol()
        if self.next != "-" or self.pattern[self.at + 1 : self.at + 2] in ("]", ""):
            return {first}
        self.at += 1
        last = self.symbol()
        if last < first:
            self.refuse(f"the range {first}-{last} runs backwards; write {last}-{first}", at)
        self.spanned += ord(last) - ord(first) + 1
        check(self.spanned, MAX_SPANNED, f"the ranges up to {first}-{last} span {self.spanned:,} symbols")
        symbols = {chr(code) for code in range(ord(first), ord(last) + 1)}
        wrong = next((c for c in sorted(symbols) if c.isspace() or c in OPERATORS or c == "\\"), None)
        if wrong is not None:
            self.refuse(f"the range {first}-{last} contains {wrong!r}, which is no symbol; use smaller ranges", at)
        return symbols
