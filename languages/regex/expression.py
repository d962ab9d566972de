"""The deterministic automaton of a regular expression, as a table."""

from collections.abc import Iterator, Sequence

from languages.budget import MAX_TRANSITIONS, TooLarge, allowed, check_transitions, too_large
from languages.errors import LanguageError, one_of
from languages.regex.parser import OPERATORS, parse
from languages.regex.terms import Term, Terms
from languages.regex.tree import Letters, Repetition, Tree

Arrows = list[list[tuple[int, int]]]  # of each state: (symbol, target)
Subset = tuple[int, ...]  # of states, ascending

MAX_ARROWS = 2**20  # of the non-deterministic automaton
MAX_STEPS = 2**22  # arrows followed in the subset construction


def deterministic_table(
    pattern: str, alphabet: Sequence[str] | None = None
) -> tuple[tuple[str, ...], list[list[int]], list[bool]]:
    """The symbols, a table (Q, Sigma) and whether each state accepts, for a regular expression; state 0 is initial.

    The table is not minimal. It is what `Dfa.from_regex` makes an automaton of, which says what an expression may be
    and what is refused; no class of automata is known here.

    >>> deterministic_table("ab")
    (('a', 'b'), [[1, 2], [2, 3], [2, 2], [2, 2]], [False, False, False, True])
    """
    tree = parse(pattern, alphabet or ())
    symbols = _symbols(pattern, tree, alphabet)
    terms = Terms(symbols)
    try:
        arrows, accepting = automaton(terms, terms.read(tree))
        rows, subsets = determinise(arrows, len(symbols))
    except TooLarge as error:
        shown = pattern if len(pattern) <= 60 else f"{pattern[:57]}..."
        raise TooLarge(f"{shown!r}: {error}") from None
    return symbols, rows, [any(accepting[q] for q in subset) for subset in subsets]


def automaton(terms: Terms, start: Term) -> tuple[Arrows, list[bool]]:
    """The non-deterministic automaton whose states are the terms that linear forms lead to; state 0 is initial.

    Returns the arrows and whether each state accepts.
    """
    number = {start: 0}
    order = [start]
    arrows: Arrows = []
    count, most = 0, allowed(MAX_ARROWS)
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
            raise too_large(count, MAX_ARROWS, f"its non-deterministic automaton has {count:,} arrows or more")
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
    # Every subset is a state that is looked at once; what costs time is the arrows that leave its members.
    steps, most, most_states = 0, allowed(MAX_STEPS), allowed(MAX_TRANSITIONS) // n_symbols
    for subset in order:
        steps += sum(map(degree.__getitem__, subset))
        if steps > most:
            raise too_large(steps, MAX_STEPS, f"its subset construction needs {steps:,} steps or more")
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
    """The symbols of a tree."""
    if isinstance(tree, Letters):
        return set(tree.symbols)
    if isinstance(tree, Repetition):
        return literals(tree.part)
    return set[str]().union(*map(literals, tree.parts))
