"""The GRU baseline (Cho et al. 2014)."""

from typing import ClassVar

from torch import Tensor, nn

from regulargpt.models.recurrent import TorchRecurrent


class Gru(TorchRecurrent):
    """Gated recurrent unit, the reset gate after the product (torch's and cuDNN's variant).

    >>> import torch
    >>> model = Gru(2, 3, d_model=8)
    >>> model(torch.tensor([[0, 1, 1]])).shape
    torch.Size([1, 3])
    """

    cell = nn.GRU
    points: ClassVar = ("r", "z", "n", "h")

    def cell_step(self, at: nn.Module, x: Tensor, hidden: Tensor, before: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        (x_r, x_z, x_n), (h_r, h_z, h_n) = x.chunk(3, -1), hidden.chunk(3, -1)  # each (batch, d_model)
        r, z = at("r", (x_r + h_r).sigmoid()), at("z", (x_z + h_z).sigmoid())
        n = at("n", (x_n + r * h_n).tanh())
        return (at("h", (1 - z) * n + z * before[0]),)
