"""The minimal automaton of a regular expression."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from languages.budget import MOST_TRANSITIONS, TooLarge, allowed, check_transitions, too_large
from languages.errors import LanguageError, one_of
from languages.regex.parser import OPERATORS, parse
from languages.regex.terms import Term, Terms
from languages.regex.tree import Letters, Repetition, Tree

if TYPE_CHECKING:
    from languages.automata import Dfa

Arrows = list[list[tuple[int, int]]]  # of each state: (symbol, target)
Subset = tuple[int, ...]  # of states, ascending

MOST_ARROWS = 2**20  # of the non-deterministic automaton
MOST_STEPS = 2**22  # arrows followed in the subset construction


def from_regex(pattern: str, alphabet: Sequence[str] | None = None) -> "Dfa":
    """The minimal automaton of a regular expression over single characters.

    `ab` one after the other, `a|b` union, `a*` any number, `a+` one or more, `a?` one or none, `a{2}`, `a{2,}`,
    `a{,3}` and `a{2,3}` so many, `(...)` a group, `()` the empty word, `a&b` intersection, `a^b` shuffle, `.` any
    symbol, `[ab]`, `[a-c]` and `[^ab]` one symbol of a class. Quantifiers bind most tightly, then concatenation,
    `^`, `&` and `|`. Other characters stand for themselves; there are no escapes. `alphabet` gives the symbols in
    order; by default the characters that stand for themselves, sorted.

    LanguageError, with the position: a syntax error, a character outside the alphabet, no symbols at all.
    TooLarge: an expression or automaton beyond the limits of docs/languages.md.

    >>> from_regex("(ab)*").states
    ('q0', 'q1', 'q2')
    >>> from_regex("0*1", alphabet="012").accepts("0021").item()
    False
    >>> [word in from_regex("a{0}b^c") for word in ("bc", "cb", "abc")]
    [True, True, False]
    """
    from languages.automata import Dfa
    from languages.semiautomaton import numbered

    tree = parse(pattern)
    symbols = _symbols(pattern, tree, alphabet)
    terms = Terms(symbols)
    try:
        start = terms.of(tree)
        arrows, accepting = automaton(terms, start)
        rows, subsets = determinise(arrows, len(symbols))
    except TooLarge as error:
        shown = pattern if len(pattern) <= 60 else f"{pattern[:57]}..."
        raise TooLarge(f"{shown!r}: {error}") from None
    states = numbered(len(rows))
    final = {states[i] for i, subset in enumerate(subsets) if any(accepting[q] for q in subset)}
    return Dfa(states, symbols, rows, states[0], final).minimise()


def automaton(terms: Terms, start: Term) -> tuple[Arrows, list[bool]]:
    """The non-deterministic automaton whose states are the terms that linear forms lead to; state 0 is initial.

    Returns the arrows and whether each state accepts.
    """
    number = {start: 0}
    order = [start]
    arrows: Arrows = []
    count, most = 0, allowed(MOST_ARROWS)
    for term in order:
        out: list[tuple[int, int]] = []
        for mask, target in terms.form(term):
            if target not in number:
                number[target] = len(order)
                order.append(target)
            out += [(symbol, number[target]) for symbol in bits(mask)]
            if count + len(out) > most:
                break
        arrows.append(out)
        count += len(out)
        if count > most:
            raise too_large(count, MOST_ARROWS, f"its non-deterministic automaton has {count:,} arrows or more")
    return arrows, [terms.nullable[term] for term in order]


def bits(mask: int) -> Iterator[int]:
    """The places of the ones.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def determinise(arrows: Arrows, n_symbols: int) -> tuple[list[list[int]], list[Subset]]:
    """The rows (Q, Sigma) of the reachable sets of states, and these sets; the first is that of state 0 alone."""
    number: dict[Subset, int] = {(0,): 0}
    order: list[Subset] = [(0,)]
    rows: list[list[int]] = []
    degree = [len(out) for out in arrows]
    steps, most, most_states = 0, allowed(MOST_STEPS), allowed(MOST_TRANSITIONS) // n_symbols
    for subset in order:
        steps += sum(map(degree.__getitem__, subset))
        if steps > most:
            raise too_large(steps, MOST_STEPS, f"its subset construction needs {steps:,} steps or more")
        row: list[int] = []
        for target in successors(subset, arrows, n_symbols):
            if target not in number:
                number[target] = len(order)
                order.append(target)
            row.append(number[target])
        rows.append(row)
        if len(order) > most_states:
            check_transitions(len(order), n_symbols)
    return rows, order


def successors(subset: Subset, arrows: Arrows, n_symbols: int) -> Iterator[Subset]:
    """For each symbol the set of states that it leads to from a set."""
    targets: list[set[int]] = [set() for _ in range(n_symbols)]
    for state in subset:
        for symbol, target in arrows[state]:
            targets[symbol].add(target)
    return (tuple(sorted(target)) for target in targets)


def _symbols(pattern: str, tree: Tree, alphabet: Sequence[str] | None) -> tuple[str, ...]:
    """The alphabet, checked against the characters that stand for themselves in the pattern."""
    used = literals(tree)
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


def literals(tree: Tree) -> set[str]:
    """The symbols of a tree.

    >>> from languages.regex.parser import parse
    >>> sorted(literals(parse("(a|b)*[^cd]")))
    ['a', 'b', 'c', 'd']
    """
    if isinstance(tree, Letters):
        return set(tree.symbols)
    if isinstance(tree, Repetition):
        return literals(tree.part)
    return set[str]().union(*map(literals, tree.parts))
