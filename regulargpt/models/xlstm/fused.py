"""sLSTM along a word, with its gradient by hand: what no symbol waits for is computed for all symbols at once."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


class Fused(torch.autograd.Function):
    """h at each symbol, and a and l after the last, from W x + b at each symbol, the matrix of R, and h, a and l.

    The letters are those of slstm.py. torch's own gradient of the loop makes some 30 small tensors a symbol; this one 8.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "batch length gates_d"],
        R: Float[Tensor, "gates_d d_model"],
        h: Float[Tensor, "batch d_model"],
        a: Float[Tensor, "batch d_model"],
        l: Float[Tensor, "batch d_model"],
    ) -> tuple[Tensor, Tensor, Tensor]:
        x = x.transpose(0, 1)
        hs, as_, ls = [h], [a], [l]
        sums = x.new_empty(x.shape)  # (length, batch, 4 * d_model)
        for t, of_symbol in enumerate(x.unbind()):
            i, f, z, o = torch.addmm(of_symbol, h, R.T, out=sums[t]).chunk(4, 1)
            kept = F.logsigmoid(f) + l
            a = torch.lerp(a, z.tanh(), (i - kept).sigmoid())
            l = torch.logaddexp(kept, i)
            h = o.sigmoid() * a
            hs.append(h)
            as_.append(a)
            ls.append(l)
        ctx.save_for_backward(sums, R, torch.stack(hs), torch.stack(as_), torch.stack(ls[:-1]))
        return torch.stack(hs[1:], 1), a, l

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_h: Tensor, of_a: Tensor, of_l: Tensor) -> tuple[Tensor, ...]:
        """Backwards in time. `new` is w; by the sum i~ - log f - l the slope of a is w (1 - w) (z - a)."""
        sums, R, hs, as_, ls = ctx.saved_tensors
        i, f, z, o = sums.chunk(4, 2)  # (length, batch, d_model) each
        before, z, o = as_[:-1], z.tanh(), o.sigmoid()
        new = (i - F.logsigmoid(f) - ls).sigmoid()
        old = 1 - new
        by_sum, by_z, by_o, by_f = new * old * (z - before), new * (1 - z * z), as_[1:] * o * (1 - o), (-f).sigmoid()
        found, d = torch.empty_like(sums), of_a.shape[1]
        of_h = of_h.transpose(0, 1)
        back = of_h[-1]
        for t in range(len(sums) - 1, -1, -1):
            at = found[t]
            of_i, of_f, of_z, of_o = at.split(d, 1)
            torch.mul(back, by_o[t], out=of_o)
            of_a = torch.addcmul(of_a, back, o[t])
            torch.mul(of_a, by_z[t], out=of_z)
            torch.addcmul(of_l * new[t], of_a, by_sum[t], out=of_i)
            of_l = of_l - of_i  # by log f, and by l before
            torch.mul(of_l, by_f[t], out=of_f)
            of_a = of_a * old[t]
            back = at @ R if t == 0 else torch.addmm(of_h[t - 1], at, R)
        of_R = found.flatten(0, 1).T @ hs[:-1].flatten(0, 1)  # of (length * batch, ...)
        return found.transpose(0, 1), of_R, back, of_a, of_l
