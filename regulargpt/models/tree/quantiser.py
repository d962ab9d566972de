"""The quantised network of a certificate: the state of every node above the symbols is replaced by the
nearest of finitely many."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

# So many states at once: beside each stand its distances to all prototypes.
ROWS = 1 << 13


class Quantiser(nn.Module):
    """Of each state the nearest prototype; without prototypes the states as they are.

    Source: theorem 1 of docs/certificate.md; the replacement itself, van den Oord et al. 2017 (VQ-VAE), equation 1.

    >>> quantiser = Quantiser()
    >>> quantiser(torch.tensor([[0.9, 0.2]])).tolist() == torch.tensor([[0.9, 0.2]]).tolist()
    True
    >>> quantiser.prototypes = torch.eye(2)
    >>> quantiser(torch.tensor([[0.9, 0.2], [0.1, 0.3]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    prototypes: Float[Tensor, "K d_model"] | None

    def __init__(self) -> None:
        super().__init__()
        # No part of the weights: it comes with a certificate.
        self.register_buffer("prototypes", None, persistent=False)

    def forward(self, states: Float[Tensor, "*nodes d_model"]) -> Float[Tensor, "*nodes d_model"]:
        if self.prototypes is None:
            return states
        prototypes = self.prototypes.double()
        half_lengths = prototypes.square().sum(1) / 2  # |z - p|^2 / 2 less what is the same for all p
        nearest = [
            (half_lengths - some.double() @ prototypes.T).argmin(1)  # (rows,)
            for some in states.flatten(0, -2).split(ROWS)
        ]
        return prototypes.to(states.dtype)[torch.cat(nearest)].view(states.shape)  # (*nodes, d_model)
