"""A block of a pretrained decoder: attention and FFN with residuals, in turn or side by side."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from regulargpt.encodings.base import Encoding
from regulargpt.models.hooks import Hooked, HookPoint
from regulargpt.models.layers import Readout
from regulargpt.models.transformer.attention import Attention, Pass
from regulargpt.text.feed_forward import FeedForward


class DecoderBlock(Hooked):
    """x + attention(norm(x)), then the same with the FFN; or, `parallel`, both of them of the same x (GPT-NeoX)."""

    def __init__(self, ln1: nn.Module, attn: Attention, ln2: nn.Module, mlp: FeedForward, *, parallel: bool):
        super().__init__()
        self.ln1, self.attn, self.ln2, self.mlp, self.parallel = ln1, attn, ln2, mlp, parallel
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
        kept = x if readout == "all" else x[:, -1:]
        attended = self.hook_attn_out(self.attn(self.ln1(x), encoding, n, layer, readout, passing))
        between = kept + attended
        units = self.hook_mlp_out(self.mlp(self.ln2(kept if self.parallel else between)))
        return self.hook_resid_post(between + units)
