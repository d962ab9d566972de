"""Prototypes that a network is to be trained towards, moved apart where they are too close to be told from each other.

Where a network still takes one element for another, the means of their states lie at nearly one place: training towards
them would keep it so.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.certificate.search.codebook import Codebook
from regulargpt.certificate.tuning.mending import before
from regulargpt.finite.float64_network import Float64Network
from regulargpt.training.optimisers import Adam

# The smallest distance that is wanted, in units of sqrt(d_model): the norm of a state without gain and bias.
SEPARATION = 0.6
STEPS, RATE = 300, 0.05
# Two at the very same place would never part.
JITTER = 1e-3


def separated(network: Float64Network, book: Codebook) -> Codebook:
    """The codebook with prototypes about `SEPARATION` sqrt(d_model) from each other; those that are so already stay.

    They remain what the state norm can give.

    >>> import numpy as np
    >>> from regulargpt.models.regulargpt import RegularGPT
    >>> network = Float64Network(RegularGPT(2, 2, d_model=16, n_heads=2, d_ff=32))
    >>> states = network.over_symbols(np.array([[1, 0], [1, 0], [2, 1]]))
    >>> torch.pdist(separated(network, Codebook(states, np.arange(3))).prototypes).min().item() > 0.95 * SEPARATION * 4
    True
    """
    prototypes, norm = book.prototypes, network.model.state_norm
    least = SEPARATION * prototypes.shape[1] ** 0.5
    jitter = torch.empty_like(prototypes).normal_(generator=torch.Generator().manual_seed(0))
    moved = (prototypes + JITTER * jitter).requires_grad_()
    optimiser = Adam([moved], lr=RATE)
    for _ in range(STEPS):
        # Through the norm, so that what is pushed apart is what a state can be.
        (gradient,) = torch.autograd.grad(shortfall(least, project(norm, moved)), moved)
        moved.grad = gradient
        optimiser.step()
    return Codebook(project(norm, moved).detach(), book.elements)


def shortfall(least: float, states: Float[Tensor, "K d_model"]) -> Float[Tensor, ""]:
    """How far pairs fall short of a distance, squared."""
    return (least - torch.pdist(states)).clamp(min=0).square().sum()


def project(norm: nn.Module, states: Float[Tensor, "K d_model"]) -> Float[Tensor, "K d_model"]:
    """The states that the state norm can give, near these."""
    if not isinstance(norm, nn.LayerNorm):
        return states
    gain, bias = norm.weight.detach(), norm.bias.detach()
    return F.layer_norm(before(norm, states), norm.normalized_shape, gain, bias, norm.eps)
