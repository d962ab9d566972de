"""RegularGPT, with gates or without, in numpy and float64."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from regulargpt.certificate.search.numpy_network import Floats, Ints, NumpyNetwork, relu

ATTENTION = "blocks.0.attn."


class NumpyRegularGPT(NumpyNetwork):
    """RegularGPT's maps (section 6.2): leaves, the block over a window (Eq. 6.1), state norm."""

    def __init__(self, weights: Mapping[str, Floats], model: Mapping[str, Any]):
        super().__init__(weights, model)
        self.absent, self.n_heads = weights["pad"], int(model["n_heads"])
        embedded = self.settle(weights["embedding.weight"] * float(model["embedding_scale"]))
        self.symbols = np.concatenate([self.absent, embedded])

    def merge(self, rows: Floats, windows: Ints) -> Floats:
        """The new states (n, d) over windows (n, C) of rows, the own node first."""
        x = self.norm("blocks.0.ln1", rows) if self.pre else rows
        q, k = (self.linear(ATTENTION + name, x) for name in ("query", "key"))
        n, C = windows.shape
        heads = (self.n_heads, -1)
        q = q[windows[:, 0]].reshape(n, 1, *heads) / math.sqrt(rows.shape[1] / self.n_heads)  # (n, 1, n_heads, d_head)
        k = k[windows].reshape(n, C, *heads)  # (n, C, n_heads, d_head)
        v = self.values(x, windows).reshape(n, C, *heads)  # (n, C, n_heads, d_head)
        logits = (q * k).sum(-1) + self.w[ATTENTION + "r"].T  # (n, C, n_heads)
        pattern = np.exp(logits - logits.max(1, keepdims=True))
        pattern /= pattern.sum(1, keepdims=True)
        mixed = (pattern[..., None] * v).sum(1).reshape(n, -1)  # (n, d)
        own = rows[windows[:, 0]] + self.linear(ATTENTION + "out", mixed)
        if self.pre:
            return self.settle(own + self.feed_forward(self.norm("blocks.0.ln2", own)))
        own = self.norm("blocks.0.ln1", own)
        return self.settle(self.norm("blocks.0.ln2", own + self.feed_forward(own)))

    def values(self, x: Floats, windows: Ints) -> Floats:
        """The values (n, C, d) in windows of what attention reads; with gates W_V (g_j * x_j), g = MLP(x_0, ...)."""
        if not self.model["gates"]:
            return self.linear(ATTENTION + "value", x)[windows]
        rows = x[windows]  # (n, C, d)
        hidden = rows.reshape(len(rows), -1)  # (n, C d)
        for name in ("wide", "wider"):
            hidden = relu(self.linear(f"{ATTENTION}gates.{name}", hidden))
        gates = self.linear(f"{ATTENTION}gates.gate", hidden).reshape(rows.shape)  # (n, C, d)
        return self.linear(ATTENTION + "value", gates * rows)

    @property
    def pre(self) -> bool:
        """Pre-LN (GPT-2's order) or post-LN."""
        return self.model["norm"] == "pre"

    def feed_forward(self, x: Floats) -> Floats:
        """The block's FFN."""
        return self.ffn("blocks.0.", x, self.model["activation"])

    def settle(self, x: Floats) -> Floats:
        """The state norm."""
        return self.norm("state_norm", x) if self.model["state_norm"] else x
