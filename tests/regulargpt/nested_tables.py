"""A quantised network on one word with brackets, by recursion, as nested.md of the tree's definition has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.finite.proof import Proof, prove
from regulargpt.models.tree.shape import Side

Ints = npt.NDArray[np.int64]
Window = tuple[int, ...]


@dataclass
class TableTree:
    """The tree over words: `image` gives the state over a window of rows by offset; symbol s is the row first + s."""

    image: Callable[[Window], int]
    first: int
    direction: Sequence[int]
    C: int
    aligned: str
    windows: set[Window] = field(default_factory=set)

    def root(self, word: Sequence[int]) -> int:
        """The state of the root; `windows` has all that occurred."""
        return self.forest(self.items(list(word)))

    def items(self, word: list[int]) -> list[int]:
        found = []
        while word:
            symbol = word.pop(0)
            inside = self.closed(symbol, word)
            if inside is None:
                found.append(self.first + symbol)
                continue
            close = self.first + word[len(inside)]
            del word[: len(inside) + 1]
            opened, within = self.first + symbol, self.forest(self.items(inside))
            if self.C == 2:
                found.append(self.merge([self.merge([opened, within]), close]))
            else:
                found.append(self.merge([opened, within, close]))
        return found

    def closed(self, symbol: int, behind: list[int]) -> list[int] | None:
        """What stands between a call and its return; None for another symbol, or a call that nothing closes."""
        open_calls = 1
        for at, other in enumerate(behind) if self.direction[symbol] == 1 else ():
            open_calls += self.direction[other]
            if not open_calls:
                return behind[:at]
        return None

    def forest(self, items: list[int]) -> int:
        if not items:
            return 0
        while True:
            if self.aligned == "right":
                cuts = [0, *range(len(items) % self.C or self.C, len(items), self.C), len(items)]
            else:
                cuts = [*range(0, len(items), self.C), len(items)]
            items = [self.merge(items[a:b]) for a, b in pairwise(cuts)]
            if len(items) == 1:
                return items[0]

    def merge(self, children: list[int]) -> int:
        by_offset = children[::-1] if self.aligned == "right" else children
        window = (*by_offset, *[0] * (self.C - len(children)))
        self.windows.add(window)
        return self.image(window)


def prove_nested(
    specification: NestedSpecification,
    chunk_size: int,
    n_prototypes: int,
    image: Callable[[Ints], Ints],
    answers: Ints,
    aligned: Side = "right",
) -> Proof:
    """The proof of a table over windows (n, C) of rows, whatever their level."""
    return prove(specification, chunk_size, lambda level, rows: image(rows), answers, aligned, n_prototypes)
