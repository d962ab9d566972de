"""PaTH: positions as products of Householder matrices that the symbols make (Yang et al. 2025)."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.encodings.base import Encoding, Keys, Logits, Positions, Queries
from regulargpt.encodings.forgetting import faded
from regulargpt.encodings.options import PathOptions

RANK, SIZE, EPS = 32, 3, 1e-6
CHUNK = 64
"""Keys whose product is one triangular system."""


class PaTH(Encoding):
    """q_m^T H_m H_{m-1} ... H_{n+1} k_n / sqrt(d_head) in place of q_m^T k_n / sqrt(d_head), in each head.

    H_l = I - beta_l w_l w_l^T: what is read between n and m moves the key on its way. w_l is SiLU(conv(U V x)), divided
    by its length (eps 1e-6 beside its square), of a map of rank 32 and a causal convolution over 3 symbols, each
    channel by itself. beta_l = 2 sigmoid(a x_l + b), between 0 and 2. x is what the attention reads; all is learned
    per layer. With `gate` symbols fade, too: `Forgetting`, with weights g and c.

    With such products attention tracks states: a reflection (beta = 2) flips a sign, which is parity.

    Raises `UserError` in a model that is not causal.

    >>> encoding = PaTH(d_model=4, n_heads=2)
    >>> encoding.prepare(torch.zeros(1, 3, 4), 0)[0, 0]  # w of a head, then beta
    tensor([[0., 0., 1.],
            [0., 0., 1.]], grad_fn=<SelectBackward0>)
    """

    Options = PathOptions
    down: nn.Parameter  # V, (n_layers, 32, d_model)
    up: nn.Parameter  # U, (n_layers, n_heads * d_head, 32)
    conv: nn.Parameter  # (n_layers, n_heads * d_head, 3)
    weight: nn.Parameter  # a, then g, (n_layers, n_heads or twice as many, d_model)
    offset: nn.Parameter  # b, then c, (n_layers, n_heads or twice as many)

    def __init__(self, *, gate: bool = False, **sizes: Any):
        self.gate = gate
        super().__init__(**sizes)

    def draw(self, generator: torch.Generator) -> None:
        inner, numbers = self.n_heads * self.d_head, self.n_heads * (1 + self.gate)

        def normal(n_out: int, n_in: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(self.n_layers, n_out, n_in, generator=generator) * n_in**-0.5)

        self.down, self.up = normal(RANK, self.d_model), normal(inner, RANK)
        taps = torch.empty(self.n_layers, inner, SIZE).uniform_(-(SIZE**-0.5), SIZE**-0.5, generator=generator)
        self.conv, self.weight = nn.Parameter(taps), normal(numbers, self.d_model)
        self.offset = nn.Parameter(torch.zeros(self.n_layers, numbers))

    @property
    def reach(self) -> int:
        return SIZE - 1

    def prepare(self, x: Float[Tensor, "batch length d_model"], layer: int) -> Float[Tensor, "batch length n_heads s"]:
        """w and beta of each head, and the logarithm of its gate if any."""
        u = F.linear(F.linear(x, self.down[layer]), self.up[layer]).transpose(1, 2)  # (batch, inner, length)
        u = F.conv1d(F.pad(u, (SIZE - 1, 0)), self.conv[layer][:, None], groups=u.shape[1])
        precise = torch.promote_types(x.dtype, torch.float32)
        w = F.silu(u).transpose(1, 2).unflatten(-1, (self.n_heads, -1)).to(precise)  # (batch, length, n_heads, d_head)
        numbers = F.linear(x, self.weight[layer], self.offset[layer]).to(precise)
        beta, *gates = numbers.unflatten(-1, (-1, self.n_heads, 1)).unbind(-3)  # each (batch, length, n_heads, 1)
        w = w * (w.square().sum(-1, keepdim=True) + EPS).rsqrt()
        return torch.cat([w, 2 * beta.sigmoid(), *map(F.logsigmoid, gates)], -1)

    def score(self, logits: Logits, q: Queries, k: Keys, at: Positions) -> Logits:
        assert at.state is not None
        state = at.state.transpose(1, 2)  # (batch, n_heads, keys, s)
        w, beta = state[..., : self.d_head], state[..., self.d_head :][..., :1]
        q, k = (q / math.sqrt(self.d_head)).to(w.dtype), k.to(w.dtype)
        return transported(q, k, w, beta * w).to(logits.dtype)

    def bias(self, q: Queries, k: Keys, at: Positions) -> Logits | None:
        return faded(at.state[..., -1], len(at.m)) if self.gate and at.state is not None else None


def transported(
    q: Float[Tensor, "*rows queries d"],
    k: Float[Tensor, "*rows keys d"],
    w: Float[Tensor, "*rows keys d"],
    bw: Float[Tensor, "*rows keys d"],
) -> Float[Tensor, "*rows queries keys"]:
    """q_m^T H_m ... H_{n+1} k_n for all pairs, H_l = I - w_l bw_l^T; the queries are the last of the keys.

    Within a chunk X = (I + lower(bw w^T))^-1 lower(bw k^T), both below the diagonal, and the products are
    q k^T - lower(q w^T) X, with the diagonal. Queries go back from chunk to chunk, to keys that stand at its end.

    >>> w = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> transported(w[1:] + w[:1], w, w, 2 * w)
    tensor([[1., 1.]])
    """
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    size = min(CHUNK, n_keys)
    n_rows = min(size, n_queries)
    q, (k, w, bw) = chunks(q, n_rows), (chunks(x, size) for x in (k, w, bw))
    right = torch.cat([(bw @ k.mT).tril(-1), bw], -1)  # (*rows, chunks, size, size + d)
    solved = torch.linalg.solve_triangular(bw @ w.mT, right, upper=False, unitriangular=True)
    X, U = solved[..., :size], solved[..., size:]
    own, count = q.shape[-3], k.shape[-3]
    last = slice(count - own, None)
    qw = (q @ w[..., last, :, :].mT).tril(size - n_rows)
    near = q @ k[..., last, :, :].mT - qw @ X[..., last, :, :]  # (*rows, own, n_rows, size)
    q, k = q - qw @ U[..., last, :, :], k - X.mT @ w
    blocks = [[part] for part in near.unbind(-3)]
    for apart in range(1, count):
        first = max(0, apart - (count - own))  # chunks of queries before it have no keys so far back
        q, some = q[..., first - own :, :, :], slice(count - own + first - apart, count - apart)
        for parts, part in zip(blocks[first:], (q @ k[..., some, :, :].mT).unbind(-3), strict=True):
            parts.insert(0, part)
        q = q - (q @ w[..., some, :, :].mT) @ U[..., some, :, :]
    wide = [F.pad(torch.cat(parts, -1), (0, (count - len(parts)) * size)) for parts in blocks]
    return torch.cat(wide, -2)[..., -n_queries:, -n_keys:]


def chunks(x: Float[Tensor, "*rows length d"], size: int) -> Float[Tensor, "*rows chunks size d"]:
    """Cut into chunks, from the end; before the first row there are zeros."""
    return F.pad(x, (0, 0, -x.shape[-2] % size, 0)).unflatten(-2, (-1, size))  # (*rows, chunks, size, d)
