"""Two stacks, equal where actions are certain: all actions in superposition, and the likeliest by pointers.

`empty` is what an empty cell reads. Cells hold the difference to it, so that what is below them is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

PUSH, POP, NOOP = range(3)


@runtime_checkable
class Stack(Protocol):
    """The stacks of a batch. A stack is a value: to act on it gives another."""

    def top(self) -> Float[Tensor, "batch stacks width"]:
        """What stands on top of each."""
        ...

    def act(self, actions: Float[Tensor, "batch stacks 3"], pushed: Float[Tensor, "batch stacks width"]) -> Stack:
        """The stacks after weighted actions, or after the likeliest, if `pushed` is what a push puts on top."""
        ...


class Act(torch.autograd.Function):
    """s'[i] = push s[i-1] + pop s[i+1] + noop s[i] with s[-1] what is pushed, to a depth; several times as fast as
    slices and their gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        cells: Float[Tensor, "rows depth width"],
        actions: Float[Tensor, "rows 3"],
        pushed: Float[Tensor, "rows width"],
        depth: int,
    ) -> Float[Tensor, "rows new_depth width"]:
        rows, before, width = cells.shape
        push, pop, noop = actions[:, :, None, None].unbind(1)  # each (rows, 1, 1)
        kept, popped = min(before, depth), min(before - 1, depth)
        after = cells.new_empty(rows, depth, width)
        torch.mul(cells[:, :kept], noop, out=after[:, :kept])
        after[:, kept:] = 0
        after[:, :popped].addcmul_(cells[:, 1 : popped + 1], pop)
        after[:, 1:].addcmul_(cells[:, : depth - 1], push)
        after[:, 0].addcmul_(pushed, push[:, 0])
        ctx.save_for_backward(cells, actions, pushed)
        return after

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (gradient,) = gradients
        cells, actions, pushed = ctx.saved_tensors
        before, depth = cells.shape[1], gradient.shape[1]
        push, pop, noop = actions[:, :, None, None].unbind(1)  # each (rows, 1, 1)
        kept, popped = min(before, depth), min(before - 1, depth)
        of_cells = torch.empty_like(cells)
        torch.mul(gradient[:, :kept], noop, out=of_cells[:, :kept])
        of_cells[:, kept:] = 0
        of_cells[:, 1 : popped + 1].addcmul_(gradient[:, :popped], pop)
        of_cells[:, : depth - 1].addcmul_(gradient[:, 1:], push)
        of_push = dot(gradient[:, 1:], cells[:, : depth - 1]) + (gradient[:, 0] * pushed).sum(-1)
        of_pop = dot(gradient[:, :popped], cells[:, 1 : popped + 1])
        of_noop = dot(gradient[:, :kept], cells[:, :kept])
        return of_cells, torch.stack([of_push, of_pop, of_noop], -1), gradient[:, 0] * push[:, 0], None


def dot(left: Float[Tensor, "rows depth width"], other: Float[Tensor, "rows depth width"]) -> Float[Tensor, "rows"]:
    """The inner product of each row."""
    # Matrices of a row and one column: (rows, 1, depth * width) times (rows, depth * width, 1).
    return torch.bmm(left.flatten(1)[:, None], other.flatten(1)[:, :, None])[:, 0, 0]


@dataclass(frozen=True)
class Superposition:
    """Stacks whose cells are means over all actions. They grow by a cell a step, and hold what can still be read.

    `left` symbols are still to come, if that is known: deeper than that no top will ever be.
    """

    cells: Float[Tensor, "rows depth width"]  # row by row the stacks of a word, less `empty`
    stacks: int
    empty: int
    left: int | None = None
    height: int = 0
    """How many cells there may be something in."""

    @classmethod
    def new(cls, like: Tensor, batch: int, stacks: int, width: int, empty: int, left: int | None) -> Superposition:
        return cls(like.new_zeros(batch * stacks, 1, width), stacks, empty, left)

    def top(self) -> Float[Tensor, "batch stacks width"]:
        """The mean of what may stand there."""
        top = self.cells[:, 0] + self.empty if self.empty else self.cells[:, 0]
        return top.unflatten(0, (-1, self.stacks))  # (batch, stacks, width)

    def act(
        self, actions: Float[Tensor, "batch stacks 3"], pushed: Float[Tensor, "batch stacks width"]
    ) -> Superposition:
        """Each cell becomes the mean over the actions of what they would bring there."""
        left = None if self.left is None else self.left - 1
        height = self.height + 1 if left is None else min(self.height + 1, max(left, 1))
        pushed = pushed - self.empty if self.empty else pushed
        # (batch * stacks, ...)
        cells = Act.apply(self.cells, actions.flatten(0, 1), pushed.flatten(0, 1), height)
        return Superposition(cells, self.stacks, self.empty, left, height)  # pyright: ignore[reportArgumentType]


class Nodes:
    """All that was ever pushed on the stacks of a batch, as trees: a node has what was pushed, and what it lies on.

    Node 0 of each row is the bottom, and lies on itself. Nodes are numbered step by step: node * rows + row.
    """

    def __init__(self, bottom: Float[Tensor, "rows width"]):
        self.rows = len(bottom)
        self.used = 1
        self.value = bottom
        self.below = torch.arange(self.rows, device=bottom.device)

    def copy(self, used: int) -> Nodes:
        """The first so many nodes of each row, by themselves."""
        nodes = Nodes(self.value[: self.rows])
        nodes.used = used
        nodes.value, nodes.below = self.value[: used * self.rows].clone(), self.below[: used * self.rows].clone()
        return nodes

    def add(self, value: Float[Tensor, "rows width"], below: Int[Tensor, "rows"]) -> None:
        """A node in every row."""
        at = slice(self.used * self.rows, (self.used + 1) * self.rows)
        if at.stop > len(self.value):
            # Twice as many: reading a long word symbol by symbol would copy all of it each time.
            self.value = torch.cat([self.value, torch.zeros_like(self.value)])
            self.below = torch.cat([self.below, torch.zeros_like(self.below)])
        self.value[at], self.below[at] = value, below
        self.used += 1


@dataclass(frozen=True)
class Pointers:
    """Stacks of any depth, on which the likeliest action is taken: a step costs as much as a cell is wide."""

    nodes: Nodes
    used: int
    on_top: Int[Tensor, "rows"]
    stacks: int

    @classmethod
    def new(cls, like: Tensor, batch: int, stacks: int, width: int, empty: int) -> Pointers:
        nodes = Nodes(like.new_full((batch * stacks, width), empty))
        return cls(nodes, 1, nodes.below, stacks)

    def top(self) -> Float[Tensor, "batch stacks width"]:
        """What was pushed there."""
        return self.nodes.value.index_select(0, self.on_top).unflatten(0, (-1, self.stacks))  # (batch, stacks, width)

    def act(self, actions: Float[Tensor, "batch stacks 3"], pushed: Float[Tensor, "batch stacks width"]) -> Pointers:
        """Each takes its likeliest action, the first of equals. A pop at the bottom does nothing."""
        # Who reads on twice from one place must not write over the other's nodes.
        nodes = self.nodes if self.nodes.used == self.used else self.nodes.copy(self.used)
        action = actions.flatten(0, 1).argmax(-1)  # (rows,)
        popped = nodes.below.index_select(0, self.on_top)
        on_new = nodes.below[: nodes.rows] + nodes.used * nodes.rows
        nodes.add(pushed.flatten(0, 1), self.on_top)  # (rows, width)
        on_top = torch.where(action == PUSH, on_new, torch.where(action == POP, popped, self.on_top))
        return Pointers(nodes, nodes.used, on_top, self.stacks)
