"""The Elman RNN baseline (Elman 1990), with the ReLU of the published baseline (Deletang et al. 2023)."""

from typing import ClassVar

from torch import Tensor, nn

from regulargpt.models.recurrent import TorchRecurrent


class Rnn(TorchRecurrent):
    """h_t = ReLU(W_x x_t + W_h h_{t-1} + b).

    >>> import torch
    >>> model = Rnn(2, 3, d_model=8)
    >>> model(torch.tensor([[0, 1, 1]])).shape
    torch.Size([1, 3])
    """

    cell = nn.RNN
    options: ClassVar = {"nonlinearity": "relu"}

    def cell_step(self, at: nn.Module, x: Tensor, hidden: Tensor, before: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (at("h", (x + hidden).relu()),)
