"""The network in numpy and float64: what the search for invariant balls expands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class NumpyNetwork:
    """RegularGPT's maps (section 6.2): leaves, the block over a window (Eq. 6.1), state norm, readout."""

    def __init__(self, weights: Mapping[str, Floats], model: Mapping[str, Any]):
        self.w, self.model, self.pad = weights, model, weights["pad"]
        self.n_heads, self.C = int(model["n_heads"]), int(model["chunk_size"])
        embedded = self.settle(weights["embedding.weight"] * float(model["embedding_scale"]))
        self.symbols = np.concatenate([self.pad, embedded])

    def block(self, rows: Floats, windows: Ints) -> Floats:
        """The new states (n, d) over windows (n, C) of rows, the own node first."""
        x = self.norm("blocks.0.ln1", rows) if self.pre else rows
        q, k, v = (self.linear(f"blocks.0.attn.{name}", x) for name in ("query", "key", "value"))
        n, C = windows.shape
        heads = (self.n_heads, -1)
        q = q[windows[:, 0]].reshape(n, 1, *heads) / math.sqrt(rows.shape[1] / self.n_heads)  # (n, 1, n_heads, d_head)
        k, v = (a[windows].reshape(n, C, *heads) for a in (k, v))  # (n, C, n_heads, d_head)
        logits = (q * k).sum(-1) + self.w["blocks.0.attn.r"].T  # (n, C, n_heads)
        pattern = np.exp(logits - logits.max(1, keepdims=True))
        pattern /= pattern.sum(1, keepdims=True)
        mixed = (pattern[..., None] * v).sum(1).reshape(n, -1)  # (n, d)
        attended = self.linear("blocks.0.attn.out", mixed)
        own = rows[windows[:, 0]] + attended
        if self.pre:
            return self.settle(own + self.ffn(self.norm("blocks.0.ln2", own)))
        own = self.norm("blocks.0.ln1", own)
        return self.settle(self.norm("blocks.0.ln2", own + self.ffn(own)))

    @property
    def pre(self) -> bool:
        """Pre-LN (GPT-2's order) or post-LN."""
        return self.model["norm"] == "pre"

    def ffn(self, x: Floats) -> Floats:
        """The two-layer network of a block."""
        hidden = self.linear("blocks.0.ff_in", x)
        hidden = np.maximum(hidden, 0) if self.model["activation"] == "relu" else gelu(hidden)
        return self.linear("blocks.0.ff_out", hidden)

    def settle(self, x: Floats) -> Floats:
        """The state norm."""
        return self.norm("state_norm", x) if self.model["state_norm"] else x

    def norm(self, name: str, x: Floats) -> Floats:
        """LayerNorm with gain and bias."""
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-5)
        return scaled * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def linear(self, name: str, x: Floats) -> Floats:
        """x W^T + b."""
        bias = self.w.get(f"{name}.bias")
        product = x @ self.w[f"{name}.weight"].T
        return product if bias is None else product + bias

    def readout(self, x: Floats) -> Floats:
        """The logits."""
        return self.linear("readout", x)


def gelu(x: Floats) -> Floats:
    """x Phi(x)."""
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def erf(x: Floats) -> Floats:
    """The error function.

    >>> erf(np.array([0.0, 9.0])).tolist()
    [0.0, 1.0]
    """
    return torch.erf(torch.from_numpy(np.asarray(x, dtype=np.float64))).numpy()
