"""A mixer: what a block carries from symbol to symbol, and what it makes of it.

It is a recurrence over a state S, which symbols move and read:

    S_t = step(S_{t-1}, inputs_t),    o_t = read(S_t, inputs_t)

`inputs` come from the symbols alone, and from the few before each that a convolution reaches. `along` computes a piece
of a word, symbol by symbol; a mixer with a faster form has it there, and this is its reference.
"""

from __future__ import annotations

from abc import abstractmethod
from math import prod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.models.hooks import Hooked, HookPoint, carried
from regulargpt.models.layers import Readout

Inputs = tuple[Tensor, ...]
"""What symbols bring, each (batch, length, ...); of one symbol each (batch, ...)."""
State = tuple[Tensor, ...]
"""What is carried, each (batch, ...)."""


class Mixer(Hooked):
    """One layer's recurrence. `hook_recurrent` sees its whole state S after each symbol, (batch, length, numbers)."""

    def __init__(self) -> None:
        super().__init__()
        self.hook_recurrent = HookPoint()

    @abstractmethod
    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        """What each symbol brings, and what the convolutions carry on, from what they carried."""

    @abstractmethod
    def start(self, batch: int) -> tuple[State, Any]:
        """The state before the first symbol, and what the convolutions carry then."""

    @abstractmethod
    def step(self, state: State, at: Inputs) -> State:
        """The state after a symbol."""

    @abstractmethod
    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch *value"]:
        """What the state answers to the symbol that moved it."""

    @abstractmethod
    def output(
        self, o: Float[Tensor, "batch read *value"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        """What goes on, of some positions: the norm, gates and the last linear layer."""

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length *value"], State]:
        """o at each symbol, and the last state."""
        return self.loop(inputs, state)

    def loop(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length *value"], State]:
        """The same symbol by symbol: the reference."""
        outputs = []
        for at in zip(*(x.unbind(1) for x in inputs), strict=True):
            state = self.step(state, at)
            outputs.append(self.read(state, at))
        return torch.stack(outputs, 1), state  # (batch, length, *value)

    def forward(
        self, x: Float[Tensor, "batch length d_model"], carries: tuple[State, Any] | None, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], tuple[State, Any]]:
        """What goes on at the last position, or at all, and what is carried on."""
        state, before = self.start(len(x)) if carries is None else carries
        inputs, after = self.inputs(x, before)
        o, state = self.heard(inputs, state) if self.hook_recurrent.listened_to() else self.along(inputs, state)
        if readout == "last":
            o, x, inputs = o[:, -1:], x[:, -1:], tuple(part[:, -1:] for part in inputs)
        return self.output(o, x, inputs), (state, after)

    def heard(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length *value"], State]:
        """As `loop`, where functions at the hook point may change the state after any symbol."""
        symbols = [*zip(*(x.unbind(1) for x in inputs), strict=True)]

        def after(t: int, numbers: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch rest numbers"]:
            at, states = unpacked(numbers, state), []
            for symbol in symbols[t:]:
                at = self.step(at, symbol)
                states.append(packed(at))
            return torch.stack(states, 1)  # (batch, rest, numbers)

        states = [unpacked(numbers, state) for numbers in carried(self.hook_recurrent, after, packed(state)).unbind(1)]
        o = [self.read(at, symbol) for at, symbol in zip(states, symbols, strict=True)]
        return torch.stack(o, 1), states[-1]  # (batch, length, *value)


def packed(state: State) -> Float[Tensor, "batch numbers"]:
    """All numbers of a state, in turn; complex ones as pairs.

    >>> packed((torch.ones(1, 2), torch.tensor([[2j]])))
    tensor([[1., 1., 0., 2.]])
    """
    parts = [torch.view_as_real(part) if part.is_complex() else part for part in state]
    return torch.cat([part.flatten(1) for part in parts], 1)  # (batch, numbers)


def unpacked(numbers: Float[Tensor, "batch numbers"], like: State) -> State:
    sizes = [prod(part.shape[1:]) * (1 + part.is_complex()) for part in like]
    parts = []
    for part, flat in zip(like, numbers.split(sizes, 1), strict=True):
        if part.is_complex():
            flat = torch.view_as_complex(flat.unflatten(1, (-1, 2)).contiguous())  # (batch, numbers / 2)
        parts.append(flat.unflatten(1, part.shape[1:]) if part.dim() > 2 else flat)  # (batch, ...)
    return tuple(parts)
