"""What the nodes of an ideal network would stand for in trees that follow brackets, and what its windows give.

A node stands for an element of the algebra. With C = 2 a pair takes two windows: the node over (call, forest) stands
for more than an element, for what each return makes of it. At the top level, where the call may be pending, the same
window is a node like others; so such labels have an element, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regulargpt.finite.levels import Ints, from_left
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.models.tree.shape import Side


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels: the elements, 0 .. M, and with C = 2 those of calls with a forest behind them.

    Rows are counted as in the table: labels from 1, then the symbols.

    >>> from languages.context_free.brackets import brackets
    >>> labels = Labels(NestedSpecification.from_task(brackets(2)), 2, "right")
    >>> labels.count, labels.answers.tolist()
    (11, [1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1])
    """

    specification: NestedSpecification
    chunk_size: int
    aligned: Side

    @cached_property
    def opened(self) -> tuple[Ints, Ints]:
        """Of each call with a forest of each element the label (M + 1, calls), and (labels, 1 + returns): the element
        that it has at the top level, and those of the pairs that returns make of it."""
        of = self.specification
        alone = of.times[of.letters[of.calls]].T  # (M + 1, calls): the call as a pending call, and the forest
        does = np.concatenate([alone[:, :, None], of.wrap], axis=2)  # (M + 1, calls, 1 + returns)
        flat = does.reshape(-1, does.shape[2])  # ((M + 1) * calls, 1 + returns)
        different, which = np.unique(flat, axis=0, return_inverse=True)
        return which.reshape(does.shape[:2]) + of.size + 1, different  # (M + 1, calls)

    @cached_property
    def count(self) -> int:
        return self.specification.size + 1 + (len(self.opened[1]) if self.chunk_size == 2 else 0)

    @cached_property
    def elements(self) -> Ints:
        """The element of each label, at the top level."""
        every = np.arange(self.specification.size + 1)
        return np.concatenate([every, self.opened[1][:, 0]]) if self.chunk_size == 2 else every

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A shortest word of each label; a call that is still to be closed, and what follows it, end in dots.

        Empty where there is no word.

        >>> from languages.context_free.brackets import brackets
        >>> Labels(NestedSpecification.from_task(brackets(1)), 2, "right").names
        ('ε', ')', '(', ')(', '', '(…', '((…', '()…')
        """
        words = [word or "ε" for word in self.specification.words]
        if self.chunk_size > 2:
            return *words, ""
        opened = dict.fromkeys(range(self.specification.size + 1, self.count), "")
        calls = [self.specification.algebra.alphabet[call] for call in self.specification.calls]
        which = self.opened[0][:-1]
        for element, call in np.ndindex(which.shape):
            label = int(which[element, call])
            opened[label] = opened[label] or f"{calls[call]}{self.specification.words[element]}…"
        return *words, "", *opened.values()

    @property
    def answers(self) -> Ints:
        """The answer at each label; -1 where words of it are no question."""
        return self.specification.answers[self.elements]

    def image(self, windows: Ints) -> Ints:
        """The labels (n,), from 1, over windows (n, C) of rows."""
        left = windows[:, ::-1] if self.aligned == "right" else windows
        product = self.products(windows)
        calls, returns = (self.numbers(kind, left) for kind in (self.specification.calls, self.specification.returns))
        return 1 + (self.in_two if self.chunk_size == 2 else self.in_one)(left, calls, returns, product)

    def in_two(self, left: Ints, calls: Ints, returns: Ints, product: Ints) -> Ints:
        """The same for C = 2: (call, inside), then that and the return; an empty inside is the pad."""
        size, inside = self.specification.size, left[:, 1]
        opens = (calls[:, 0] >= 0) & (inside <= size + 1)
        labels = self.opened[0][np.where(opens, np.maximum(inside - 1, 0), 0), calls[:, 0]]
        opened = left[:, 0] - size - 2
        closes = (opened >= 0) & (opened < len(self.opened[1])) & (returns[:, 1] >= 0)
        pairs = self.opened[1][np.where(closes, opened, 0), 1 + np.maximum(returns[:, 1], 0)]
        return np.where(opens, labels, np.where(closes, pairs, product))

    def in_one(self, left: Ints, calls: Ints, returns: Ints, product: Ints) -> Ints:
        """The same for C >= 3: (call, inside, return)."""
        first = self.chunk_size - 3 if self.aligned == "right" else 0
        call, inside, close = calls[:, first], left[:, first + 1], returns[:, first + 2]
        is_pair = (call >= 0) & (close >= 0) & (inside <= self.count)
        element = np.where(is_pair, np.maximum(inside - 1, 0), 0)
        return np.where(is_pair, self.specification.wrap[element, call, close], product)

    def numbers(self, symbols: Ints, rows: Ints) -> Ints:
        """Which of these symbols each row is, -1 for others."""
        place = np.full(2 + self.count + len(self.specification.letters), -1)
        place[1 + self.count + symbols] = np.arange(len(symbols))
        return place[rows]

    def products(self, windows: Ints) -> Ints:
        """What the children of windows do in turn."""
        does = np.concatenate([[0], self.elements, self.specification.letters])
        elements = np.zeros(len(windows), dtype=np.int64)
        for column in from_left(list(windows.T), self.aligned):
            elements = self.specification.times[elements, does[column]]
        return elements
