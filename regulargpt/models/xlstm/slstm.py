"""sLSTM: numbers with exponential gates, which read what came out the symbol before."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.mixing.layers import Draw, ShortConvolution
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.xlstm.fused import Fused
from regulargpt.models.xlstm.mlstm import HeadNorm

EMPTY = -64.0
"""log n at the start. The paper has n = 0; this is 1.6e-28, of which no float keeps a trace once a symbol is read."""


class SlstmMixer(Mixer):
    """sLSTM (Beck et al. 2024, equations 8 to 17), with the layer around it of its authors' code.

    i~, f~, z~, o~ = W x + R h_{t-1} + b, with a block of R for each gate and head; i~ and f~ read SiLU(conv(x)) where
    there is a convolution. The paper's

        c_t = f c_{t-1} + i z,  n_t = f n_{t-1} + i,  h_t = o c_t / n_t,  i = exp(i~), f = s(f~), z = tanh(z~), o = s(o~)

    with s the sigmoid, and its scale m, are carried as three vectors: h, a = c / n and l = log n, n without the scale
    (log n + m of the paper's). With w = i / n_t, the weight of the new in the mean a, that is

        w = s(i~ - log f - l_{t-1}),  a_t = a_{t-1} + w (z - a_{t-1}),  l_t = log(exp(log f + l_{t-1}) + exp(i~)),
        h_t = o a_t

    So |h| < 1, |a| < 1, and l is near what i~ has lately been; nothing overflows. out = norm(h), a LayerNorm a head. The
    state is h, a, l, in this order, (d_model,) each; it starts at h = 0, a = 0, l = -64.

    >>> mixer = SlstmMixer(8, 2, 0, Draw("fan-in", torch.Generator().manual_seed(0)))
    >>> y, (state, before) = mixer(torch.ones(1, 3, 8), None, "all")
    >>> y.shape, [tuple(part.shape) for part in state]
    (torch.Size([1, 3, 8]), [(1, 8), (1, 8), (1, 8)])
    """

    def __init__(self, d_model: int, n_heads: int, conv: int, draw: Draw, depth: float = 0.0):
        """`depth` is how deep the block lies, from 0 to 1: the deeper, the more units begin by forgetting little."""
        super().__init__()
        size, generator = d_model // n_heads, draw.generator
        self.conv = ShortConvolution(d_model, conv, generator, bias=True) if conv else None
        self.w = draw(d_model, 4 * d_model, bias=True)
        self.r = nn.Parameter(torch.zeros(4, n_heads, size, size))
        places = torch.arange(size) / max(1, size - 1)
        with torch.no_grad():
            forget = self.w.bias[d_model : 2 * d_model].unflatten(0, (n_heads, size))  # (H, P)
            forget.copy_(5.0 - 12.0 * places ** (0.3 + 1.3 * depth))
        self.head_norm = HeadNorm(d_model)

    def start(self, batch: int) -> tuple[State, Any]:
        zeros = self.head_norm.weight.new_zeros(batch, len(self.head_norm.weight))
        return (zeros, zeros, zeros + EMPTY), None if self.conv is None else self.conv.start(batch)

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        if self.conv is None:
            return (self.w(x),), None
        c, after = self.conv(x, before)
        halves = zip((c, x), self.w.weight.chunk(2), self.w.bias.chunk(2), strict=True)
        return (torch.cat([F.linear(*half) for half in halves], -1),), after  # (batch, length, 4 * d_model)

    def step(self, state: State, at: Inputs) -> State:
        (h, a, l), (x,) = state, at
        heads = h.unflatten(1, self.r.shape[1::2])  # (batch, H, P)
        hidden = torch.einsum("bhp,ghop->bgho", heads, self.r).flatten(1)  # (batch, 4 * d_model)
        i, f, z, o = (x + hidden).chunk(4, 1)
        kept = F.logsigmoid(f) + l
        a = a + (i - kept).sigmoid() * (z.tanh() - a)
        return o.sigmoid() * a, a, torch.logaddexp(kept, i)

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch d_model"]:
        return state[0]

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length d_model"], State]:
        """The same loop, with its own gradient."""
        h, *after = Fused.apply(inputs[0], self.matrix(), *state)
        return h, (h[:, -1], *after)

    def matrix(self) -> Float[Tensor, "gates_d d_model"]:
        """R as one matrix, zero between heads: for up to some hundred units that is faster than one product a head."""
        heads = torch.eye(self.r.shape[1]).to(self.r)
        blocks = self.r[:, :, :, None] * heads[:, None, :, None]  # (4, H, P, H, P)
        return blocks.flatten(3).flatten(0, 2)  # (4 * d_model, d_model)

    def output(
        self, o: Float[Tensor, "batch read d_model"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        return self.head_norm(o.unflatten(-1, self.r.shape[1::2]))  # of (batch, read, H, P)
