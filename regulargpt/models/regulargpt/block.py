"""One Transformer layer of RegularGPT: attention of a node over its window of C nodes, then the FFN.

The layer's parameters live here; *which* nodes form a window is decided by the three ways of computing the model
(dense.py, ../tree, all_positions.py).
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.hooks import Hooked, HookPoint, listened_to
from regulargpt.models.layers import ACTIVATIONS, choose, linear

# In inference this many rows go through at once: what they need in between stays in the caches, and below the 32 MB
# from which the C library maps and clears memory anew at each use. Measured: 2x faster than all at once.
ROWS = 8192


class WindowAttention(Hooked):
    """Multi-head attention whose logits carry one learned scalar r_i per head and offset i in [C] (Eq. 6.1).

    `masked`: places before the word take no part, instead of holding the pad.
    """

    def __init__(
        self, d_model: int, n_heads: int, chunk_size: int, *, bias: bool, masked: bool, generator: torch.Generator
    ):
        super().__init__()
        self.n_heads, self.masked = n_heads, masked
        self.query = linear(d_model, d_model, generator, bias=bias)
        self.key = linear(d_model, d_model, generator, bias=bias)
        self.value = linear(d_model, d_model, generator, bias=bias)
        self.out = linear(d_model, d_model, generator, bias=bias)
        self.r = nn.Parameter(torch.empty(n_heads, chunk_size).normal_(0.0, 0.02, generator=generator))
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_pattern, self.hook_z = HookPoint(), HookPoint()

    def heads(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows n_heads d_head"]:
        return x.unflatten(-1, (self.n_heads, -1))  # (*rows, n_heads, d_head)

    def scaled(self, query: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows n_heads d_head"]:
        q = self.hook_q(self.heads(query))
        return q * (1.0 / math.sqrt(q.shape[-1]))

    def scaled_query(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows n_heads d_head"]:
        return self.scaled(self.query(x))

    def out_of(self, z: Float[Tensor, "*rows n_heads d_head"]) -> Float[Tensor, "*rows d_model"]:
        return self.out(self.hook_z(z).flatten(-2))  # (*rows, d_model)

    def keys_and_values(
        self, x: Float[Tensor, "rows d_model"]
    ) -> tuple[Float[Tensor, "rows d_model"], Float[Tensor, "rows d_model"]]:
        """Of each row of states, as `hook_k` and `hook_v` leave them; heads are split for listeners alone."""
        return self.through(self.hook_k, self.key(x)), self.through(self.hook_v, self.value(x))

    def through(self, point: HookPoint, rows: Float[Tensor, "rows d_model"]) -> Float[Tensor, "rows d_model"]:
        return point(self.heads(rows)).flatten(-2) if point.listened_to() else rows  # (rows, d_model)

    def at_pad(
        self, q: Float[Tensor, "batch positions n_heads d_head"], k_pad: Float[Tensor, "*pads n_heads d_head"]
    ) -> Float[Tensor, "batch positions n_heads"]:
        """The logits where a place lies before the word, without r: of the pad, or minus infinity."""
        logits = (q * k_pad).sum(-1)
        return torch.full_like(logits, -torch.inf) if self.masked else logits

    def windows(
        self,
        x: Float[Tensor, "nodes d_model"],
        keys: Float[Tensor, "nodes d_model"],
        values: Float[Tensor, "nodes d_model"],
        children: Int[Tensor, "windows C"],
    ) -> Float[Tensor, "windows d_model"]:
        """Attend from each window's own node (offset 0) to its C nodes; projections run once per distinct node."""
        # F.embedding is the quickest gather whose backward adds in a fixed order on every device.
        k = self.heads(F.embedding(children, keys))  # (windows, C, n_heads, d_head)
        v = self.values_of(children, values)
        own = children[:, 0]
        gather_first = len(own) < len(x)
        query = self.query(F.embedding(own, x)) if gather_first else F.embedding(own, self.query(x))
        q = self.scaled(query).unsqueeze(1)  # (windows, 1, n_heads, d_head)
        # A sum of C products costs less than a matrix product for each window.
        logits = (q * k).sum(-1) + self.r.T  # (windows, C, n_heads)
        if self.masked:
            absent = (children == 0).unsqueeze(-1)  # (windows, C, 1)
            logits = logits.masked_fill(absent, -torch.inf)
        pattern = self.hook_pattern.permuted(logits.softmax(1), 0, 2, 1)  # heard as (windows, n_heads, C)
        pattern = pattern.unsqueeze(-1)  # (windows, C, n_heads, 1)
        return self.out_of((pattern * v).sum(1))

    def values_of(
        self, children: Int[Tensor, "windows C"], values: Float[Tensor, "nodes d_model"]
    ) -> Float[Tensor, "windows C n_heads d_head"]:
        return self.heads(F.embedding(children, values))


class TreeBlock(Hooked):
    """Attention and FFN with residuals, pre- or post-LN. `norm="pre"` is GPT-2's order, "post" the original code's."""

    def __init__(
        self,
        attention: WindowAttention,
        d_model: int,
        d_ff: int,
        *,
        norm: str,
        activation: str,
        generator: torch.Generator,
    ):
        super().__init__()
        self.pre = choose("norm", norm, {"pre": True, "post": False})
        self.ln1 = nn.LayerNorm(d_model)
        self.attn = attention
        self.ln2 = nn.LayerNorm(d_model)
        self.ff_in = linear(d_model, d_ff, generator)
        self.ff_out = linear(d_ff, d_model, generator)
        self.activation = choose("activation", activation, ACTIVATIONS)
        # The FFN's weights lie in the block itself; its hook points stand where other models have them.
        self.mlp = nn.ModuleDict({"hook_pre": HookPoint(), "hook_post": HookPoint()})
        self.hook_attn_out, self.hook_mlp_out, self.hook_resid_post = HookPoint(), HookPoint(), HookPoint()

    def normed(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        return self.ln1(x) if self.pre else x

    def finish(
        self, own: Float[Tensor, "*rows d_model"], attended: Float[Tensor, "*rows d_model"]
    ) -> Float[Tensor, "*rows d_model"]:
        attended = self.hook_attn_out(attended)
        if self.pre:
            x = own + attended
            x = x + self.ffn(self.ln2(x))
        else:
            x = self.ln1(own + attended)
            x = self.ln2(x + self.ffn(x))
        return self.hook_resid_post(x)

    def ffn(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        units = self.activation(self.mlp["hook_pre"](self.ff_in(x)))  # (*rows, d_ff)
        return self.hook_mlp_out(self.ff_out(self.mlp["hook_post"](units)))

    @property
    def may_split(self) -> bool:
        """Whether rows may go through in pieces: nobody differentiates, compiles, or listens to whole levels."""
        return not (torch.compiler.is_compiling() or torch.is_grad_enabled() or listened_to(self))

    def forward(
        self, x: Float[Tensor, "nodes d_model"], children: Int[Tensor, "windows C"]
    ) -> Float[Tensor, "windows d_model"]:
        """The new state of each window's own node; `children[:, j]` is the row of x at offset j to the left.

        Row 0 is the pad; where that is masked, nobody attends to it.
        """
        normed = self.normed(x)
        keys, values = self.attn.keys_and_values(normed)
        # While it is compiled, the number of rows is a symbol: to compare it would compile once for either side.
        splits = not torch.compiler.is_compiling() and len(children) > ROWS and self.may_split
        pieces = children.split(ROWS) if splits else (children,)
        new = [
            self.finish(F.embedding(piece[:, 0], x), self.attn.windows(normed, keys, values, piece)) for piece in pieces
        ]
        return new[0] if len(new) == 1 else torch.cat(new)
