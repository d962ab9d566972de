"""Attention over a window of states that move in balls: its derivative, and the remainder of the first order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.search.affine_forms import ROUND_UP, spectral_bound
from regulargpt.finite.float64_network import Float64Network

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Projections:
    """Queries, keys and values of rows x, per head, and by what they change with x = x_0 + J delta + e."""

    query_map: Floats  # (heads, d_head, d), with 1 / sqrt(d_head)
    key_map: Floats  # (heads, d_head, d)
    value_map: Floats  # (heads, d, d): value, then output projection
    query: Floats  # (rows, heads, d_head)
    key: Floats
    value: Floats  # (rows, heads, d)
    jacobian: Floats  # (rows, d, d): J
    query_gain: Floats  # (rows, heads): ||W_q J||
    key_gain: Floats
    value_gain: Floats

    @classmethod
    def from_network(
        cls, network: Float64Network, x: Floats, jacobian: Floats, gain: Floats, bias: Floats
    ) -> Projections:
        """Of rows gain x + bias; the output projection's bias is not in it."""
        H, d = network.options["n_heads"], x.shape[1]
        root = np.sqrt(d / H)
        scaled = x * gain + bias

        def heads(name: str, divide: float = 1.0) -> tuple[Floats, Floats]:
            weight = network.w[f"blocks.0.attn.{name}.weight"]
            values = (scaled @ weight.T + network.w.get(f"blocks.0.attn.{name}.bias", 0.0)) / divide
            full = weight * gain / divide
            return full.reshape(H, -1, d), values.reshape(len(x), H, -1)  # (heads, d_head, d), (rows, heads, d_head)

        (wq, q), (wk, k), (wv, v) = heads("query", root), heads("key"), heads("value")
        out = network.w["blocks.0.attn.out.weight"].reshape(d, H, -1).transpose(1, 0, 2)  # (heads, d, d_head)
        wv, v = out @ wv, np.einsum("hdk,nhk->nhd", out, v)
        gains = [np.stack([spectral_bound(w @ j) for j in jacobian]) for w in (wq, wk, wv)]
        return cls(wq, wk, wv, q, k, v, jacobian, *gains)


@dataclass(frozen=True)
class AttentionExpansion:
    """sum_jh p_jh v_jh over windows (n, C) of rows, and what its first-order expansion leaves."""

    windows: Ints
    projections: Projections
    value: Floats  # (n, d)
    gains: Floats  # (n, C): norms of the derivatives by x_c
    pattern: Floats  # (n, C, heads)
    complement: Floats  # (n, C, heads): 1 - pattern
    bilinear_norms: Floats  # (n, C, heads): ||(W_q J_0)^T W_k J_j||
    # Norms of the derivatives by delta_c and by e_c:
    logit_slopes: tuple[Floats, Floats]  # (n, pairs, heads, C), of logit i - logit j
    pattern_slopes: tuple[Floats, Floats]  # (n, C, heads, C), of the pattern
    reference: Ints  # (n, heads): the offset from whose value the others are counted
    value_differences: Floats  # (n, d, C * heads): v_jh - v_h at the reference

    @classmethod
    def over(cls, r: Floats, p: Projections, windows: Ints) -> tuple[AttentionExpansion, Floats]:
        """With the derivative (n, d, C, d) by x_c; `r` (heads, C) are the offsets' logits."""
        (n, C), d = windows.shape, p.query_map.shape[2]
        q, k, v = p.query[windows[:, 0]], p.key[windows], p.value[windows]
        logits = np.einsum("nhk,njhk->njh", q, k) + r.T
        pattern = np.exp(logits - logits.max(1, keepdims=True))
        pattern /= pattern.sum(1, keepdims=True)
        # Not 1 - pattern, which loses what is left of a sharp pattern.
        complement = np.stack([np.delete(pattern, j, 1).sum(1) for j in range(C)], 1)
        # The query is that of the own node, offset 0; each key is that of its own offset.
        slope = np.zeros((n, C, p.query.shape[1], C, d))  # of logit j, head h, by x_c
        slope[:, :, :, 0] += np.einsum("njhk,hkd->njhd", k, p.query_map)
        for j in range(C):
            slope[:, j, :, j] += np.einsum("nhk,hkd->nhd", q, p.key_map)
        weights = pattern[..., None, None]  # (n, C, heads, 1, 1)
        of_pattern = weights * (slope - (weights * slope).sum(1, keepdims=True))  # the softmax's derivative times slope
        derivative = np.einsum("njhd,njhce->ndce", v, of_pattern) + np.einsum("nch,hde->ndce", pattern, p.value_map)
        pairs = [(i, j) for i in range(C) for j in range(i + 1, C)]
        differences = np.stack([slope[:, i] - slope[:, j] for i, j in pairs], 1)
        jacobians = p.jacobian[windows]  # (n, C, d, d)

        def norms(a: Floats) -> tuple[Floats, Floats]:
            through = np.einsum("njhce,ncef->njhcf", a, jacobians, optimize=True)
            return np.sqrt(np.square(through).sum(-1)), np.sqrt(np.square(a).sum(-1))

        first = np.einsum("hkd,nde->nhke", p.query_map, jacobians[:, 0])
        other = np.einsum("hkd,njde->njhke", p.key_map, jacobians)
        bilinear_norms = np.stack([product_norm(first, other[:, j]) for j in range(C)], 1)
        apart = np.sqrt(np.square(v[:, :, None] - v[:, None]).sum(-1))  # (n, C, C, heads)
        # The offset from which the other values are nearest, weighed by how much their pattern can move.
        reference = ((pattern * complement)[:, None] * apart).sum(2).argmin(1)
        value_differences = v - np.take_along_axis(v, reference[:, None, :, None], 1)  # (n, C, heads, d)
        value_differences = value_differences.reshape(n, -1, d).transpose(0, 2, 1)  # (n, d, C * heads)
        value = np.einsum("njh,njhd->nd", pattern, v)
        gains = np.stack([spectral_bound(derivative[:, :, c]) for c in range(C)], 1)
        return cls(
            windows,
            p,
            value,
            gains,
            pattern,
            complement,
            bilinear_norms,
            norms(differences),
            norms(of_pattern),
            reference,
            value_differences,
        ), derivative

    def remainder(self, radii: Floats, errors: Floats) -> tuple[Floats, Floats]:
        """What the first order leaves is V e + e', where V are the `value_differences`.

        Each |e_i| is at most the first (n, C * heads), ||e'|| at most the second (n,), for ||delta_c|| <= radii (n, C)
        and ||e_c|| <= errors (n, C).

        Logits are bilinear. The softmax's second derivative along h is p_j ((h_j - m)^2 - v) with h's mean m and
        variance v under p. Let w be the range of h, y = h_j minus the mean of the others, and v' their variance: it is
        p_j (1 - p_j) ((1 - 2 p_j) y^2 - v'), between -p_j (1 - p_j) ((2 p_j - 1)^+ + 1/4) w^2 and
        p_j (1 - p_j) (1 - 2 p_j)^+ w^2, with v' = 0 for C = 2. For the sum over offsets only differences of values
        count: sum_j p_j v_j = v_0 + sum_j p_j (v_j - v_0), for any offset 0.
        """
        w, p, windows = self.pattern, self.projections, self.windows
        r, e = radii[:, :, None], errors[:, :, None]  # (n, C, 1), against (n, C, heads)
        own = windows[:, 0]
        # How far queries, keys and values move: by the balls (delta) and by the errors (e).
        far_q, far_qe = (p.query_gain[own] * r[:, 0])[:, None], (spectral_bound(p.query_map) * e[:, 0])[:, None]
        far_k, far_ke = p.key_gain[windows] * r, spectral_bound(p.key_map) * e
        far_v = p.value_gain[windows] * r + spectral_bound(p.value_map) * e
        bilinear = (
            np.minimum(far_q * far_k, self.bilinear_norms * r[:, :1] * r) + far_q * far_ke + far_qe * (far_k + far_ke)
        )
        spread = first_order(self.logit_slopes, radii, errors)
        C = windows.shape[1]
        pairs = [(i, j) for i in range(C) for j in range(i + 1, C)]
        # The largest distance of two logits' changes: the range of h above.
        width = np.max([spread[:, at] + bilinear[:, i] + bilinear[:, j] for at, (i, j) in enumerate(pairs)], 0)
        low, high = (
            shift_log_odds(w, self.complement, -width[:, None]),
            shift_log_odds(w, self.complement, width[:, None]),
        )
        second = softmax_curvature(low, high, C) * np.square(width)[:, None] / 2
        total = (w * bilinear).sum(1, keepdims=True)
        # The second order of the softmax, and the first order of what the logits themselves leave (bilinear).
        left = second + w * (self.complement * bilinear + total - w * bilinear)
        first = first_order(self.pattern_slopes, radii, errors)
        # The pattern's whole change is bounded twice; its products with what the values move are left over too.
        change = np.minimum(first + left, np.maximum(high - w, w - low))
        at = self.reference[:, None]
        rest = change * np.where(np.arange(C)[:, None] == at, 0, far_v + np.take_along_axis(far_v, at, 1))
        of_values = rest.sum((1, 2)) + (self.gains * errors).sum(1)
        return left.reshape(len(left), -1) * ROUND_UP, of_values * ROUND_UP  # (n, C * heads), (n,)


def first_order(slopes: tuple[Floats, Floats], radii: Floats, errors: Floats) -> Floats:
    """At most how much (n, j, heads) something moves in first order, for slopes (n, j, heads, C) by delta_c and e_c."""
    return np.einsum("njhc,nc->njh", slopes[0], radii) + np.einsum("njhc,nc->njh", slopes[1], errors)


def shift_log_odds(p: Floats, q: Floats, by: Floats) -> Floats:
    """The probability p, q = 1 - p, with its log-odds shifted; 0 or 1 where the shift is beyond all measure."""
    up, down = p * np.exp(np.clip(by, -50, 50)), q
    return np.where(by < -50, 0.0, np.where(by > 50, 1.0, up / (up + down)))


def softmax_curvature(low: Floats, high: Floats, C: int) -> Floats:
    """The softmax's second derivative is at most this for a probability between low and high and a range of 1."""
    nearest = np.clip(0.5, low, high)
    end = np.maximum(np.abs(1 - 2 * low), np.abs(1 - 2 * high))
    if C == 2:
        return np.minimum(nearest * (1 - nearest) * end, 1 / (6 * np.sqrt(3)) * ROUND_UP)
    end = np.maximum(end, np.maximum(2 * high - 1, 0) + 0.25)
    return np.minimum(nearest * (1 - nearest) * end, 9 / 64 * ROUND_UP)


def product_norm(a: Floats, b: Floats) -> Floats:
    """At least ||A^T B|| of flat matrices (..., k, d), by k x k matrices."""
    values, vectors = np.linalg.eigh(a @ np.swapaxes(a, -1, -2))
    root = vectors * np.sqrt(np.maximum(values, 0))[..., None, :]  # R with R R^T = A A^T: ||A^T B|| = ||R^T B||
    # The square root of rounding in the eigenvalues.
    return spectral_bound(np.swapaxes(root, -1, -2) @ b) + 1e-7 * spectral_bound(a) * spectral_bound(b)
