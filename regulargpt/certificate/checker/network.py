"""RegularGPT's maps (section 6.2) in balls: the leaves, the block over a window (Eq. 6.1), state norm, readout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from regulargpt.certificate.checker.balls import Balls, erf, exact, exp, positive, product, sqrt
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected, fields, numbers

Ints = npt.NDArray[np.int64]

NETWORK = {"model": dict, "n_symbols": int, "n_outputs": int, "alphabet": list, "output_names": list}
NETWORK |= {"supervision": str}
SIZES = ("d_model", "n_heads", "d_ff", "chunk_size")
CHOICES = {"norm": ("pre", "post"), "activation": ("gelu", "relu")}
SWITCHES = ("attention_bias", "state_norm")
# With other values the network is not one weight-shared block on the tree that the proof is about.
TREE = {"name": "regulargpt", "thickness": 1, "distinct_levels": 1, "levels": 0, "pad": "learned"}
TREE |= {"attention": "dilated", "tied": False}
# How the weights were drawn and trained says nothing about what they compute.
UNREAD = dict.fromkeys(("embedding_std", "state_noise", "noise_loss", "noise_growth"), (int, float))


R = "blocks.0.attn.r"
MAX_CHUNK = 64
Projected = tuple[Balls, Balls, Balls, Balls]  # of rows (n, d): themselves, queries, keys and values


class Network:
    """The function that weights and config.json define. Raises Malformed or Rejected if it is not of the proof's kind.

    `pad` (1, d) and `symbols` (1 + n_symbols, d), the pad first, are the states of the leaves.
    """

    def __init__(self, weights: Mapping[str, Floats], record: Any):
        record = fields(record, "config.json", NETWORK)
        kinds = dict.fromkeys(SIZES, int) | dict.fromkeys(CHOICES, str) | dict.fromkeys(SWITCHES, bool)
        kinds |= {"embedding_scale": (int, float)} | {name: type(usual) for name, usual in TREE.items()} | UNREAD
        self.model = fields(record["model"], "the model in config.json", kinds)
        for name, choices in CHOICES.items():
            if self.model[name] not in choices:
                raise Malformed(f"config.json: {name} {self.model[name]!r} is not known, only {' and '.join(choices)}")
        for name, usual in TREE.items():
            if self.model[name] != usual:
                raise Rejected(f"{name} = {self.model[name]!r}: the proof is about networks with {name} = {usual!r}")
        if record["supervision"] not in ("last", "subwords"):
            raise Rejected(f"the network was trained to answer {record['supervision']!r}, not the word at its end")
        self.alphabet, self.output_names = record["alphabet"], record["output_names"]
        if (record["n_symbols"], record["n_outputs"]) != (len(self.alphabet), len(self.output_names)):
            raise Malformed("config.json counts other symbols or answers than it lists")
        d, self.n_heads, d_ff, self.C = (self.model[name] for name in SIZES)
        if min(d, self.n_heads, d_ff) < 1 or not 2 <= self.C <= MAX_CHUNK or d % self.n_heads:
            raise Malformed(f"config.json: the sizes are not those of a network with chunks of 2 to {MAX_CHUNK}")
        self.d, self.pre = d, self.model["norm"] == "pre"
        shapes = self.shapes(d_ff)
        if {name: w.shape for name, w in weights.items()} != shapes:
            raise Malformed("the weights are not the tensors that config.json describes")
        r = weights[R]
        self.open = exact((-np.inf < r.T).astype(float))  # (C, n_heads): 0 where an offset takes no part, e^-inf
        # -inf is allowed there alone: exp(-inf) = 0 is exact, and `open` leaves these offsets out.
        finite = dict(weights) | {R: np.where(r == -np.inf, 0, r)}
        if not all(np.isfinite(w).all() for w in finite.values()) or not (self.open.sum(0) > 0).all():
            raise Malformed("the weights hold a number that is not finite")
        self.w: dict[str, Balls] = {name: exact(w) for name, w in finite.items()}
        self.pad = self.w["pad"]
        scale = numbers([self.model["embedding_scale"]], "embedding_scale in config.json", (1,))
        embedded = self.w["embedding.weight"] * exact(scale)
        self.symbols = np.concatenate([self.pad, self.settle(embedded)])

    def shapes(self, d_ff: int) -> dict[str, tuple[int, ...]]:
        """The tensors there are."""
        d, block = self.d, "blocks.0."
        norms = [block + "ln1", block + "ln2", *(["state_norm"] if self.model["state_norm"] else [])]
        linear = {f"{block}attn.{name}": (d, d) for name in ("query", "key", "value", "out")}
        linear |= {block + "ff_in": (d_ff, d), block + "ff_out": (d, d_ff), "readout": (len(self.output_names), d)}
        found = {f"{name}.weight": shape for name, shape in linear.items()}
        biased = [name for name in linear if self.model["attention_bias"] or ".attn." not in name]
        found |= {f"{name}.bias": linear[name][:1] for name in biased}
        found |= {f"{name}.{part}": (d,) for name in norms for part in ("weight", "bias")}
        return found | {
            "pad": (1, d),
            "embedding.weight": (len(self.alphabet), d),
            R: (self.n_heads, self.C),
        }

    def project(self, rows: Balls) -> Projected:
        """What attention reads of rows (n, d)."""
        x = self.norm("blocks.0.ln1", rows) if self.pre else rows
        q, k, v = (self.linear(f"blocks.0.attn.{name}", x) for name in ("query", "key", "value"))
        return rows, q, k, v

    def block(self, projected: Projected, windows: Ints) -> Balls:
        """The new states (n, d) over windows (n, C) of rows, the own node first."""
        rows, q, k, v = projected
        attended = []
        for window in windows:
            # A head's weight for each of the d_head coordinates of its value: (C, n_heads) to (C, d).
            pattern = np.repeat(self.pattern(q[window[0]], k[window]), self.d // self.n_heads, axis=1)
            attended.append((pattern * v[window]).sum(0))
        own = rows[windows[:, 0]] + self.linear("blocks.0.attn.out", np.array(attended))
        if self.pre:
            return self.settle(own + self.ffn(self.norm("blocks.0.ln2", own)))
        own = self.norm("blocks.0.ln1", own)
        return self.settle(self.norm("blocks.0.ln2", own + self.ffn(own)))

    def pattern(self, q: Balls, k: Balls) -> Balls:
        """The attention (C, n_heads) of a query (d,) over keys (C, d)."""
        heads = (self.n_heads, self.d // self.n_heads)
        q, k = q.reshape(heads), k.reshape(-1, *heads)  # (n_heads, d_head), (C, n_heads, d_head)
        logits = (q * k).sum(-1) / arb(heads[1]).sqrt()  # (C, n_heads)
        return softmax(logits + self.w[R].T, self.open)

    def ffn(self, x: Balls) -> Balls:
        """The two-layer network of a block."""
        hidden = self.linear("blocks.0.ff_in", x)
        return self.linear("blocks.0.ff_out", ACTIVATIONS[self.model["activation"]](hidden))

    def settle(self, x: Balls) -> Balls:
        """The state norm."""
        return self.norm("state_norm", x) if self.model["state_norm"] else x

    def norm(self, name: str, x: Balls) -> Balls:
        """LayerNorm with gain and bias; epsilon is 10^-5."""
        centred = x - x.sum(-1, keepdims=True) / self.d
        scale = sqrt((centred * centred).sum(-1, keepdims=True) / self.d + arb("1e-5"))
        return centred / scale * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def linear(self, name: str, x: Balls) -> Balls:
        """x W^T + b."""
        return product(x, self.w[f"{name}.weight"].T) + self.w.get(f"{name}.bias", arb(0))

    def readout(self, x: Balls) -> Balls:
        """The logits."""
        return self.linear("readout", x)


def softmax(logits: Balls, taking_part: Balls) -> Balls:
    """1 / sum_i exp(logit i - logit j) over the first axis, where i and j take part (1), else 0."""
    # Differences first: a ball of exp(large) / exp(large) would be wide. (C, C, ...) over i, summed.
    return taking_part / (taking_part * exp(logits[None] - logits[:, None])).sum(1)


def gelu(x: Balls) -> Balls:
    """x Phi(x), Phi the normal distribution function."""
    return x * (1 + erf(x / arb(2).sqrt())) / 2


ACTIVATIONS = {"gelu": gelu, "relu": positive}
