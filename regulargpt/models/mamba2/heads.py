"""What both mixers of mamba2 have: heads, and a state that is computed a chunk at a time."""

from __future__ import annotations

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.models.mixing.mixer import Inputs, Mixer, State

CHUNK = 64
"""Symbols of a word that are computed at once: on a CPU words of 40 are fastest as one chunk."""


class Heads(Mixer):
    """A mixer whose state is S, (batch, heads, N, P); `chunk` says what a chunk of symbols makes of it."""

    def __init__(self, d_model: int, n_heads: int, d_state: int, expand: int):
        super().__init__()
        self.E, self.n_heads, self.N = expand * d_model, n_heads, d_state

    def zeros(self, like: Float[Tensor, "..."], batch: int) -> Float[Tensor, "batch heads N P"]:
        """S before the first symbol."""
        return like.new_zeros(batch, self.n_heads, self.N, self.E // self.n_heads)

    @abstractmethod
    def chunk(
        self, inputs: Inputs, S: Float[Tensor, "batch heads N P"]
    ) -> tuple[Float[Tensor, "batch heads chunk P"], Float[Tensor, "batch heads N P"]]:
        """What is read at each of these symbols, and S after them; of `inputs` each (batch, heads, chunk, ...)."""

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch heads P"]:
        """S^T q; q are the first of the inputs."""
        return (at[0][..., None, :] @ state[0])[..., 0, :]

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length heads P"], State]:
        (S,), found = state, []
        for part in zip(*(x.split(CHUNK, 1) for x in inputs), strict=True):
            o, S = self.chunk(tuple(x.transpose(1, 2) for x in part), S)
            found.append(o.transpose(1, 2))  # (batch, chunk, heads, P)
        return torch.cat(found, 1), (S,)
