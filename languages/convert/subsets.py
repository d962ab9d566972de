"""The deterministic automaton of a nondeterministic one: a state for each set of states that a word can lead to."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from languages.automata import Dfa
from languages.automata.semiautomaton import numbered
from languages.budget import MAX_TRANSITIONS, allowed, check, too_large

MAX_STEPS = 2**21  # along arrows, from each set to the next
Subset = frozenset[str]


def determinised(
    initial: Iterable[str],
    arrows: Iterable[tuple[str, str, str | None]],  # source, target, symbol or None for none
    accepting: AbstractSet[str],
    symbols: Sequence[str],
) -> Dfa:
    """The minimal automaton of the words that lead from an initial state to an accepting state. TooLarge beyond limits.

    >>> arrows = [("p", "p", "a"), ("p", "p", "b"), ("p", "q", "a"), ("q", "r", "b")]
    >>> ends_in_ab = determinised("p", arrows, {"r"}, "ab")
    >>> ends_in_ab.n_states, "abab" in ends_in_ab, "aba" in ends_in_ab
    (3, True, False)
    """
    walk = _Walk(arrows)
    start = walk.closed(initial)
    number: dict[Subset, int] = {start: 0}
    queue, rows = [start], list[list[int]]()
    for subset in queue:
        row: list[int] = []
        for symbol in symbols:
            after = walk.after(subset, symbol)
            if after not in number:
                number[after] = len(queue)
                queue.append(after)
            row.append(number[after])
        rows.append(row)
        count = len(queue) * len(symbols)
        check(count, MAX_TRANSITIONS, f"made deterministic it has {count:,} transitions or more")
    states = numbered(len(queue))
    final = {states[i] for subset, i in number.items() if not subset.isdisjoint(accepting)}
    return Dfa(states, tuple(symbols), rows, states[0], final).minimise()


class _Walk:
    """Steps from sets of states along arrows, counted: a path that is too long is given up."""

    def __init__(self, arrows: Iterable[tuple[str, str, str | None]]) -> None:
        self.targets: dict[tuple[str, str | None], list[str]] = {}
        self.steps = 0
        for source, target, symbol in arrows:
            self.targets.setdefault((source, symbol), []).append(target)

    def along(self, state: str, symbol: str | None) -> list[str]:
        targets = self.targets.get((state, symbol), [])
        self.steps += 1 + len(targets)
        if self.steps > allowed(MAX_STEPS):
            raise too_large(self.steps, MAX_STEPS, f"to make it deterministic takes {self.steps:,} steps or more")
        return targets

    def after(self, states: Subset, symbol: str) -> Subset:
        return self.closed(target for state in states for target in self.along(state, symbol))

    def closed(self, states: Iterable[str]) -> Subset:
        """The states, and all that they lead to without a symbol."""
        reached = dict.fromkeys(states)
        queue = list(reached)
        for state in queue:
            for target in self.along(state, None):
                if target not in reached:
                    reached[target] = None
                    queue.append(target)
        return frozenset(reached)
