"""The relative bias of T5 (Raffel et al. 2020, section 2.1; section 3.4 of the thesis)."""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.encodings.base import Keys, Positions, Queries
from regulargpt.encodings.distance import DistanceEncoding
from regulargpt.encodings.options import PUBLISHED, T5Options, bucket_starts, reached

FARTHEST = 128


class T5(DistanceEncoding):
    """table[bucket(x), h] added to the logits, one table for all layers.

    Half of the buckets hold one distance each, the others grow with ln x up to `max_distance`. In a model that is not
    causal half of the buckets are for the keys behind the query. With scale="neox" the table is multiplied by
    sqrt(d_head).

    >>> encoding = T5(d_model=8, n_heads=2)
    >>> encoding.bucket(torch.tensor([[0.0, 15.0, 18.0, 19.0, 112.0, 113.0, 9999.0]]))
    tensor([[ 0, 15, 16, 17, 30, 31, 31]])
    """

    Options = T5Options
    weight: nn.Parameter  # (buckets, n_heads)

    def __init__(
        self,
        *,
        buckets: int = 32,
        max_distance: int = 0,
        scale: str = "neox",
        drawn: str = "xavier",
        train_len: int = 0,
        **sizes: Any,
    ):
        self.buckets, self.drawn = buckets, drawn
        super().__init__(**sizes)
        self.scale = math.sqrt(self.d_head) if scale == "neox" else 1.0
        self.side = buckets if self.causal else buckets // 2
        farthest = max_distance or reached(self.side, FARTHEST, train_len or PUBLISHED)
        self.starts = torch.tensor(bucket_starts(self.side, farthest), dtype=torch.float64)

    def draw(self, generator: torch.Generator) -> None:
        """N(0, 2/(buckets + H)) as the published code, N(0, 1), or N(0, 1/d_model) as `transformers` draws T5."""
        xavier = math.sqrt(2 / (self.buckets + self.n_heads))
        std = {"xavier": xavier, "normal": 1.0, "mesh": self.d_model**-0.5}[self.drawn]
        self.weight = nn.Parameter(std * torch.randn(self.buckets, self.n_heads, generator=generator))

    def bucket(self, distances: Float[Tensor, "queries keys"]) -> Int[Tensor, "queries keys"]:
        number = torch.bucketize(distances.abs(), self.starts.to(distances), right=True)
        return number if self.causal else number + self.side * (distances < 0)

    def bias(self, q: Queries, k: Keys, at: Positions) -> Float[Tensor, "1 n_heads queries keys"]:
        x = self.distances(q, at) * at.distances.sign().to(torch.promote_types(q.dtype, torch.float32))
        table = self.weight.to(x) * self.scale
        return F.embedding(self.bucket(x), table).permute(2, 0, 1)[None]  # (1, n_heads, queries, keys)
