"""Pairs of brackets, inside out: what rows of items stand in them, and the items that they are, until none is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.levels import Ints, Kind, LevelWalk
from regulargpt.certificate.checker.pushdown import Opened, PushdownMachine

MAX_ROUNDS = 500


class Pairs:
    """The kinds of `items` that a word with an answer can have, inside pairs and at the top level: internal symbols and
    pairs. `inside` are the kinds of all nodes in pairs, and of pairs; their functions are those of the top level.

    A symbol a stands in windows as `symbol[a]`. What stands in a pair is the root of a row of items, or nothing, which
    is the pad and leads from each state to itself. A round makes pairs of the roots that are new, and follows the rows
    of all items. Once it brings no new root, all items have been there.
    """

    def __init__(self, machine: PushdownMachine, walk: LevelWalk, symbol: Mapping[int, int]):
        self.machine, self.walk, self.symbol = machine, walk, symbol
        self.items: set[Kind] = {(symbol[a], f) for a, f in machine.inner_letters.items()}
        self.inside: set[Kind] = set()
        new: set[Kind] = {(0, tuple(range(machine.n)))}
        done: set[Kind] = set()
        for _ in range(MAX_ROUNDS):
            self.close(new)
            done |= new
            new = self.roots() - done
            if not new:
                return
        raise Rejected(f"pairs do not repeat within {MAX_ROUNDS} rounds: too many to go through")

    def roots(self) -> set[Kind]:
        """The kinds of root of the rows of items in pairs."""
        kinds_of_roots, items = set[Kind](), sorted(self.items)
        kinds = self.walk.through(
            self.machine.inner, items, " in a pair", lambda kind, window: kinds_of_roots.add(kind)
        )
        self.inside |= {(state, self.machine.lifted(f)) for state, f in kinds}
        return kinds_of_roots

    def close(self, roots: Iterable[Kind]) -> None:
        """Make items of the pairs round these, as far as a word with an answer can have them."""
        machine, pairs = self.machine, list[tuple[int, int, int]]()
        opened, closed = list[Opened](), list[tuple[int, ...]]()
        for state, f in sorted(roots):
            for a in machine.calls:
                with_call = machine.opened(f, a)
                for b in machine.returns:
                    if machine.is_useful_item(pair := machine.closed(with_call, b)):
                        pairs.append((self.symbol[a], state, self.symbol[b]))
                        opened.append(with_call)
                        closed.append(pair)
                self.walk.counted(0, len(machine.returns), "of pairs")
        call, inside, back = np.array(pairs, dtype=np.int64).reshape(-1, 3).T  # (n,) each, of none, too
        if self.walk.C == 2:
            inside = self.images(call, inside)
            self.inside |= {(k, machine.coded(o)) for k, o in zip(inside.tolist(), opened, strict=True)}
            images = self.images(inside, back)
        else:
            images = self.images(call, inside, back)
        items = set(zip(images.tolist(), closed, strict=True))
        self.items |= items
        self.inside |= {(state, machine.lifted(f)) for state, f in items}

    def images(self, *nodes: Ints) -> Ints:
        """The images (n,) of windows of these nodes (n,), from left to right."""
        windows = np.zeros((len(nodes[0]), self.walk.C), dtype=np.int64)
        ordered = nodes[::-1] if self.walk.aligned == "right" else nodes
        windows[:, : len(nodes)] = np.stack(ordered, axis=1)
        self.walk.counted(len(windows), 0, "of pairs")
        return self.walk.images(windows, "as a pair")
