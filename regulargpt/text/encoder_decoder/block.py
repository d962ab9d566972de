"""A block of T5: attention, in the decoder attention to what the encoder read, and FFN, each behind RMSNorm."""

from __future__ import annotations

from typing import TypeAlias

from jaxtyping import Float
from torch import Tensor, nn

from regulargpt.encodings.base import Encoding
from regulargpt.models.hooks import Hooked, HookPoint
from regulargpt.models.layers import Dropout
from regulargpt.models.transformer.attention import Attention, CrossAttention, Pass
from regulargpt.text.feed_forward import FeedForward

KeysValues: TypeAlias = tuple[Float[Tensor, "batch n_heads keys d_head"], Float[Tensor, "batch n_heads keys d_head"]]


class T5Block(Hooked):
    """x + f(RMSNorm(x)) for each of its parts f (Raffel et al. 2020, section 2.1); `cross_attn` in a decoder only."""

    def __init__(
        self,
        d_model: int,
        attn: Attention,
        cross_attn: CrossAttention | None,
        mlp: FeedForward,
        *,
        dropout: float,
        epsilon: float,
    ):
        super().__init__()
        self.ln1, self.attn = nn.RMSNorm(d_model, epsilon), attn
        self.ln_cross = None if cross_attn is None else nn.RMSNorm(d_model, epsilon)
        self.cross_attn = cross_attn
        self.ln2, self.mlp = nn.RMSNorm(d_model, epsilon), mlp
        self.dropout = Dropout(dropout)
        self.hook_attn_out, self.hook_mlp_out, self.hook_resid_post = HookPoint(), HookPoint(), HookPoint()
        if cross_attn is not None:
            self.hook_cross_attn_out = HookPoint()

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        encoding: Encoding,
        n: Float[Tensor, "length"],
        layer: int,
        passing: Pass,
        memory: KeysValues | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        x = x + self.dropout(self.hook_attn_out(self.attn(self.ln1(x), encoding, n, layer, "all", passing)))
        if self.cross_attn is not None and self.ln_cross is not None and memory is not None:
            attended = self.cross_attn(self.ln_cross(x), *memory, layer=layer)
            x = x + self.dropout(self.hook_cross_attn_out(attended))
        x = x + self.dropout(self.hook_mlp_out(self.mlp(self.ln2(x))))
        return self.hook_resid_post(x)
