"""The levels of the trees of all words, until they repeat: induction over a finite table.

A node of level l has C^l symbols under it (a *full* node), but for one (the *rest*), which has what remains: the
leftmost where the tree is aligned on the right, the rightmost where it is aligned on the left. A node's kind is its
prototype, or symbol, and what its sub-word does. The kinds of a level follow from those of the level below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.machine import Function, Machine, Side

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Images = Callable[[Ints], Ints]  # the prototypes (n,) of windows (n, C) by offset, from 1; 0 where none is known
Row = tuple[Ints, Flags, Flags]  # of products (n,): their numbers, whether they can be inside, and at the end

# Windows that are gone through, and that are looked at, before a certificate is refused as too large: some minutes.
MAX_WINDOWS, MAX_LOOKED_AT = 1 << 26, 1 << 33
MAX_LEVELS = 500
# Windows that are in memory at once.
SLICE = 1 << 18


@dataclass(frozen=True)
class Induction:
    """What was gone through: the levels until they repeat, the kinds of root, and how many of these have an answer.

    `functions[k]` is what the sub-words of prototype k do, where there are any.
    """

    levels: int
    roots: int
    answered: int
    functions: Mapping[int, frozenset[Function]]


def induction(
    machine: Machine, C: int, leaves: Images, nodes: Images, answers: Sequence[int | None], aligned: Side
) -> Induction:
    """Follow the levels. Raises Rejected for a window that occurs and is not in the table, and for a wrong root.

    Which nodes are part of a word with an answer depends on the span C^l, but a multiple of C^(l + 1) is one of C^l:
    answerable(C^(l + 1)) lies in answerable(C^l), and reached(C^(l + 1)) in reached(C^l). So once full nodes and rests
    are those of an earlier level, every later level has, step by step, no node, window or root beyond those that
    followed then.
    """
    functions = Functions(machine)
    # Leaves are symbols: all of them full nodes of one symbol.
    inside = [(1 + a, f) for a, f in enumerate(machine.letters) if machine.can_be_inside(f, 1, aligned)]
    symbols = [(symbol, functions.number(f)) for symbol, f in inside]
    full = distinct([np.array(symbols, dtype=np.int64).reshape(-1, 2)])  # (symbols, 2), of none, too
    rests = distinct([])
    roots: set[tuple[int, int]] = set()
    kinds: set[tuple[int, int]] = set()
    seen: set[tuple[bytes, bytes]] = set()
    count = looked_at = 0
    for level in range(1, MAX_LEVELS + 1):
        images, part = (leaves, "leaves") if level == 1 else (nodes, "nodes")
        windows = Windows(functions, full, rests, C, C**level, aligned)
        next_full: list[Ints] = []
        next_rests: list[Ints] = []
        for n in range(1, C + 1):
            for found in windows.of(n):
                count, looked_at = count + len(found.states), looked_at + windows.looked_at
                windows.looked_at = 0
                if count > MAX_WINDOWS or looked_at > MAX_LOOKED_AT:
                    most = MAX_WINDOWS if count > MAX_WINDOWS else MAX_LOOKED_AT
                    raise Rejected(f"more than {most:,} windows at {level} levels: too many to go through")
                if not len(found.states):
                    continue
                states = images(found.states)
                if not states.all():
                    window = found.states[states == 0][0].tolist()
                    raise Rejected(f"{part}: window {window} occurs at level {level} and is not in the table")
                node = np.column_stack([states, found.functions])  # (m, 2)
                next_full.append(distinct([node[found.whole]]))
                next_rests.append(distinct([node[found.at_end & ~found.whole]]))
                # Of a word of two symbols or more the root has two children: a single child would be the root.
                if n > 1 or level == 1:
                    for state, f in distinct([node[found.at_end]]).tolist():
                        if (state, f) not in roots:
                            roots.add((state, f))
                            row = (found.at_end & (node == (state, f)).all(1)).argmax()
                            place = f"{part}, window {found.states[row].tolist()}"
                            check_root(machine, (state, functions.all[f]), answers, place)
        full, rests = distinct(next_full), distinct(next_rests)
        kinds.update(map(tuple, np.concatenate([full, rests]).tolist()))
        reached = full.tobytes(), rests.tobytes()
        if reached in seen:
            answered = sum(machine.answer(functions.all[f]) is not None for _, f in roots)
            done: dict[int, set[Function]] = {}
            for state, f in kinds:
                done.setdefault(state, set()).add(functions.all[f])
            return Induction(level, len(roots), answered, {k: frozenset(found) for k, found in done.items()})
        seen.add(reached)
    raise Rejected(f"the levels do not repeat within {MAX_LEVELS}: too many to go through")


def distinct(nodes: Sequence[Ints]) -> Ints:
    """All different nodes (n, 2) of these arrays of them: prototype or symbol, and the number of a function."""
    # As one number each, which sorts much faster.
    found = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(node[:, 0] << 32 | node[:, 1] for node in nodes)]))
    return np.column_stack([found >> 32, found & 0xFFFFFFFF])


class Functions:
    """The functions on the automaton's states that sub-words have, numbered as they come."""

    def __init__(self, machine: Machine):
        self.machine, self.all = machine, list[Function]()
        self._number: dict[Function, int] = {}

    def number(self, function: Function) -> int:
        """The number of a function."""
        if function not in self._number:
            self._number[function] = len(self.all)
            self.all.append(function)
        return self._number[function]

    def product(self, first: int, then: int) -> int:
        """What two sub-words do one after the other."""
        return self.number(self.machine.product([self.all[first], self.all[then]]))


@dataclass(frozen=True)
class CheckedWindows:
    """Windows: the states (m, C) by offset from the side aligned, 0 for what is absent; the numbers (m,) of what they
    do; whether they are full nodes of the next level, and whether they can be a rest, or a root."""

    states: Ints
    functions: Ints
    whole: Flags
    at_end: Flags


class Windows:
    """The windows of full nodes, with any node at the far place, that are part of a word with an answer.

    They grow from the side aligned, and what cannot be inside is left out at once. Let s be what the places so far do,
    and x what the others will. Aligned on the right, the window does x and then s. If that can be inside, or a rest,
    some word leads to a state, x on to another, and s on to one from which an answer comes: so s can be inside. Aligned
    on the left, it does s and then x. If that can be inside, or a rest, s leads to a state from which an answer comes,
    by way of x: so s can be inside.
    """

    def __init__(self, functions: Functions, full: Ints, rests: Ints, C: int, span: int, aligned: Side):
        self.functions, self.machine, self.C, self.span = functions, functions.machine, C, span
        self.aligned: Side = aligned
        # A node that is full and a rest is there twice.
        self.states, does = np.concatenate([full, rests]).T
        self.n_full, self.looked_at = len(full), 0
        self.does, self.which = np.unique(does, return_inverse=True)  # the different functions, and each node's
        self._rows: dict[int, Row] = {}
        self._flags: dict[int, tuple[bool, bool]] = {}

    def of(self, n: int) -> Iterator[CheckedWindows]:
        """Those of n nodes, in slices."""
        yield from self.grown(np.zeros((1, 0), dtype=np.int64), np.zeros(0, dtype=np.int64), n)

    def grown(self, places: Ints, functions: Ints, n: int) -> Iterator[CheckedWindows]:
        """Those of n nodes that have at the first places these nodes (m, j), which do so much (m,)."""
        is_far = places.shape[1] == n - 1
        count = len(self.states) if is_far else self.n_full
        rows = max(1, SLICE // max(1, count))
        for at in range(0, len(places), rows):
            some = places[at : at + rows]
            self.looked_at += len(some) * count
            products, inside, at_end = self.one_more(functions[at : at + rows] if some.shape[1] else None, count)
            # Full if all of it is: a rest can only be at the far place.
            whole = (np.arange(count) < self.n_full) & (n == self.C)
            row, node = np.nonzero(at_end | (inside & whole) if is_far else inside)
            more = np.column_stack([some[row], node])  # (m, j + 1)
            if not is_far:
                yield from self.grown(more, products[row, node], n)
                continue
            states = np.zeros((len(more), self.C), dtype=np.int64)
            states[:, :n] = self.states[more]
            yield CheckedWindows(states, products[row, node], whole[node], at_end[row, node])

    def one_more(self, near: Ints | None, count: int) -> Row:
        """What windows that do `near` (m,) do with each of the first `count` nodes, (m, count) each; None: nothing."""
        if near is None:
            which, rows = np.zeros(1, dtype=np.int64), [self.alone]
        else:
            different, which = np.unique(near, return_inverse=True)
            rows = [self.row(function) for function in different.tolist()]
        nodes = self.which[:count]
        products, inside, at_end = (np.stack(column)[which[:, None], nodes] for column in zip(*rows, strict=True))
        return products, inside, at_end

    @cached_property
    def alone(self) -> Row:
        """What the nodes do."""
        return self.with_flags(self.does.tolist())

    def row(self, near: int) -> Row:
        """What a sub-word and those of the nodes behind it, as offsets count, do together."""
        if near not in self._rows:
            pairs = [(near, far) if self.aligned == "left" else (far, near) for far in self.does.tolist()]
            self._rows[near] = self.with_flags([self.functions.product(*pair) for pair in pairs])
        return self._rows[near]

    def with_flags(self, numbers: list[int]) -> Row:
        """Functions (n,), and whether they can be inside, and at the end of a word."""
        for number in set(numbers) - set(self._flags):
            f = self.functions.all[number]
            inside = self.machine.can_be_inside(f, self.span, self.aligned)
            self._flags[number] = inside, self.machine.can_be_rest(f, self.span, self.aligned)
        flags = np.array([self._flags[number] for number in numbers], dtype=bool).reshape(-1, 2)  # (n, 2)
        return np.array(numbers, dtype=np.int64), flags[:, 0], flags[:, 1]


def check_root(machine: Machine, node: tuple[int, Function], answers: Sequence[int | None], place: str) -> None:
    """Reject a root that does not answer as the automaton does."""
    state, function = node
    right, given = machine.answer(function), answers[state - 1]
    if right is not None and right != given:
        stated = "no answer is proven" if given is None else f"the network answers {machine.output_names[given]!r}"
        raise Rejected(
            f"{place}: prototype {state} is the root of words that lead the automaton to "
            f"{machine.output_names[right]!r}; there {stated}"
        )
