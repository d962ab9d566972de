"""mLSTM: a matrix with exponential gates, which only symbols move, not the state itself."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.layers import EPS, Draw, ShortConvolution
from regulargpt.models.mixing.mixer import Inputs, Mixer, State

CHUNK = 64
"""Symbols that are computed at once."""
BLOCK = 4
"""Numbers of which q, k and v are made together."""


class HeadNorm(nn.Module):
    """LayerNorm a head, with a gain and without a bias.

    >>> HeadNorm(4)(torch.tensor([[[3.0, 1.0], [0.0, 0.0]]])).detach().round(decimals=3)
    tensor([[ 1., -1.,  0.,  0.]])
    """

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Float[Tensor, "*rows H K"]) -> Float[Tensor, "*rows width"]:
        return F.layer_norm(x, x.shape[-1:], eps=EPS).flatten(-2) * self.weight  # (*rows, H * K)


class MlstmMixer(Mixer):
    """mLSTM (Beck et al. 2024, equations 19 to 27), with the layer around it of its authors' code.

    u, z = W_up x; c = SiLU(conv(u)), or u without a convolution; q, k = block-diagonal maps of c, v a map of u, in
    blocks of 4; in each head, with K numbers, i~ and f~ from a linear layer of (q, k, v):

        m_t = max(log sigmoid(f~) + m_{t-1}, i~)
        C_t = exp(log sigmoid(f~) + m_{t-1} - m_t) C_{t-1} + exp(i~ - m_t) k v^T / sqrt(K)
        n_t = exp(log sigmoid(f~) + m_{t-1} - m_t) n_{t-1} + exp(i~ - m_t) k / sqrt(K)
        h_t = C_t^T q / max(|n_t . q|, exp(-m_t))

    out = W_down ((norm(h) + skip * c) * SiLU(z)), with a LayerNorm a head. The state is C (H, K, K), n (H, K) and m
    (H), in this order; it starts at 0, all of it. m is the scale of C and n: with m + a, C e^-a and n e^-a, h is the
    same. So m = 0 is as good a start as any, for C = 0 and n = 0.

    >>> mixer = MlstmMixer(8, 2, 4, Draw("fan-in", torch.Generator().manual_seed(0)))
    >>> y, (state, before) = mixer(torch.ones(1, 3, 8), None, "all")
    >>> y.shape, [tuple(part.shape) for part in state]
    (torch.Size([1, 3, 8]), [(1, 2, 8, 8), (1, 2, 8), (1, 2)])
    """

    def __init__(self, d_model: int, n_heads: int, conv: int, draw: Draw):
        super().__init__()
        self.n_heads, width, generator = n_heads, 2 * d_model, draw.generator
        self.up, self.down = draw(d_model, 2 * width), draw(width, d_model)
        self.conv = ShortConvolution(width, conv, generator, bias=True) if conv else None
        drawn = torch.empty(3, width, BLOCK).normal_(std=draw.std(BLOCK), generator=generator)
        self.q, self.k, self.v = (nn.Parameter(part.clone()) for part in drawn)
        self.gates = draw(3 * width, 2 * n_heads, bias=True)
        nn.init.zeros_(self.gates.weight)
        with torch.no_grad():
            self.gates.bias[:n_heads].normal_(std=0.1, generator=generator)
            self.gates.bias[n_heads:] = torch.linspace(3.0, 6.0, n_heads)
        self.head_norm, self.skip = HeadNorm(width), nn.Parameter(torch.ones(width))

    def start(self, batch: int) -> tuple[State, Any]:
        H, new = self.n_heads, self.skip.new_zeros
        K = len(self.skip) // H
        before = None if self.conv is None else self.conv.start(batch)
        return (new(batch, H, K, K), new(batch, H, K), new(batch, H)), before

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        u, z = self.up(x).chunk(2, -1)
        c, after = (u, None) if self.conv is None else self.conv(u, before)
        q, k, v = blockwise(c, self.q), blockwise(c, self.k), blockwise(u, self.v)
        i, f = self.gates(torch.cat([q, k, v], -1)).chunk(2, -1)  # (batch, length, H) each
        q, k, v = (part.unflatten(-1, (self.n_heads, -1)) for part in (q, k, v))  # (batch, length, H, K) each
        return (q, k * k.shape[-1] ** -0.5, v, i, F.logsigmoid(f), c, z), after

    def step(self, state: State, at: Inputs) -> State:
        (C, n, m), (_, k, v, i, log_f, *_) = state, at
        after = torch.maximum(log_f + m, i)
        kept, new = (log_f + m - after).exp()[..., None], (i - after).exp()[..., None] * k
        return kept[..., None] * C + new[..., None] * v[..., None, :], kept * n + new, after

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch H K"]:
        (C, n, m), q = state, at[0]
        size = torch.maximum((n * q).sum(-1).abs(), (-m).exp())
        return (C * q[..., None]).sum(-2) / size[..., None]

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length H K"], State]:
        """Chunks of the additive algorithm, each from the scale m of its symbols; n is another column of C."""
        outputs = []
        for piece in zip(*(part.transpose(1, 2).split(CHUNK, 2) for part in inputs[:5]), strict=True):
            h, state = chunk(piece, state, chunks.additive)
            outputs.append(h)
        return torch.cat(outputs, 2).transpose(1, 2), state  # (batch, length, H, K)

    def output(
        self, o: Float[Tensor, "batch read H K"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        *_, c, z = at
        return self.down((self.head_norm(o) + self.skip * c) * F.silu(z))


def chunk(inputs: Inputs, state: State, additive: Any) -> tuple[Float[Tensor, "batch H chunk K"], State]:
    """h in a chunk, from q, k, v (batch, H, chunk, K), i~ and log f (batch, H, chunk), and the state after it."""
    (q, k, v, i, log_f), (C, n, m) = inputs, state
    c = log_f.cumsum(-1)
    scale = c + torch.maximum(m[..., None], (i - c).cummax(-1).values)  # m_t
    kept = log_f + torch.cat([m[..., None], scale[..., :-1]], -1) - scale
    k, v = (i - scale).exp()[..., None] * k, F.pad(v, (0, 1), value=1.0)
    both, after = additive(q, k, v, kept, torch.cat([C, n[..., None]], -1))  # (batch, H, chunk, K + 1)
    h, size = both.split([both.shape[-1] - 1, 1], -1)
    h = h / torch.maximum(size.abs(), (-scale).exp()[..., None])
    return h, (after[..., :-1], after[..., -1], scale[..., -1])


def blockwise(x: Float[Tensor, "*rows width"], weight: Float[Tensor, "width block"]) -> Float[Tensor, "*rows width"]:
    """A matrix for each of the blocks of numbers, one below the other."""
    size = weight.shape[1]
    blocks, matrices = x.unflatten(-1, (-1, size)), weight.unflatten(0, (-1, size))  # (*rows, blocks, in); with out, in
    return torch.einsum("...bi,boi->...bo", blocks, matrices).flatten(-2)  # (*rows, width)
