"""The stack-augmented recurrent network of Deletang et al. 2023, its variants, and one of signs that can be proven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.hooks import HookPoint
from regulargpt.models.layers import Readout, check_words, choose, linear
from regulargpt.models.recurrent import Recurrent
from regulargpt.models.stack_rnn.controllers import CONTROLLERS, Vector
from regulargpt.models.stack_rnn.hardening import ACTION_NOISE, Hardening
from regulargpt.models.stack_rnn.stacks import NOOP, POP, PUSH, Pointers, Stack, Superposition


class CarriedMachine(NamedTuple):
    """All that the network carries along a word."""

    h: Vector
    c: Vector | None
    stack: Stack


class StackRnn(Recurrent):
    """A controller that reads the tops of its stacks beside each symbol, then pushes, pops or does nothing on each.

        r = the tops, side by side            u = W_x [one-hot(x); r] + b_x + W_h h + b_h
        h' = sign(u), ReLU(u), tanh(u) or an LSTM's; h = 0 at first
        v = W_v h' + b_v is what a push puts on top;  softmax(W_a h' + b_a) are the actions PUSH, POP, NOOP
        logits = W_y h' + b_y

    Training takes all actions in superposition, by their weights; tests take the likeliest, at any depth, and signs.
    The softmax is over the three actions of each stack. The published code takes it over those of all stacks at once,
    so that several stacks share one unit of weight.

    With `actions = visible` brackets act: a call pushes, a return pops. With `tests = superposition` tests are as
    published, which leaks: what is 1 - eps certain is blurred by eps at every step.

    >>> model = StackRnn(3, 2, d_model=8)
    >>> model(torch.tensor([[0, 1, 2, 2]]), readout="all").shape
    torch.Size([1, 4, 2])
    """

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        controller: str = "binary",
        d_model: int = 64,
        stack_width: int = 8,
        stacks: int = 1,
        actions: str = "learned",
        push: str = "linear",
        empty: int = 0,
        tests: str = "hard",
        margin: float = 0.05,
        generator: torch.Generator | None = None,
    ):
        generator = generator or torch.Generator().manual_seed(0)
        super().__init__(d_model, n_outputs, generator)
        self.n_symbols, self.d_model, self.stacks, self.width, self.empty = (
            n_symbols,
            d_model,
            stacks,
            stack_width,
            empty,
        )
        self.controller = choose("controller", controller, CONTROLLERS)
        self.squashed = choose("push", push, {"linear": False, "sigmoid": True})
        self.tests_softly = choose("tests", tests, {"hard": False, "superposition": True})
        gates = self.controller.gates * d_model
        self.input = linear(n_symbols + stacks * stack_width, gates, generator)
        self.recurrent = linear(d_model, gates, generator)
        self.push = linear(d_model, stacks * stack_width, generator)
        learned = choose("actions", actions, {"learned": True, "visible": False})
        self.action = linear(d_model, 3 * stacks, generator) if learned else None
        if self.controller.carries:
            # Forget gates start open, as those of `lstm`.
            torch.nn.init.ones_(self.input.bias.data[d_model : 2 * d_model])
        self.hardening = Hardening(controller == "binary", margin)
        self.hook_top, self.hook_state, self.hook_push, self.hook_action = (HookPoint() for _ in range(4))

    @property
    def direction(self) -> Int[Tensor, "symbols"] | None:
        """Of each symbol whether it calls (1), returns (-1) or neither (0); None where actions are learned."""
        return self._buffers.get("brackets")

    def follow(self, direction: Sequence[int]) -> None:
        """Let brackets act on all stacks from now on: a call pushes, a return pops."""
        self.register_buffer("brackets", torch.tensor(direction), persistent=False)

    def set_noise(self, level: float) -> None:
        """How far actions and units are hardened, 0 to 1."""
        self.hardening.level = level

    @property
    def is_soft(self) -> bool:
        """Whether all actions are taken in superposition."""
        return self.training or self.tests_softly

    def start(self, batch: int, left: int | None = None) -> CarriedMachine:
        """The machine before the first symbol; `left` symbols are to come, if that is known."""
        like, sizes = self.readout.weight, (batch, self.stacks, self.width, self.empty)
        h = like.new_zeros(batch, self.d_model)
        stack = Superposition.new(like, *sizes, left) if self.is_soft else Pointers.new(like, *sizes)
        return CarriedMachine(h, h if self.controller.carries else None, stack)

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        check_words(words, readout)
        return self.read(words, self.start(*words.shape), readout)[0]

    def advance(
        self, piece: Int[Tensor, "batch part"], state: CarriedMachine | None, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], CarriedMachine]:
        machine = self.start(len(piece)) if state is None else state
        x = self.hook_embed(F.one_hot(piece.long(), self.n_symbols).to(self.readout.weight.dtype))
        of_symbol, of_top = self.input.weight.split([self.n_symbols, self.stacks * self.width], 1)
        # What does not depend on the state is computed for all symbols at once, time first: (part, batch, ...).
        u = F.linear(x.transpose(0, 1), of_symbol, self.input.bias + self.recurrent.bias)
        u, hardness = self.hardening.units(u) if self.hardening.is_binary else (u, None)
        heads, biases = self.heads(len(u), len(piece))
        visible = self.visible(piece) or [None] * len(u)
        seen = []
        for sums, bias, action in zip(u.unbind(0), biases, visible, strict=True):
            top = self.hook_top(machine.stack.top())
            sums = torch.addmm(torch.addmm(sums, top.flatten(1), of_top.T), machine.h, self.recurrent.weight.T)
            h, c = self.controller.move(sums, machine.c, hardness)
            h = self.hook_state(h)
            machine = CarriedMachine(h, c, self.acted(machine.stack, torch.addmm(bias, h, heads.T), action))
            if readout == "all":
                seen.append(h)
        return (torch.stack(seen, 1) if seen else machine.h[:, None]), machine  # (batch, read, d_model)

    def heads(self, length: int, batch: int) -> tuple[Float[Tensor, "both d_model"], Sequence[Tensor]]:
        """The weights of what is pushed and, behind it, of the actions; and for each step the biases, with noise."""
        if self.action is None:
            return self.push.weight, [self.push.bias] * length
        weight = torch.cat([self.push.weight, self.action.weight])
        if not (self.training and self.hardening.level):
            return weight, [torch.cat([self.push.bias, self.action.bias])] * length
        pushing = self.push.bias.expand(length, batch, -1)  # (length, batch, stacks * width)
        acting = self.hardening.noisy(self.action.bias.expand(length, batch, -1), ACTION_NOISE)  # (.., stacks * 3)
        return weight, torch.cat([pushing, acting], -1).unbind(0)  # a step (batch, both)

    def visible(self, piece: Int[Tensor, "batch part"]) -> Sequence[Float[Tensor, "batch stacks 3"]] | None:
        """The actions of each symbol, if brackets act."""
        if self.action is not None:
            return None
        assert self.direction is not None, "`follow` says which symbols are brackets"
        action = torch.where(self.direction > 0, PUSH, torch.where(self.direction < 0, POP, NOOP))  # (symbols,)
        certain = F.one_hot(action, 3).to(self.readout.weight.dtype)[piece.T]  # (part, batch, 3)
        return certain[:, :, None].expand(-1, -1, self.stacks, -1).unbind(0)  # a step (batch, stacks, 3)

    def acted(
        self, stack: Stack, heads: Float[Tensor, "batch both"], visible: Float[Tensor, "batch stacks 3"] | None
    ) -> Stack:
        """The stacks after this step, from what is pushed and the logits of the actions."""
        cells = self.stacks * self.width
        pushed = heads[:, :cells].unflatten(1, (self.stacks, self.width))  # (batch, stacks, width)
        pushed = self.hook_push(pushed.sigmoid() if self.squashed else pushed)
        if visible is not None:
            return stack.act(self.hook_action(visible), pushed)
        logits = self.hook_action(heads[:, cells:].unflatten(1, (self.stacks, 3)))  # (batch, stacks, 3)
        return stack.act(logits.softmax(-1) if self.is_soft else logits, pushed)
