"""sLSTM along a word, with its gradient by hand: what no symbol waits for is computed for all symbols at once."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

Rows = Float[Tensor, "G batch P"]
"""What a state has for each group of units that read each other, and each word."""


class Fused(torch.autograd.Function):
    """h at each symbol, and a and log n after the last, from W x + b at each symbol, R, and h, a and log n before.

    The letters are those of slstm.py. torch's own gradient of the loop makes some 30 tensors a symbol; this 8.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Float[Tensor, "length G batch gates_P"], R: Float[Tensor, "G P gates_P"], h: Rows, a: Rows, n: Rows
    ) -> tuple[Float[Tensor, "length G batch P"], Rows, Rows]:
        length, P = len(x), R.shape[1]
        hs, as_ = (torch.stack([part, *[part] * length]) for part in (h, a))  # (1 + length, G, batch, P)
        gates, new = torch.empty_like(x), torch.empty_like(hs[1:])
        for t in range(length):
            i, f, z, o = torch.baddbmm(x[t], hs[t], R, out=gates[t]).split(P, 2)
            kept = F.logsigmoid(f) + n
            n = torch.logaddexp(kept, i)
            torch.sigmoid(torch.sub(i, kept, out=new[t]), out=new[t])
            torch.lerp(as_[t], z.tanh_(), new[t], out=as_[t + 1])
            torch.mul(o.sigmoid_(), as_[t + 1], out=hs[t + 1])
        ctx.save_for_backward(gates, R, hs, as_, new)
        return hs[1:], as_[-1].clone(), n

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Backwards in time. `new` is w; by the sum i~ - log f - log n the slope of a is w (1 - w) (z - a)."""
        (gates, R, hs, as_, new), (of_h, of_a, of_n) = ctx.saved_tensors, grad_outputs
        _, f, z, o = gates.chunk(4, 3)  # (length, G, batch, P) each; of z and o what their sums have become
        old, back, back_R = 1 - new, of_h[-1], R.transpose(1, 2)
        by_sum, by_z, by_o, by_f = new * old * (z - as_[:-1]), new * (1 - z * z), hs[1:] * (1 - o), (-f).sigmoid()
        gradients = torch.empty_like(gates)
        for t in range(len(gates) - 1, -1, -1):
            of_i, of_f, of_z, of_o = gradients[t].chunk(4, 2)
            torch.mul(back, by_o[t], out=of_o)
            of_a = torch.addcmul(of_a, back, o[t])
            torch.mul(of_a, by_z[t], out=of_z)
            torch.addcmul(of_n * new[t], of_a, by_sum[t], out=of_i)
            of_n = of_n - of_i  # by log f, and by log n before
            torch.mul(of_n, by_f[t], out=of_f)
            of_a = of_a * old[t]
            back = torch.baddbmm(of_h[t - 1], gradients[t], back_R, beta=float(t > 0))
        of_R = torch.einsum("tbnp,tbng->bpg", hs[:-1], gradients)
        return gradients, of_R, back, of_a, of_n
