"""The FFN of pretrained networks: plain, or gated as in T5 1.1 and Llama (Shazeer 2020)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.hooks import Hooked, HookPoint
from regulargpt.models.layers import ACTIVATIONS, choose, linear

# The published T5 1.1 and GPT-2 have the approximation, which differs from the exact interval in the fourth digit.
PRETRAINED: dict[str, Callable[[Tensor], Tensor]] = {
    **ACTIVATIONS,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class FeedForward(Hooked):
    """W_out f(W_in x), or, `gated`, W_out (f(W_gate x) * W_in x); with a `bias` in each or in none.

    >>> generator = torch.Generator().manual_seed(0)
    >>> FeedForward(4, 8, activation="relu", gated=True, generator=generator)(torch.ones(4)).shape
    torch.Size([4])
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: str,
        gated: bool,
        bias: bool = False,
        generator: torch.Generator,
    ):
        super().__init__()
        self.activation = choose("activation", activation, PRETRAINED)
        self.ff_gate = linear(d_model, d_ff, generator, bias) if gated else None
        self.ff_in = linear(d_model, d_ff, generator, bias)
        self.ff_out = linear(d_ff, d_model, generator, bias)
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()

    def forward(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        units = self.ff_in(x)  # (*rows, d_ff)
        if self.ff_gate is None:
            units = self.activation(self.hook_pre(units))
        else:
            units = self.activation(self.hook_pre(self.ff_gate(x))) * units
        return self.ff_out(self.hook_post(units))
