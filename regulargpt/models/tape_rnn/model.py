"""The Tape-RNN of Deletang et al. 2023: a network that reads and writes on tapes, with jumps as long as the word."""

from __future__ import annotations

from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.base import Model
from regulargpt.models.hooks import HookPoint
from regulargpt.models.layers import Readout, check_words, linear, select
from regulargpt.models.tape_rnn.tape import Distances, Moved, as_one

HIDDEN = 64
"""Units in each of the two layers that make what is written."""
STAY, LEFT, RIGHT, JUMP_LEFT, JUMP_RIGHT = range(5)


class TapeRnn(Model):
    """A controller that reads the cells under its heads beside each symbol, writes there, and moves the tapes.

        r = the cells read, side by side      h' = ReLU(W_x [one-hot(x); r] + b_x + W_h h + b_h); h = 0 at first
        w = MLP(h'), two layers of 64 units with ReLU, is written on each tape, whatever its action
        softmax(W_a h' + b_a) are the actions of each tape: stay, left, right, jump n left, jump n right
        logits = W_y h' + b_y

    All actions are taken in superposition, by their weights. A tape is a ring of as many cells as the word has
    symbols. n is the length of the word before the answer: the place of the first symbol of the highest number, which
    stands for "nothing more to read"; of a word without it, its whole length. So the network is told this length with
    the first symbol. The paper says that jumps do not write; the published code has them write, as here.

    >>> model = TapeRnn(3, 2, d_model=8)
    >>> model(torch.tensor([[0, 1, 2, 2]]), readout="all").shape
    torch.Size([1, 4, 2])
    """

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        d_model: int = 64,
        tape_width: int = 8,
        tapes: int = 1,
        generator: torch.Generator | None = None,
    ):
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.n_symbols, self.d_model, self.width, self.tapes = n_symbols, d_model, tape_width, tapes
        self.input = linear(n_symbols + tapes * tape_width, d_model, generator)
        self.recurrent = linear(d_model, d_model, generator)
        sizes = (d_model, HIDDEN, HIDDEN, tapes * tape_width)
        first, second, last = (linear(*size, generator) for size in pairwise(sizes))
        self.write = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), last)
        self.action = linear(d_model, 5 * tapes, generator)
        self.readout = linear(d_model, n_outputs, generator)
        self.hook_embed, self.hook_read, self.hook_state = HookPoint(), HookPoint(), HookPoint()
        self.hook_write, self.hook_action, self.hook_output = HookPoint(), HookPoint(), HookPoint()

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        check_words(words, readout)
        return self.readout(select(self.hook_output(self.states(words)), readout))

    def states(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length d_model"]:
        """The state after each symbol."""
        batch, length = words.shape
        x = self.hook_embed(F.one_hot(words.long(), self.n_symbols).to(self.readout.weight.dtype))
        of_symbol, of_cell = self.input.weight.split([self.n_symbols, self.tapes * self.width], 1)
        sums = F.linear(x.transpose(0, 1), of_symbol, self.input.bias + self.recurrent.bias)  # (length, batch, d_model)
        cells = x.new_zeros(batch * self.tapes, length, self.width)
        h, seen, by = x.new_zeros(batch, self.d_model), [], self.distances(words)
        for of_x in sums.unbind(0):
            read = self.hook_read(cells[:, 0].reshape(batch, -1))  # (batch, tapes * width)
            h = torch.addmm(torch.addmm(of_x, read, of_cell.T), h, self.recurrent.weight.T).relu()
            h = self.hook_state(h)
            written = self.hook_write(self.write(h)).unflatten(1, (self.tapes, self.width))  # (batch, tapes, width)
            actions = self.hook_action(self.action(h).unflatten(1, (self.tapes, 5)).softmax(-1))  # (batch, tapes, 5)
            cells = Moved.apply(cells, actions.flatten(0, 1), written.flatten(0, 1), by)  # (batch * tapes, ...)
            seen.append(h)
        return torch.stack(seen, 1)  # (batch, length, d_model)

    def distances(self, words: Int[Tensor, "batch length"]) -> Distances:
        """How far each action moves: left brings what was on the right of the head under it."""
        is_empty = F.pad(words == self.n_symbols - 1, (0, 1), value=True)
        n = as_one(is_empty.int().argmax(1).repeat_interleave(self.tapes))  # (batch * tapes,)
        return 0, 1, -1, n, -n
