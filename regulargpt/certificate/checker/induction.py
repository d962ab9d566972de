"""The levels of the trees of all words, until they repeat: induction over a finite table.

A node of level l has C^l symbols under it (a *full* node), but for one (the *rest*), which has what remains: the
leftmost where the tree is aligned on the right, the rightmost where it is aligned on the left. A node's kind is its
prototype, or symbol, and what its sub-word does. The kinds of a level follow from those of the level below.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.machine import Function, Machine, Side

Node = tuple[int, Function]  # a prototype (or symbol), counted from 1, and what the sub-word does
Part = Mapping[tuple[int, ...], int]  # {window: prototype}, by offset from the side aligned, from 1; 0 is absent

# Windows that are gone through before a certificate is refused as too large: some minutes.
MAX_WINDOWS = 1 << 25
MAX_LEVELS = 500


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
    machine: Machine, C: int, leaves: Part, nodes: Part, answers: Sequence[int | None], aligned: Side
) -> Induction:
    """Follow the levels. Raises Rejected for a window that occurs and is not in the table, and for a wrong root.

    Which nodes are part of a word with an answer depends on the span C^l, but a multiple of C^(l + 1) is one of C^l:
    answerable(C^(l + 1)) lies in answerable(C^l), and reached(C^(l + 1)) in reached(C^l). So once full nodes and rests
    are those of an earlier level, every later level has, step by step, no node, window or root beyond those that
    followed then.
    """
    # Leaves are symbols: all of them full nodes of one symbol.
    full = {(1 + a, f) for a, f in enumerate(machine.letters) if machine.can_be_inside(f, 1, aligned)}
    rests: set[Node] = set()
    roots: set[Node] = set()
    functions: dict[int, set[Function]] = {}
    seen: set[tuple[frozenset[Node], frozenset[Node]]] = set()
    count = 0
    for level in range(1, MAX_LEVELS + 1):
        table, part = (leaves, "leaves") if level == 1 else (nodes, "nodes")
        span = C**level
        next_full: set[Node] = set()
        next_rests: set[Node] = set()
        for window in windows(full, rests, C):
            count += 1
            if count > MAX_WINDOWS:
                raise Rejected(f"more than {MAX_WINDOWS:,} windows at {level} levels: too many to go through")
            from_left = window if aligned == "left" else window[::-1]
            f = machine.product([function for _, function in from_left])
            # Full if all of it is: a rest can only be at the far place. The same node may be both.
            whole = len(window) == C and window[-1] in full
            at_end = machine.can_be_rest(f, span, aligned)
            if not (at_end or (whole and machine.can_be_inside(f, span, aligned))):
                continue
            key = tuple(state for state, _ in window) + (0,) * (C - len(window))
            if key not in table:
                raise Rejected(f"{part}: window {list(key)} occurs at level {level} and is not in the table")
            node = table[key], f
            if whole:
                next_full.add(node)
            if at_end and not (whole and window[-1] not in rests):
                next_rests.add(node)
            # Of a word of two symbols or more the root has two children: a single child would be the root.
            if at_end and (len(window) > 1 or level == 1) and node not in roots:
                roots.add(node)
                check_root(machine, node, answers)
        full, rests = next_full, next_rests
        for state, function in full | rests:
            functions.setdefault(state, set()).add(function)
        reached = frozenset(full), frozenset(rests)
        if reached in seen:
            answered = sum(machine.answer(f) is not None for _, f in roots)
            return Induction(level, len(roots), answered, {k: frozenset(found) for k, found in functions.items()})
        seen.add(reached)
    raise Rejected(f"the levels do not repeat within {MAX_LEVELS}: too many to go through")


def windows(full: set[Node], rests: set[Node], C: int) -> Iterator[tuple[Node, ...]]:
    """All windows by offset from the side aligned: full nodes, and at the far place any node."""
    ordered, anything = sorted(full), sorted(full | rests)
    for n in range(1, C + 1):
        for far in anything:
            for near in itertools.product(ordered, repeat=n - 1):
                yield (*near, far)


def check_root(machine: Machine, node: Node, answers: Sequence[int | None]) -> None:
    """Reject a root that does not answer as the automaton does."""
    state, function = node
    right, given = machine.answer(function), answers[state - 1]
    if right is not None and right != given:
        stated = "no answer is proven" if given is None else f"the network answers {machine.output_names[given]!r}"
        raise Rejected(
            f"prototype {state} is the root of words that lead the automaton to {machine.output_names[right]!r}; "
            f"there {stated}"
        )
