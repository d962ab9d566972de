"""The Elman RNN baseline (Elman 1990), with the ReLU of the published baseline (Deletang et al. 2023) or with tanh."""

from typing import Any

import torch
from torch import Tensor, nn

from regulargpt.models.recurrent import TorchRecurrent


class Rnn(TorchRecurrent):
    """h_t = f(W_x x_t + W_h h_{t-1} + b), where f is ReLU or tanh.

    >>> model = Rnn(2, 3, d_model=8, activation="tanh")
    >>> model(torch.tensor([[0, 1, 1]])).shape
    torch.Size([1, 3])
    """

    cell = nn.RNN

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        d_model: int = 256,
        n_layers: int = 1,
        activation: str = "relu",
        generator: torch.Generator | None = None,
    ):
        sizes: dict[str, Any] = {"d_model": d_model, "n_layers": n_layers}
        super().__init__(n_symbols, n_outputs, **sizes, generator=generator, nonlinearity=activation)

    def cell_step(self, at: nn.Module, x: Tensor, hidden: Tensor, before: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        sums = x + hidden
        return (at("h", sums.relu() if self.rnn.nonlinearity == "relu" else sums.tanh()),)
