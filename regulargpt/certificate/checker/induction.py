"""All words: inside pairs first, then the top level, whose roots have to answer as the automaton does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.forests import Function, Side
from regulargpt.certificate.checker.levels import Ints, Kind, LevelWalk
from regulargpt.certificate.checker.machine import Automaton
from regulargpt.certificate.checker.pairs import Pairs
from regulargpt.certificate.checker.pushdown import PushdownMachine

Images = Callable[[Ints], Ints]  # the prototypes (n,) of windows (n, C) by offset, from 1; 0 where none is known


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
    machine: Automaton, C: int, leaves: Images, nodes: Images, answers: Sequence[int | None], aligned: Side
) -> Induction:
    """Follow the levels. Raises Rejected for a window that occurs and is not in the table, and for a wrong root.

    Both parts of the table are over the rows 0, prototypes, symbols, but a window of symbols alone counts these from 1.
    A finite automaton has no pairs, and in its words windows of other nodes have prototypes only.
    """
    parts = Parts(leaves, nodes, len(answers))
    walk = LevelWalk(C, aligned, parts.images)
    symbol = {a: 1 + len(answers) + a for a in range(len(machine.alphabet))}
    items: set[Kind] = {(symbol[a], f) for a, f in enumerate(machine.letters)}
    kinds: set[Kind] = set()
    place = ""
    if isinstance(machine, PushdownMachine):
        pairs = Pairs(machine, walk, symbol)
        items |= {(state, machine.lifted(f)) for state, f in pairs.items}
        kinds, place = pairs.inside, " of the top level"
    roots: set[Kind] = set()

    def root(kind: Kind, window: Ints) -> None:
        check_root(machine, kind, answers, parts.named(window))
        roots.add(kind)

    kinds |= walk.through(machine.top, sorted(items), place, root)
    answered = sum(machine.answer(f) is not None for _, f in roots)
    done: dict[int, set[Function]] = {}
    for state, f in kinds:
        done.setdefault(state, set()).add(f)
    return Induction(walk.levels, len(roots), answered, {k: frozenset(elements) for k, elements in done.items()})


@dataclass(frozen=True)
class Parts:
    """The two parts of the table over windows of the rows 0, K prototypes, symbols."""

    leaves: Images
    nodes: Images
    K: int

    def images(self, windows: Ints, where: str) -> Ints:
        """The images (n,) of windows (n, C) that occur, at a place that is said in words."""
        of_symbols = self.of_symbols(windows)
        images = np.zeros(len(windows), dtype=np.int64)
        if of_symbols.any():
            images[of_symbols] = self.leaves(np.maximum(windows[of_symbols] - self.K, 0))
        if not of_symbols.all():
            images[~of_symbols] = self.nodes(windows[~of_symbols])
        if not images.all():
            part, window = self.place(windows[images == 0][0])
            raise Rejected(f"{part}: window {window} occurs {where} and is not in the table")
        return images

    def of_symbols(self, windows: Ints) -> np.ndarray:
        """Which (n,) have no prototypes."""
        return ((windows == 0) | (windows > self.K)).all(1)

    def place(self, window: Ints) -> tuple[str, list[int]]:
        """The part that a window (C,) is of, and as what it stands there."""
        if self.of_symbols(window[None])[0]:
            return "leaves", np.maximum(window - self.K, 0).tolist()
        return "nodes", window.tolist()

    def named(self, window: Ints) -> str:
        """A window (C,) in words."""
        return "{}, window {}".format(*self.place(window))


def check_root(machine: Automaton, kind: Kind, answers: Sequence[int | None], place: str) -> None:
    """Reject a root that does not answer as the automaton does."""
    state, function = kind
    right, given = machine.answer(function), answers[state - 1]
    if right is not None and right != given:
        stated = "no answer is proven" if given is None else f"the network answers {machine.output_names[given]!r}"
        raise Rejected(
            f"{place}: prototype {state} is the root of words that lead the automaton to "
            f"{machine.output_names[right]!r}; there {stated}"
        )
