"""Mamba-2 (Dao and Gu 2024) and Mamba-3 (2603.15569), one step of them.

E = expand d channels are H heads of P, head by head; N = d_state. R is the norm of the blocks, s(x) = 1 / (1 + e^-x).

version = 2, with a convolution that has a bias (conv = 0: silu alone):

    z, (x, B, C), delta = in_proj x  (E, E + 2 N, H);  x, B, C = conv((x, B, C))
    t = log(1 + e^(delta + dt_bias));  S' = e^(-e^a_log t) S + B (t x)^T,  y = S'^T C + d x    (in each head)
    mixer(x) = out_proj R(y * silu(z))

version = 3:

    z, v, B, C, delta, rate, part, theta = in_proj x  (E, E, N, N, H, H, H, N/2)
    B, C = R(B), R(C), with gains b_norm and c_norm;  k, q = B + b_bias, C + c_bias  (one of each a head)
    t = log(1 + e^(delta + dt_bias)),  l = s(part),  a = exp(-max(log(1 + e^rate), 10^-4) t)
    S' = a turned(S + (1 - l) t k~ v~^T) + l t k v^T,  y = S'^T q + d v      (in each head)
    mixer(x) = out_proj (y * silu(z))

where k~ and v~ are k and v of the symbol before, made of what is carried. `turned`: with phi_i = t pi tanh(theta_i),
rows 2i and 2i + 1, r and r', become cos(phi_i) r + sin(phi_i) r' and cos(phi_i) r' - sin(phi_i) r.

A block carries S (H, N, P), then the old (x, B, C) of the convolution, or v, R(B) in one row.
"""

from __future__ import annotations

from typing import Any

from flint import arb

from regulargpt.certificate.checker.balls import cos, exp, joined, positive, sin, softplus
from regulargpt.certificate.checker.chain_mixing import Mixing, decay, outer, read_by, silu, split
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Shapes, linear_shapes, sigmoid, tanh

VERSIONS, LEAST_RATE = (2, 3), "1e-4"


class Mamba2(Mixing):
    """A matrix a head, which decays by one number, and in version 3 turns."""

    SIZES = (*Mixing.SIZES, "n_heads", "version", "d_state", "expand", "conv")

    def measure(self) -> None:
        self.H, self.N, self.E = self.heads(), self.model["d_state"], self.model["expand"] * self.d
        self.turns = self.model["version"] == 3
        if self.model["version"] not in VERSIONS or min(self.N, self.E) < 1 or (self.turns and self.N % 2):
            raise Malformed("config.json: the sizes are not those of a network")
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        d, E, N, H = self.d, self.E, self.N, self.H
        rows = 2 * E + 2 * N + (3 * H + N // 2 if self.turns else H)
        found = linear_shapes("in_proj", rows, d, bias=False) | linear_shapes("out_proj", d, E, bias=False)
        found |= {"dt_bias": (H,), "d": (H,)}
        if self.turns:
            return found | {"b_norm.weight": (N,), "c_norm.weight": (N,), "b_bias": (H, N), "c_bias": (H, N)}
        return found | {"a_log": (H,), "norm.weight": (E,)} | self.conv_shapes("conv", E + 2 * N, bias=True)

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        S = self.H, self.N, self.E // self.H
        return [S, (1, self.E + self.N)] if self.turns else [S, *self.conv_parts(self.E + 2 * self.N)]

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        name = f"blocks.{layer}.mixer."
        u = self.linear(f"{name}in_proj", x)
        return (self.third if self.turns else self.second)(name, u, *carried)

    def second(self, name: str, u: Any, S: Any, *old: Any) -> tuple[Any, list[Any]]:
        """The mixer of version 2, from u (n, rows of in_proj)."""
        z, xBC, delta = split(u, self.E, self.E + 2 * self.N, self.H)
        xBC, after = self.convolved(f"{name}conv", xBC, [*old])
        x, B, C = split(xBC, self.E, self.N, self.N)
        x, t = x.reshape(*self.by_head(u)), softplus(delta + self.w[f"{name}dt_bias"])  # (n, H, P), (n, H)
        left = decay(self.w[f"{name}a_log"], t)[..., None, None]
        S = left * S + outer(B[:, None], t[..., None] * x)
        y = read_by(S, C[:, None]) + self.w[f"{name}d"][:, None] * x
        y = y.reshape(len(u), self.E) * silu(z)  # (n, E)
        return self.linear(f"{name}out_proj", self.rms(f"{name}norm", y)), [S, *after]

    def third(self, name: str, u: Any, S: Any, old: Any) -> tuple[Any, list[Any]]:
        """The mixer of version 3."""
        E, N, H, w = self.E, self.N, self.H, self.w
        z, v, B, C, delta, rate, part, theta = split(u, E, E, N, N, H, H, H, N // 2)
        B, C = self.rms(f"{name}b_norm", B), self.rms(f"{name}c_norm", C)
        k, q = B[:, None] + w[f"{name}b_bias"], C[:, None] + w[f"{name}c_bias"]  # (n, H, N)
        old_v, old_B = split(old[:, 0], E, N)
        after = joined([v, B], 1).reshape(len(u), 1, E + N)  # (n, 1, E + N)
        v, old_v = (x.reshape(*self.by_head(u)) for x in (v, old_v))  # (n, H, P)
        t, share = softplus(delta + w[f"{name}dt_bias"]), sigmoid(part)
        least = arb(LEAST_RATE)
        a = exp(-(positive(softplus(rate) - least) + least) * t)[..., None, None]
        S = S + outer(old_B[:, None] + w[f"{name}b_bias"], ((1 - share) * t)[..., None] * old_v)
        S = a * turned(S, t[..., None] * (arb.pi() * tanh(theta))[:, None]) + outer(k, (share * t)[..., None] * v)
        y = read_by(S, q) + w[f"{name}d"][:, None] * v
        return self.linear(f"{name}out_proj", y.reshape(len(u), E) * silu(z)), [S, after]  # (n, E)

    def by_head(self, u: Any) -> tuple[int, ...]:
        """The shape of channels, of as many words as u is of."""
        return len(u), self.H, self.E // self.H


def turned(S: Any, angles: Any) -> Any:
    """Matrices (n, H, N, P), whose pairs of rows are turned back by angles (n, H, N/2)."""
    c, s = cos(angles)[..., None], sin(angles)[..., None]
    r, other = S[:, :, ::2], S[:, :, 1::2]
    parts = [(c * r + s * other)[:, :, :, None], (c * other - s * r)[:, :, :, None]]
    return joined(parts, 3).reshape(*S.shape)  # (n, H, N/2, 2, P) as the rows were
