"""RegularGPT in balls (section 6.2): the leaves and the pad, the block over a window (Eq. 6.1), the state norm.

* is number by number. LN(x) = u / sqrt(mean(u^2) + 10^-5) * gain + bias, where
u = x - mean(x); GELU(x) = x Phi(x), Phi the normal distribution function; S is LN `state_norm`, or the identity.

    leaf of symbol a   S(embedding[a] * embedding_scale);   the pad is `pad` itself
    y_j = LN1(x_j)     (norm = pre)  or  x_j  (norm = post), for the states x_0 .. x_{C-1} of a window
    q = Wq y_0 + bq,  k_j = Wk y_j + bk,  v_j = Wv y_j + bv    split into n_heads parts
    p_j = exp(q k_j / sqrt(d_head) + r_j) / sum over the window     in each head
    z = x_0 + Wo (sum_j p_j v_j) + bo                          the heads side by side
    pre:   f = S(z + FFN(LN2(z)))
    post:  z' = LN1(z);  f = S(LN2(z' + FFN(z')))
    FFN(x) = W_out act(W_in x + b_in) + b_out;   logits = W x + b

With `gates`, v_j = Wv (g_j * y_j) + bv, (g_0, .., g_{C-1}) = gate(ReLU(wider(ReLU(wide(y_0, .., y_{C-1}))))). A number
of r may be minus infinity, but not all of a head.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from flint import arb

from regulargpt.certificate.checker.balls import Balls, exact, exp, positive
from regulargpt.certificate.checker.files import Floats, Malformed, numbers
from regulargpt.certificate.checker.network import MAX_CHUNK, Ints, Network, Shapes, linear_shapes, norm_shapes

ATTENTION = "blocks.0.attn."
R = ATTENTION + "r"
GATES = (ATTENTION + "gates.wide", ATTENTION + "gates.wider", ATTENTION + "gates.gate")
Projected = tuple[Balls, Balls, Balls, Balls]  # of rows (n, d): themselves, queries, keys, and what values are made of


class RegularGPT(Network):
    """Attention of a node over its window, and the FFN; the pad is one vector, and stands before the word."""

    SIZES = ("d_model", "n_heads", "d_ff", "chunk_size")
    CHOICES: ClassVar = {"norm": ("pre", "post"), "activation": ("gelu", "relu"), "tree": ("flat", "nested")}
    SWITCHES, NUMBERS = ("gates", "attention_bias", "state_norm"), ("embedding_scale",)
    # With other values the network is not one weight-shared block on the tree that the proof is about.
    FIXED: ClassVar = {"thickness": 1, "distinct_levels": 1, "levels": 0, "pad": "learned", "attention": "dilated"} | {
        "tied": False
    }
    # How the weights were drawn and trained says nothing about what they compute.
    UNREAD = ("embedding_std", "state_noise", "noise_loss", "noise_growth")
    aligned = "right"

    def __init__(self, weights: Mapping[str, Floats], record: object):
        super().__init__(weights, record)
        self.pre = self.model["norm"] == "pre"
        self.absent = self.w["pad"]
        scale = numbers([self.model["embedding_scale"]], "embedding_scale in config.json", (1,))
        self.symbols = np.concatenate([self.absent, self.settle(self.w["embedding.weight"] * exact(scale))])

    def measure(self) -> None:
        d, self.n_heads, d_ff, self.C = (self.model[name] for name in self.SIZES)
        if min(d, self.n_heads, d_ff) < 1 or not 2 <= self.C <= MAX_CHUNK or d % self.n_heads:
            raise Malformed(f"config.json: the sizes are not those of a network with chunks of 2 to {MAX_CHUNK}")
        self.gated = self.model["gates"]
        self.hidden = max(d_ff, 4 * d, self.C * d) if self.gated else max(d_ff, d)
        self.widest = max(self.hidden, 2 * self.C * d, self.C**2 * self.n_heads)  # softmax compares all pairs

    def shapes(self) -> Shapes:
        d, d_ff, block = self.d, self.model["d_ff"], "blocks.0."
        norms = [block + "ln1", block + "ln2", *(["state_norm"] if self.model["state_norm"] else [])]
        shapes = {"pad": (1, d), "embedding.weight": (len(self.alphabet), d), R: (self.n_heads, self.C)}
        for name in ("query", "key", "value", "out"):
            shapes |= linear_shapes(ATTENTION + name, d, d, self.model["attention_bias"])
        if self.gated:
            whole = self.C * d
            for name, (out, into) in zip(GATES, ((2 * d, whole), (4 * d, 2 * d), (whole, 4 * d)), strict=True):
                shapes |= linear_shapes(name, out, into)
        shapes |= linear_shapes(block + "ff_in", d_ff, d) | linear_shapes(block + "ff_out", d, d_ff)
        return shapes | linear_shapes("readout", len(self.output_names), d) | norm_shapes(norms, d)

    def finite(self, weights: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """All weights; -inf is allowed in `r`, where exp(-inf) = 0 is exact, and `open` leaves these offsets out."""
        r = weights[R]
        self.open = exact((-np.inf < r.T).astype(float))  # (C, n_heads): 0 where an offset takes no part
        if not (self.open.sum(0) > 0).all():
            raise Malformed("the weights hold a number that is not finite")
        return dict(weights) | {R: np.where(r == -np.inf, 0, r)}

    def project(self, rows: Balls) -> Projected:
        """What attention reads of rows (n, d)."""
        x = self.norm("blocks.0.ln1", rows) if self.pre else rows
        return rows, self.linear(ATTENTION + "query", x), self.linear(ATTENTION + "key", x), self.before_values(x)

    def before_values(self, x: Balls) -> Balls:
        """What values are made of, of rows (n, d): the values, or with gates the rows, since windows decide."""
        return x if self.gated else self.linear(ATTENTION + "value", x)

    def values(self, before: Balls) -> Balls:
        """The values (n, C, d) in windows, of what they are made of (n, C, d)."""
        if not self.gated:
            return before
        wide, wider, gate = GATES
        x = before.reshape(len(before), -1)  # (n, C d), the own node first
        hidden = positive(self.linear(wider, positive(self.linear(wide, x))))  # (n, 4 d)
        gated = (self.linear(gate, hidden) * x).reshape(-1, self.d)  # (n C, d)
        return self.linear(ATTENTION + "value", gated).reshape(before.shape)  # (n, C, d)

    def merge(self, projected: Projected, windows: Ints) -> Balls:
        """The new states (n, d) over windows (n, C) of rows, the own node first."""
        rows, q, k, before = projected
        # A head's weight for each of the d_head coordinates of its value: (n, C, n_heads) to (n, C, d).
        pattern = self.pattern(q[windows[:, 0]], k[windows]).repeat(self.d // self.n_heads, 2)
        attended = (pattern * self.values(before[windows])).sum(1)
        x = rows[windows[:, 0]] + self.linear(ATTENTION + "out", attended)
        if self.pre:
            return self.settle(x + self.feed_forward(self.norm("blocks.0.ln2", x)))
        x = self.norm("blocks.0.ln1", x)
        return self.settle(self.norm("blocks.0.ln2", x + self.feed_forward(x)))

    def pattern(self, q: Balls, k: Balls) -> Balls:
        """The attention (n, C, n_heads) of queries (n, d) over keys (n, C, d)."""
        heads = (self.n_heads, self.d // self.n_heads)
        q, k = q.reshape(-1, 1, *heads), k.reshape(-1, self.C, *heads)  # (n, 1 or C, n_heads, d_head)
        logits = ((q * k).sum(-1) / arb(heads[1]).sqrt()).transpose(1, 0, 2)  # (C, n, n_heads)
        return softmax(logits + self.w[R].T[:, None], self.open[:, None]).transpose(1, 0, 2)  # (n, C, n_heads)

    def feed_forward(self, x: Balls) -> Balls:
        return self.ffn("blocks.0.", x, self.model["activation"])

    def settle(self, x: Balls) -> Balls:
        return self.norm("state_norm", x) if self.model["state_norm"] else x


def softmax(logits: Balls, taking_part: Balls) -> Balls:
    """1 / sum_i exp(logit i - logit j) over the first axis, where i and j take part (1), else 0."""
    # Differences first: a ball of exp(large) / exp(large) would be wide. (C, C, ...) over i, summed.
    return taking_part / (taking_part * exp(logits[None] - logits[:, None])).sum(1)
