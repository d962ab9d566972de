"""The LSTM baseline (Hochreiter and Schmidhuber 1997)."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from regulargpt.models.recurrent import TorchRecurrent


class Lstm(TorchRecurrent):
    """Long short-term memory; the forget gate starts open, with bias 1 (Jozefowicz et al. 2015).

    >>> model = Lstm(2, 3, d_model=8)
    >>> model(torch.tensor([[0, 1, 1]]), readout="all").shape
    torch.Size([1, 3, 3])
    """

    cell = nn.LSTM
    points: ClassVar = ("i", "f", "g", "o", "c", "h")
    parts: ClassVar = 2

    def draw(self, generator: torch.Generator) -> None:
        super().draw(generator)
        for name, p in self.rnn.named_parameters():
            if name.startswith("bias_ih"):
                nn.init.ones_(p.data[self.rnn.hidden_size : 2 * self.rnn.hidden_size])

    def cell_step(self, at: nn.Module, x: Tensor, hidden: Tensor, before: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        i, f, g, o = (x + hidden).chunk(4, -1)  # each (batch, d_model), as torch orders them
        c = at("c", at("f", f.sigmoid()) * before[1] + at("i", i.sigmoid()) * at("g", g.tanh()))
        return at("h", at("o", o.sigmoid()) * c.tanh()), c
