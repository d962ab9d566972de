"""Retention: linear attention with constant gates and rotary angles.

The angles turn queries and keys with their position in the word, and o depends on its differences alone. So the state
is turned back by one position at each symbol instead, and holds no position: R is orthogonal, and
(R^t q_t)^T R^s k_s = q_t^T R^{-(t - s)} k_s.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.encodings.rotary import BASE, rotate_halves
from regulargpt.models.gla.mixers import PerHead
from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.layers import Draw
from regulargpt.models.mixing.mixer import Inputs, State


class Retention(PerHead):
    """Linear attention with constant gates and rotary angles. Equations: `Gla`."""

    chunk = 64

    def sizes(self, width: int) -> tuple[int, int]:
        return width, 2 * width

    def decays(self, d_model: int, draw: Draw) -> None:
        """None are learned."""

    def log_decay(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length n_heads 1"]:
        log_decay = torch.log1p(-(2.0 ** -(5 + torch.arange(self.n_heads, dtype=torch.float64))))
        return log_decay.to(x)[:, None].expand(*x.shape[:2], -1, -1)  # (batch, length, n_heads, 1)

    def step(self, state: State, at: Inputs) -> State:
        return super().step((backwards(state[0], 1),), at)

    def chunked(
        self,
        q: Float[Tensor, "batch n_heads chunk K"],
        k: Float[Tensor, "batch n_heads chunk K"],
        v: Float[Tensor, "batch n_heads chunk V"],
        log_decay: Float[Tensor, "batch n_heads chunk 1"],
        S: Float[Tensor, "batch n_heads K V"],
    ) -> tuple[Float[Tensor, "batch n_heads chunk V"], Float[Tensor, "batch n_heads K V"]]:
        """Positions are those in the chunk, where the state is at 0. All words have the same gates: those of one do."""
        chunk = q.shape[-2]
        angle = torch.arange(1, chunk + 1, device=q.device)[:, None] * angles(q)  # (chunk, K / 2)
        o, S = chunks.additive(rotate_halves(q, angle), rotate_halves(k, angle), v, log_decay[:1, ..., 0], S)
        return o, backwards(S, chunk)


def angles(like: Float[Tensor, "*rows K"]) -> Float[Tensor, "pairs"]:
    """theta_i = 10000^(-2i/K)."""
    K = like.shape[-1]
    return BASE ** (-torch.arange(0, K, 2, dtype=torch.float64, device=like.device) / K)  # (K / 2,)


def backwards(S: Float[Tensor, "*rows K V"], positions: int) -> Float[Tensor, "*rows K V"]:
    """R^-positions S.

    >>> backwards(torch.tensor([[1.0], [0.0]]), 1).flatten()
    tensor([ 0.5403, -0.8415])
    """
    angle = -positions * angles(S.mT)
    return rotate_halves(S.mT, angle.expand(S.shape[-1], -1)).mT  # a row of angles for each of V
