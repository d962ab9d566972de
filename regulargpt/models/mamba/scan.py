"""Mamba's recurrence over a word, with its gradient by hand: symbol by symbol, a pass over the state an operation.

h is (batch, N, E), channels last: then all that a step multiplies it by has whole rows of channels.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def factors(x: Float[Tensor, "batch N E"], signed: bool) -> Float[Tensor, "batch N E"]:
    """exp(x), in (0, 1) for x below 0; signed 2 exp(x) - 1, in (-1, 1). x is overwritten."""
    x = x.exp_()
    return x.mul_(2).sub_(1) if signed else x


class SelectiveScan(torch.autograd.Function):
    """h <- f(delta A) h + B v^T and y = C h at every symbol: y, and h after the last."""

    @staticmethod
    def forward(
        ctx: Any,
        delta: Float[Tensor, "length batch E"],
        v: Float[Tensor, "length batch E"],
        B: Float[Tensor, "length batch N"],
        C: Float[Tensor, "length batch N"],
        A: Float[Tensor, "N E"],
        h: Float[Tensor, "batch N E"],
        signed: bool,
    ) -> tuple[Float[Tensor, "length batch E"], Float[Tensor, "batch N E"]]:
        y, states, moved = torch.empty_like(v), [h], []
        for t in range(len(delta)):
            moved.append(factors(delta[t, :, None] * A, signed))  # (batch, N, E)
            h = (moved[-1] * h).addcmul_(B[t, :, :, None], v[t, :, None])
            states.append(h)
            torch.bmm(C[t, :, None], h, out=y[t, :, None])
        ctx.save_for_backward(delta, v, B, C, A, *states, *moved)
        ctx.signed = signed
        return y, h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_y, of_h = gradients[0].contiguous(), gradients[1]
        delta, v, B, C, A, *saved = ctx.saved_tensors
        states, moved = saved[: len(delta) + 1], saved[len(delta) + 1 :]
        of_delta, of_v, of_b, of_c = (torch.empty_like(x) for x in (delta, v, B, C))
        # Of A it is summed over the words at the end. g is of the state, from the last to the first.
        of_a, g, made = torch.zeros_like(of_h), of_h.clone(), torch.empty_like(of_h)
        for t in reversed(range(len(delta))):
            # Sums over channels as products and sums: bmm takes four times as long for them.
            torch.sum(torch.mul(states[t + 1], of_y[t, :, None], out=made), 2, out=of_c[t])
            g.addcmul_(C[t, :, :, None], of_y[t, :, None])
            torch.sum(torch.mul(g, v[t, :, None], out=made), 2, out=of_b[t])
            torch.bmm(B[t, :, None], g, out=of_v[t, :, None])
            torch.mul(g, states[t], out=made)
            # f is exp, with itself as its slope, or 2 exp - 1, with f + 1.
            if ctx.signed:
                made.addcmul_(made, moved[t])
            else:
                made.mul_(moved[t])
            of_a.addcmul_(made, delta[t, :, None])
            torch.sum(made.mul_(A), 1, out=of_delta[t])
            g.mul_(moved[t])
        return of_delta, of_v, of_b, of_c, of_a.sum(0), g, None
