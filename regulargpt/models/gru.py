"""The GRU baseline (Cho et al. 2014)."""

from torch import nn

from regulargpt.models.recurrent import TorchRecurrent


class Gru(TorchRecurrent):
    """Gated recurrent unit, the reset gate after the product (torch's and cuDNN's variant).

    >>> import torch
    >>> model = Gru(2, 3, d_model=8)
    >>> model(torch.tensor([[0, 1, 1]])).shape
    torch.Size([1, 3])
    """

    cell = nn.GRU
