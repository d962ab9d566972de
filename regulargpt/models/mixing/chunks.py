"""One chunked algorithm for every state that is a matrix: the words of a chunk at once, the state from chunk to chunk.

S_t = (decay) S_{t-1} - (erase) + k_t v_t^T, o_t = S_t^T q_t. Within a chunk, c_t is the sum of the log decays up to t
(c <= 0, so nothing overflows), and D_ts = exp(c_t - c_s) for s <= t, else 0.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def decays(c: Float[Tensor, "*rows chunk"]) -> Float[Tensor, "*rows chunk chunk"]:
    """D: what is left at t (rows) of what came at s (columns).

    >>> decays(torch.tensor([0.0, -1.0]))
    tensor([[1.0000, 0.0000],
            [0.3679, 1.0000]])
    """
    apart = c[..., :, None] - c[..., None, :]
    later = torch.ones(apart.shape[-2:], dtype=torch.bool, device=c.device).triu(1)
    # Masked before exp: after it, inf * 0 would be NaN in the gradient.
    return apart.masked_fill(later, -torch.inf).exp()


def gated(
    q: Float[Tensor, "*rows chunk K"],
    k: Float[Tensor, "*rows chunk K"],
    v: Float[Tensor, "*rows chunk V"],
    log_decay: Float[Tensor, "*rows chunk #K"],
    state: Float[Tensor, "*rows K V"],
) -> tuple[Float[Tensor, "*rows chunk V"], Float[Tensor, "*rows K V"]]:
    """As `additive`, with a decay for each channel of the keys, or one: the fastest where decays depend on the symbol.

    D_ts is e^{c_t - m} e^{m - c_s} in each channel, with m half of c_C: both factors stay within e^{+-|m|}. So |c_C|
    has to stay below `WIDEST`.
    """
    c = log_decay.cumsum(-2)
    middle = c[..., -1:, :] / 2
    q, k, half = q * (c - middle).exp(), k * (middle - c).exp(), middle.mT.exp()  # half: (*rows, K or 1, 1)
    state = half * state
    return (q @ k.mT).tril() @ v + q @ state, half * (k.mT @ v + state)


WIDEST = 80.0
"""The product of two factors, e^80, is still a number of single precision."""


def additive(
    q: Float[Tensor, "*rows chunk K"],
    k: Float[Tensor, "*rows chunk K"],
    v: Float[Tensor, "*rows chunk V"],
    log_decay: Float[Tensor, "*#rows chunk"],
    state: Float[Tensor, "*rows K V"],
) -> tuple[Float[Tensor, "*rows chunk V"], Float[Tensor, "*rows K V"]]:
    """S <- exp(log_decay) S + k v^T, o = S^T q, over a chunk: o, and S after it.

    O = (Q K^T o D) V + (Q e^c) S_0 and S_C = e^{c_C} S_0 + (K e^{c_C - c})^T V.
    """
    c = log_decay.cumsum(-1)
    o = (q @ k.transpose(-1, -2) * decays(c)) @ v + (q * c.exp()[..., None]) @ state
    left = (c[..., -1:] - c).exp()[..., None]  # (*rows, chunk, 1)
    return o, c[..., -1:, None].exp() * state + (k * left).transpose(-1, -2) @ v
