"""A block of the Transformer: attention and MLP with residuals."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regulargpt.encodings.base import Encoding
from regulargpt.models.hooks import Hooked, HookPoint
from regulargpt.models.layers import ACTIVATIONS, Dropout, Readout, choose, linear
from regulargpt.models.transformer.attention import Attention, Pass


class Mlp(Hooked):
    """Linear, activation, linear, at every position alone."""

    def __init__(self, d_model: int, d_ff: int, *, activation: str, generator: torch.Generator):
        super().__init__()
        self.activation = choose("activation", activation, ACTIVATIONS)
        self.ff_in = linear(d_model, d_ff, generator)
        self.ff_out = linear(d_ff, d_model, generator)
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()

    def forward(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        return self.ff_out(self.hook_post(self.activation(self.hook_pre(self.ff_in(x)))))


class Block(Hooked):
    """Attention and MLP with residuals: pre-LN x + f(LN(x)) as GPT-2, or post-LN LN(x + f(x)) as Vaswani."""

    def __init__(self, attn: Attention, mlp: Mlp, d_model: int, *, norm: str, dropout: float):
        super().__init__()
        self.pre = choose("norm", norm, {"pre": True, "post": False})
        self.ln1, self.attn = nn.LayerNorm(d_model), attn
        self.ln2, self.mlp = nn.LayerNorm(d_model), mlp
        self.dropout = Dropout(dropout)
        self.hook_attn_out, self.hook_mlp_out, self.hook_resid_post = HookPoint(), HookPoint(), HookPoint()

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        encoding: Encoding,
        n: Float[Tensor, "length"],
        layer: int,
        readout: Readout = "all",
        passing: Pass | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        length, kept = x.shape[1], x if readout == "all" else x[:, -1:]
        attended = self.hook_attn_out(self.attn(self.ln1(x) if self.pre else x, encoding, n, layer, readout, passing))
        if self.pre:
            x = kept + self.dropout(attended, length)
            x = x + self.dropout(self.hook_mlp_out(self.mlp(self.ln2(x))), length)
        else:
            x = self.ln1(kept + self.dropout(attended, length))
            x = self.ln2(x + self.dropout(self.hook_mlp_out(self.mlp(x)), length))
        return self.hook_resid_post(x)
