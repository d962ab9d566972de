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

AS_ONE = 128
"""Units up to which the heads are multiplied at once."""


class SlstmMixer(Mixer):
    """sLSTM (Beck et al. 2024, equations 8 to 17), with the layer around it of its authors' code.

    i~, f~, z~, o~ = W x + R h_{t-1} + b, with a block of R for each gate and head; i~ and f~ read SiLU(conv(x)) where
    there is a convolution. With s the sigmoid, i = exp(i~), f = s(f~), z = tanh(z~), o = s(o~), the paper's cell is

        c_t = f c_{t-1} + i z,  n_t = f n_{t-1} + i,  h_t = o c_t / n_t

    It is carried without a scale m, as h, a = c / n and log n, which is log n + m where n has the scale:

        w = s(i~ - log f - log n_{t-1}),  a_t = a_{t-1} + w (z - a_{t-1}),
        log n_t = log(exp(log f + log n_{t-1}) + exp(i~)),  h_t = o a_t

    w = i / n_t is the weight of the new in the mean a. So |h| < 1 and |a| < 1, and nothing overflows. out = norm(h), a
    LayerNorm a head. The state is h, a, log n, in this order, (d_model,) each; it starts at 0, 0 and -64.

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
        self.r = nn.Parameter(torch.zeros(4 * d_model, size))  # rows by gate, then head
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
        (h, a, log_n), (x,) = state, at
        blocks = self.blocks()
        heads = h.unflatten(1, blocks.shape[1:3])  # (batch, H, P)
        hidden = torch.einsum("bhp,ghop->bgho", heads, blocks).flatten(1)  # (batch, 4 * d_model)
        i, f, z, o = (x + hidden).chunk(4, 1)
        kept = F.logsigmoid(f) + log_n
        a = a + (i - kept).sigmoid() * (z.tanh() - a)
        return o.sigmoid() * a, a, torch.logaddexp(kept, i)

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch d_model"]:
        return state[0]

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length d_model"], State]:
        """The same loop, with its own gradient, the heads in front."""
        R = self.matrices()
        groups = (len(R), R.shape[1])
        x = inputs[0].unflatten(2, (4, *groups)).permute(1, 3, 0, 2, 4).flatten(3)  # (length, G, batch, 4 * P)
        h, *after = Fused.apply(x, R, *(part.unflatten(1, groups).transpose(0, 1) for part in state))  # (G, batch, ...)
        h = h.permute(2, 0, 1, 3).flatten(2)  # (batch, length, d_model)
        return h, (h[:, -1], *(part.transpose(0, 1).flatten(1) for part in after))  # (batch, d_model)

    def blocks(self) -> Float[Tensor, "4 H out in"]:
        """R of each gate and head."""
        size = self.r.shape[1]
        return self.r.unflatten(0, (4, -1, size))  # (gates, H, P, P)

    def whole(self) -> Float[Tensor, "gates_d d_model"]:
        """R as one matrix, with zeros between the heads."""
        blocks = self.blocks()
        heads = torch.eye(blocks.shape[1], dtype=blocks.dtype, device=blocks.device)[:, None, :, None]
        return (blocks[:, :, :, None] * heads).flatten(3).flatten(0, 2)  # of (4, H, out, H, in)

    def matrices(self) -> Float[Tensor, "G P gates_P"]:
        """R of each head, transposed. Few units are faster as one group."""
        if len(self.head_norm.weight) <= AS_ONE:
            return self.whole().T[None]
        return self.blocks().permute(1, 3, 0, 2).flatten(2)  # (H, P, 4 * P)

    def output(
        self, o: Float[Tensor, "batch read d_model"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        return self.head_norm(o.unflatten(-1, (-1, self.r.shape[1])))  # of (batch, read, H, P)
