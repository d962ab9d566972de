"""The images of RegularGPT's block, plain and gated, when the states under it move in balls: attention's remainder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
from flint import arb

from regulargpt.certificate.checker.affine_forms import ErrorSource, WrittenForm, side_by_side
from regulargpt.certificate.checker.balls import Balls, constant, exact, greatest, joined, norm, of_flint, product
from regulargpt.certificate.checker.image_bounds import CheckedImageBounds
from regulargpt.certificate.checker.network import Ints
from regulargpt.certificate.checker.regulargpt import ATTENTION, GATES, R, RegularGPT, softmax

Heads = list[WrittenForm]
MAX_KEPT = 1 << 23  # numbers of the forms of rows: less than a gigabyte


@dataclass(frozen=True)
class AttendedRow:
    """A state in its ball, what attention reads of it, and its queries and keys; queries over sqrt(d_head)."""

    state: WrittenForm
    normed: WrittenForm
    q: Heads
    k: Heads
    v: Heads  # through the output projection; none where they depend on the window

    def again(self) -> AttendedRow:
        """Another state in the same ball: the vectors of its forms are its own."""
        new = {s: replace(s) for s in (*self.state.maps, *self.normed.maps)}
        heads = ([x.with_sources(new) for x in heads] for heads in (self.q, self.k, self.v))
        return AttendedRow(self.state.with_sources(new), self.normed.with_sources(new), *heads)


class CheckedBlockBounds(CheckedImageBounds[RegularGPT]):
    def __init__(self, network: RegularGPT, prototypes: Any, radii: Balls):
        super().__init__(network, prototypes, radii)
        self.rows: dict[int, AttendedRow] = {}  # not all of them, where they are many or wide
        self.most_rows = max(network.C, MAX_KEPT // ((6 + 2 * network.n_heads) * network.d**2))

    def work(self) -> int:
        """And attention, pair by pair of offsets, where steps on small arrays take longer than what they multiply."""
        C, d, heads = self.network.C, self.network.d, self.network.n_heads
        return super().work() + heads * C * (8 * C * C * d + (1 << 18))

    def image(self, window: Ints) -> WrittenForm:
        """The new state over a window (C,) of rows, 0 the pad."""
        if len(self.rows) + len(window) > self.most_rows:
            self.rows.clear()
        for row in set(window.tolist()) - set(self.rows):
            self.rows[row] = self.of_row(row)
        rows = [self.rows[row].again() for row in window.tolist()]
        x = rows[0].state.plus(attend(self.network, rows[0].q, [row.k for row in rows], self.values(rows)))
        kind = self.network.model["activation"]
        if self.network.pre:
            x = x.plus(self.ffn("blocks.0.", self.norm("blocks.0.ln2", x), kind))
        else:
            x = self.norm("blocks.0.ln1", x)
            x = self.norm("blocks.0.ln2", x.plus(self.ffn("blocks.0.", x, kind)))
        return self.norm("state_norm", x) if self.network.model["state_norm"] else x

    def of_row(self, row: int) -> AttendedRow:
        """What depends on a row alone, computed once."""
        state = self.row(row)
        x = self.norm("blocks.0.ln1", state) if self.network.pre else state
        q, k = (self.heads(self.linear(ATTENTION + name, x)) for name in ("query", "key"))
        scale = exact(np.ones(len(q[0].centre))) / arb(len(q[0].centre)).sqrt()
        v = [] if self.network.gated else self.through_out(self.linear(ATTENTION + "value", x))
        return AttendedRow(state, x, [part.scaled(scale) for part in q], k, v)

    def values(self, rows: list[AttendedRow]) -> list[Heads]:
        """The values of a window's rows, with gates W_V (g_j * x_j), g = MLP(x_0, ..., x_{C-1})."""
        if not self.network.gated:
            return [row.v for row in rows]
        d, gates = self.network.d, self.gates(GATES, side_by_side([row.normed for row in rows]))
        gated = [gates.part(slice(c * d, (c + 1) * d)).times(row.normed) for c, row in enumerate(rows)]
        return [self.through_out(self.linear(ATTENTION + "value", x)) for x in gated]

    def heads(self, x: WrittenForm) -> Heads:
        width = self.network.d // self.network.n_heads
        return [x.part(slice(at, at + width)) for at in range(0, self.network.d, width)]

    def through_out(self, values: WrittenForm) -> Heads:
        """Each head's values through its part of the output projection."""
        weight, width = self.network.w[ATTENTION + "out.weight"], self.network.d // self.network.n_heads
        return [v.linear(weight[:, h * width : (h + 1) * width]) for h, v in enumerate(self.heads(values))]


def attend(network: RegularGPT, query: Heads, keys: list[Heads], values: list[Heads]) -> WrittenForm:
    """sum_jh p_jh v_jh + b over the heads h and offsets j of a window, p_h = softmax of the logits q_h k_jh + r_hj.

    When everything moves, logit j moves by tau_j = a linear part + beta_j, |beta_j| <= |dq| |dk_j|. Let w be the
    largest tau_i - tau_j, and phi(t) = softmax(logits + t tau). Then phi_j' = phi_j (tau_j - m), m the mean of tau, and
    phi_j'' = phi_j ((tau_j - m)^2 - V), V its variance. |tau_j - m| <= (1 - phi_j) w and V <= (1 - phi_j) w^2, so with
    P = max over t of phi_j (1 - phi_j): |p_j' - p_j| <= P w, and beyond its first order p_j moves by at most P w^2 / 2.
    As the odds of j change by at most exp(w), P <= min(1/4, p_j (1 - p_j) exp(w)).
    The sum of the p_j stays 1, so of what they multiply only the distance from the mean value counts. How the values
    move does not matter to this: that of p_j v_j is p_j dv_j, and v_j dp_j, and dp_j dv_j of at most P w |dv_j|.
    """
    heads = [
        attend_head(network, h, query[h], [k[h] for k in keys], [v[h] for v in values]) for h in range(network.n_heads)
    ]
    rest = sum((left for _, left in heads), arb(0))
    attended = reduce(WrittenForm.plus, (form for form, _ in heads)).with_remainder(rest)
    return WrittenForm(attended.centre + network.w.get(ATTENTION + "out.bias", 0), attended.maps)


def attend_head(network: RegularGPT, h: int, q: WrittenForm, k: Heads, v: Heads) -> tuple[WrittenForm, arb]:
    """One head's sum, and how long at most what its first order leaves is."""
    C = len(k)
    # A number for each offset (C,): balls of FLINT, whatever the vectors are in.
    takes_part = of_flint(network.open[:, h])
    logits = np.array([(q.centre * key.centre).sum(0) for key in k]) + of_flint(network.w[R][h])
    p = softmax(logits, takes_part)
    others = ~np.eye(C, dtype=bool) @ p  # 1 - p, without cancellation
    parts = logit_maps(q, k)
    beta = np.array([q.deviation * key.deviation for key in k])
    pairs = np.array([*combinations(np.flatnonzero(takes_part > 0), 2)], dtype=np.int64)  # (n, 2)
    i, j = pairs.reshape(-1, 2).T  # each (n,), of no pairs, too
    # How far logit i can move from logit j (n,), in each pair of offsets that take part.
    apart = sum((s.size * norm(part[i] - part[j]) for s, part in parts.items()), beta[i] + beta[j])
    w = greatest(apart) if len(pairs) else arb(0)
    centres = joined([value.centre[None] for value in v], 0)  # (C, d)
    mean: Any = product(p[None], centres)[0]
    maps: dict[ErrorSource, Balls] = {}
    for s, part in parts.items():
        of_pattern = p[:, None] * (part - product(p[None], part))  # (C, d_s), the first order of the p_j
        maps[s] = product((centres - mean).T, of_pattern)
    form, rest = WrittenForm(mean, maps), arb(0)
    for j in range(C):
        form = form.plus(WrittenForm(constant(np.zeros(network.d), mean), {s: p[j] * m for s, m in v[j].maps.items()}))
        P = (p[j] * others[j] * w.exp()).min(arb(0.25))
        first = p[j] * (others[j] * beta[j] + (p @ beta - p[j] * beta[j]))
        rest += norm(centres[j] - mean) * (first + P * w * w / 2) + P * w * v[j].deviation
    return form, rest


def logit_maps(q: WrittenForm, k: Heads) -> dict[ErrorSource, Balls]:
    """The linear parts (C, d_s) of the logits q k_j by each source."""
    parts: dict[ErrorSource, Balls] = {}
    for s, m in q.maps.items():
        parts[s] = product(joined([key.centre[None] for key in k], 0), m)
    for j, key in enumerate(k):
        for s, m in key.maps.items():
            part = parts.setdefault(s, constant(np.zeros((len(k), m.shape[1])), m))
            part[j] = part[j] + product(q.centre[None], m)[0]
    return parts
