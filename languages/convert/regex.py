"""Regular expressions, read by automata-lib, minimised by us."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from languages.convert.automata_lib import from_automata_lib
from languages.errors import LanguageError, one_of

if TYPE_CHECKING:
    from languages.automata import Dfa

OPERATORS = "*|()?&+.^{}[]"
MAX_REPEATS = 1000
QUANTIFIER = re.compile(r"\{(\d*)(?:,(\d*))?\}")
CHARACTER_CLASS = re.compile(r"\[\^?([^\]]*)\]")


def from_regex(pattern: str, alphabet: Sequence[str] | None = None) -> "Dfa":
    """The minimal automaton of a regular expression over single characters.

    `ab` one after the other, `a|b` union, `a*` any number, `a+` one or more, `a?` one or none, `a{2,3}` two
    or three, `(...)` a group, `()` the empty word, `a&b` intersection, `a^b` shuffle, `.` any symbol, `[ab]`,
    `[a-c]` and `[^ab]` one symbol of a class. Other characters stand for themselves; there are no escapes.
    `alphabet` gives the symbols in order; by default the characters that stand for themselves, sorted.
    LanguageError: a syntax error, a character outside the alphabet, no symbols at all.

    >>> from_regex("(ab)*").states
    ('q0', 'q1', 'q2')
    >>> from_regex("0*1", alphabet="012").accepts("0021").item()
    False
    """
    from automata.base.exceptions import AutomatonException, RegexException
    from automata.fa.dfa import DFA
    from automata.fa.nfa import NFA

    symbols = _symbols(pattern, alphabet)
    try:
        nfa = NFA.from_regex(pattern, input_symbols=set(symbols))
        dfa = from_automata_lib(DFA.from_nfa(nfa, minify=False), symbols)
    except (RegexException, AutomatonException, ValueError, IndexError, KeyError, RecursionError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        message = f"{pattern!r} is not a regular expression: {reason}; operators are {OPERATORS}"
        raise LanguageError(message) from None
    return dfa.minimise()


def _symbols(pattern: str, alphabet: Sequence[str] | None) -> tuple[str, ...]:
    """The alphabet, checked against the characters that stand for themselves in the pattern."""
    unsupported = sorted(set(re.findall(r"[\s\\]", pattern)))
    if unsupported:
        raise LanguageError(f"{pattern!r} contains {unsupported[0]!r}; here are no blanks and no escapes")
    _check_quantifiers(pattern)
    used = _literals(pattern)
    symbols = tuple(sorted(used)) if alphabet is None else tuple(alphabet)
    if not symbols:
        raise LanguageError(f"{pattern!r} contains no symbol; give the alphabet too, as in regex:();alphabet=ab")
    for symbol in symbols:
        if len(symbol) != 1 or symbol in OPERATORS or symbol.isspace():
            raise LanguageError(
                f"symbol {symbol!r} cannot stand in a regular expression; "
                f"use single characters other than blanks and {OPERATORS}"
            )
    unknown = sorted(used - set(symbols))
    if unknown:
        raise LanguageError(f"{pattern!r} contains {unknown[0]!r}; the alphabet is {one_of(symbols)}")
    return symbols


def _check_quantifiers(pattern: str) -> None:
    for quantifier in QUANTIFIER.finditer(pattern):
        largest = max(int(number or 0) for number in quantifier.groups())
        if largest > MAX_REPEATS:
            raise LanguageError(f"{pattern!r} repeats {largest} times; at most {MAX_REPEATS} are supported")


def _literals(pattern: str) -> set[str]:
    """The characters that stand for themselves, with those that a class such as [a-c] spans."""
    spans = CHARACTER_CLASS.findall(pattern)
    plain = CHARACTER_CLASS.sub("", QUANTIFIER.sub("", pattern))
    symbols = set(plain) - set(OPERATORS)
    for content in spans:
        for first, last in re.findall(r"(.)-(.)", content):
            symbols.update(chr(code) for code in range(ord(first), ord(last) + 1))
        symbols.update(re.sub(r"(.)-(.)", "", content))
    return symbols
