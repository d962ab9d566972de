"""Relative positions of Transformer-XL (Dai et al. 2019, section 3.3 and appendix B)."""

import math
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from regulargpt.encodings.base import Encoding, Keys, Logits, Positions, Queries
from regulargpt.encodings.options import TransformerXLOptions
from regulargpt.encodings.sinusoidal import sinusoid


def relative_shift(
    scores: Shaped[Tensor, "*rows queries columns"], n_keys: int
) -> Shaped[Tensor, "*rows queries keys"]:
    """From (query, distance) to (query, key), where column c of `scores` is the distance n_keys - 1 - c.

    Row i of the result is row i of `scores` from column queries - 1 - i on, so it begins columns - 1 elements
    behind row i - 1 in memory: a view suffices. Needs columns > n_keys; what runs over a row's end is left
    unspecified.

    >>> distance = torch.tensor([2, 1, 0, -1, -2, -3]).expand(3, 6)
    >>> relative_shift(distance, n_keys=3)
    tensor([[ 0, -1, -2],
            [ 1,  0, -1],
            [ 2,  1,  0]])
    """
    n_queries, columns = scores.shape[-2:]
    first = n_queries - 1
    rows = scores.flatten(-2)[..., first : first + n_queries * (columns - 1)]  # (*rows, queries * (columns - 1))
    return rows.unflatten(-1, (n_queries, columns - 1))[..., :n_keys]  # (*rows, queries, keys)


def consecutive(at: Positions) -> bool:
    """Whether the keys follow one another without a gap, and the queries are the last of them.

    >>> n = torch.arange(4.0)
    >>> consecutive(Positions(n[2:], n)), consecutive(Positions(2 * n, 2 * n))
    (True, False)
    """
    first, last = at.n[0], at.n[-1]
    apart = torch.stack([last - first - len(at.n), at.m[-1] - at.m[0] - len(at.m), at.m[-1] - last])
    return apart.tolist() == [-1, -1, 0]


class TransformerXL(Encoding):
    """The logits (q_m + u) k_n + (q_m + v) W_R R_{m-n}: content and distance, each with a bias of its own.

    R is sinusoidal and not learned; W_R, u and v are learned, per layer (as in the baselines of Deletang et
    al. 2023). In a causal model only the distances from 0 on are computed. Distances above `clamp`, if it is not 0,
    count as `clamp`.

    >>> from regulargpt.encodings.base import consecutive
    >>> encoding = TransformerXL(d_model=8, n_heads=2, causal=False)
    >>> q = torch.ones(1, 2, 5, 4)
    >>> encoding.bias(q, q, consecutive(q, q)).shape, sum(p.numel() for p in encoding.parameters())
    (torch.Size([1, 2, 5, 5]), 80)
    """

    Options = TransformerXLOptions
    weight: nn.Parameter  # W_R, (n_layers, d_model, n_heads * d_head)
    u: nn.Parameter  # (n_layers, n_heads, d_head)
    v: nn.Parameter  # (n_layers, n_heads, d_head)

    def __init__(self, *, clamp: int = 0, **sizes: Any):
        self.clamp = clamp
        super().__init__(**sizes)

    def draw(self, generator: torch.Generator) -> None:

        def normal(std: float, *shape: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(self.n_layers, *shape, generator=generator) * std)

        self.weight = normal(self.d_model**-0.5, self.d_model, self.n_heads * self.d_head)
        self.u = normal(0.02, self.n_heads, self.d_head)
        self.v = normal(0.02, self.n_heads, self.d_head)
        self.table = torch.empty(0, self.d_model, dtype=torch.float64)

    def rotate(self, q: Queries, k: Keys, at: Positions) -> tuple[Queries, Keys]:
        """q_m + u and k_n, whose product is the content's part of the logits."""
        return q + self.u[at.layer, :, None], k

    def bias(self, q: Queries, k: Keys, at: Positions) -> Logits:
        """(q_m + v) W_R R_{m-n}, scaled as the product that it is added to; q as `rotate` left it, q_m + u."""
        highest, lowest = int(at.m[-1] - at.n[0]), int(at.m[0] - at.n[-1])
        lowest = 0 if self.causal else lowest
        r = self.keys_of_distances(highest, lowest - 1, at.layer)
        # q comes with u in it, for the content's part; this part has v instead.
        shifted = q + (self.v[at.layer] - self.u[at.layer])[:, None]
        scores = shifted @ r.mT  # (batch, n_heads, queries, columns)
        if consecutive(at):
            return relative_shift(scores, len(at.n))
        column = highest - at.distances.clamp(min=lowest).long()
        return scores.gather(-1, column.expand(*scores.shape[:2], -1, -1))  # (batch, n_heads, queries, keys)

    def keys_of_distances(self, highest: int, lowest: int, layer: int) -> Float[Tensor, "n_heads columns d_head"]:
        """W_R R_d / sqrt(d_head) for the distances d = highest, highest - 1, ..., lowest."""
        scale = 1 / math.sqrt(self.d_head)
        r = self.sinusoids(highest, lowest).to(self.weight.dtype) @ (
            self.weight[layer] * scale
        )  # (columns, n_heads * d_head)
        return r.unflatten(-1, (self.n_heads, self.d_head)).transpose(0, 1)  # (n_heads, columns, d_head)

    def sinusoids(self, highest: int, lowest: int) -> Float[Tensor, "columns d_model"]:
        """R_d in float64; a table of a power of two of distances on either side is kept from call to call."""
        size = 1 << max(highest, -lowest - 1).bit_length()
        if len(self.table) < 2 * size or self.table.device != self.weight.device:
            # A tensor made in inference mode could not be used in training later.
            with torch.inference_mode(False):
                d = torch.arange(size - 1, -size - 1, -1, dtype=torch.float64, device=self.weight.device)
                self.table = sinusoid(d, self.d_model)
        zero = len(self.table) // 2 - 1
        if self.clamp:
            d = torch.arange(highest, lowest - 1, -1, device=self.table.device).clamp(-self.clamp, self.clamp)
            return self.table[zero - d]
        return self.table[zero - highest : zero - lowest + 1]
