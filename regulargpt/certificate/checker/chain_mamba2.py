"""Mamba-2 (Dao and Gu 2024) and Mamba-3 (2603.15569), a step of them.

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

A block carries S (H, N, P), then the old (x, B, C) of the convolution, or v, R(B) in a single row.
"""

from __future__ import annotations

from typing import Any

from flint import arb

from regulargpt.certificate.checker.balls import cos, exp, joined, lowest, positive, sin, softplus
from regulargpt.certificate.checker.chain_diagonal import Diagonal
from regulargpt.certificate.checker.chain_mixing import outer, read_by, split
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Shapes, linear_shapes, sigmoid, silu, tanh

VERSIONS, LEAST_RATE = (2, 3), "1e-4"


class Mamba2(Diagonal):
    """A matrix a head, which decays by one number, and in version 3 turns."""

    SIZES = (*Diagonal.SIZES, "n_heads", "version", "d_state", "expand", "conv")

    def measure(self) -> None:
        self.H, self.N, self.E = self.heads(), self.model["d_state"], self.model["expand"] * self.d
        self.turns = self.model["version"] == 3
        if self.model["version"] not in VERSIONS or min(self.N, self.E) < 1 or (self.turns and self.N % 2):
            raise Malformed("config.json: the sizes are not those of a network")
        super().measure()

    def mixer_shapes(self, layer: int) -> Shapes:
        d, E, N, H = self.d, self.E, self.N, self.H
        rows = 2 * E + 2 * N + (3 * H + N // 2 if self.turns else H)
        shapes = linear_shapes("in_proj", rows, d, bias=False) | linear_shapes("out_proj", d, E, bias=False)
        shapes |= {"dt_bias": (H,), "d": (H,)}
        if self.turns:
            return shapes | {"b_norm.weight": (N,), "c_norm.weight": (N,), "b_bias": (H, N), "c_bias": (H, N)}
        return shapes | {"a_log": (H,), "norm.weight": (E,)} | self.conv_shapes("conv", E + 2 * N, bias=True)

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        S = self.H, self.N, self.E // self.H
        return [S, (1, self.E + self.N)] if self.turns else [S, *self.conv_parts(self.E + 2 * self.N)]

    def into(self, name: str, x: Any) -> Any:
        """The parts of u = in_proj x; of version 3 with the norms of B and C."""
        E, N, H, u = self.E, self.N, self.H, self.linear(f"{name}in_proj", x)
        if not self.turns:
            return split(u, E, E + 2 * N, H)
        z, v, B, C, *numbers = split(u, E, E, N, N, H, H, H, N // 2)
        return [z, v, self.rms(f"{name}b_norm", B), self.rms(f"{name}c_norm", C), *numbers]

    def kept(self, own: Any) -> Any:
        return joined(own[1:3], 1) if self.turns else own[1]

    def brings(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        return (self.third if self.turns else self.second)(name, own, old)

    def second(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        z, xBC, delta = own
        x, B, C = split(self.convolution(f"{name}conv", xBC, old), self.E, self.N, self.N)
        x, times = self.by_head(x), delta + self.w[f"{name}dt_bias"]  # (n, H, P), (n, H)
        v = outer(B[:, None], softplus(times)[..., None] * x)
        return self.left(name, times), v, (z, C[:, None], x, times)

    def third(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        (z, v, B, C, delta, rate, part, theta), w = own, self.w
        k, q = B[:, None] + w[f"{name}b_bias"], C[:, None] + w[f"{name}c_bias"]  # (n, H, N)
        old_v, old_B = split(old[0][:, 0], self.E, self.N)
        old_v, old_k, v = self.by_head(old_v), old_B[:, None] + w[f"{name}b_bias"], self.by_head(v)
        times, share = delta + w[f"{name}dt_bias"], sigmoid(part)
        t, left = softplus(times), self.left(name, times, rate)
        angles = t[..., None] * (arb.pi() * tanh(theta))[:, None]  # (n, H, N/2)
        a = left * cos(angles)[..., None], -left * sin(angles)[..., None]
        before = outer(old_k, ((1 - share) * t)[..., None] * old_v)
        return a, self.moved(before, a, outer(k, (share * t)[..., None] * v)), (z, q, v, times, rate)

    def left(self, name: str, times: Any, rate: Any = None) -> Any:
        """|a| (n, H, 1, 1), of t = log(1 + exp(times))."""
        least = arb(LEAST_RATE)
        rates = exp(self.w[f"{name}a_log"]) if rate is None else positive(softplus(rate) - least) + least
        return exp(-rates * softplus(times))[..., None, None]

    def sizes(self, name: str, rest: Any) -> Any:
        return self.left(name, *map(lowest, rest[3:]))

    def made(self, name: str, S: Any, rest: Any) -> Any:
        z, q, x, *_ = rest
        y = read_by(S, q) + self.w[f"{name}d"][:, None] * x
        y = y.reshape(len(z), self.E) * silu(z)  # (n, E)
        return self.linear(f"{name}out_proj", y if self.turns else self.rms(f"{name}norm", y))

    def pairs(self, S: Any) -> tuple[Any, Any] | None:
        return (S[:, :, ::2], S[:, :, 1::2]) if self.turns else None

    def unpaired(self, re: Any, im: Any) -> Any:
        parts = joined([re[:, :, :, None], im[:, :, :, None]], 3)  # (n, H, N/2, 2, P)
        return parts.reshape(len(re), self.H, self.N, -1)  # (n, H, N, P)

    def by_head(self, u: Any) -> Any:
        """Channels (n, E) as (n, H, P)."""
        return u.reshape(len(u), self.H, -1)  # (n, H, P)
