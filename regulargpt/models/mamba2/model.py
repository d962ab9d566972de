"""Mamba-2 (Dao and Gu 2024, 2405.21060) and, with `version=3`, the update of Mamba-3 (2603.15569)."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.mamba2.options import Mamba2Options
from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.layers import Draw, RmsNorm, convolution, start_of_steps
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.mixing.model import Mixing

CHUNK = 64
"""Symbols of a word that are computed at once: on a CPU words of 40 are fastest as one chunk."""
LEAST_RATE = 1e-4
"""At which a state decays; as in the code of the paper."""


class Heads(Mixer):
    """A mixer whose state is S, (batch, heads, N, P); `chunk` says what a chunk of symbols makes of it."""

    def __init__(self, d_model: int, n_heads: int, d_state: int, expand: int):
        super().__init__()
        self.E, self.n_heads, self.N = expand * d_model, n_heads, d_state

    def zeros(self, like: Float[Tensor, "..."], batch: int) -> Float[Tensor, "batch heads N P"]:
        """S before the first symbol."""
        return like.new_zeros(batch, self.n_heads, self.N, self.E // self.n_heads)

    @abstractmethod
    def chunk(
        self, inputs: Inputs, S: Float[Tensor, "batch heads N P"]
    ) -> tuple[Float[Tensor, "batch heads chunk P"], Float[Tensor, "batch heads N P"]]:
        """What is read at each of these symbols, and S after them; of `inputs` each (batch, heads, chunk, ...)."""

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch heads P"]:
        """S^T q; q are the first of the inputs."""
        return (at[0][..., None, :] @ state[0])[..., 0, :]

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length heads P"], State]:
        (S,), outputs = state, []
        for part in zip(*(x.split(CHUNK, 1) for x in inputs), strict=True):
            o, S = self.chunk(tuple(x.transpose(1, 2) for x in part), S)
            outputs.append(o.transpose(1, 2))  # (batch, chunk, heads, P)
        return torch.cat(outputs, 1), (S,)


class Ssd(Heads):
    """S <- a S + B (Delta x)^T, y = S^T C + D x, a = exp(-exp(a_log) Delta); `Mamba2` has all of its equations.

    >>> mixer = Ssd(4, 2, 3, 2, 4, Draw("fan-in", torch.Generator().manual_seed(0)))
    >>> y, ((S,), before) = mixer(torch.ones(1, 5, 4), None, "all")
    >>> y.shape, S.shape, before.shape
    (torch.Size([1, 5, 4]), torch.Size([1, 2, 3, 4]), torch.Size([1, 3, 14]))
    """

    def __init__(self, d_model: int, n_heads: int, d_state: int, expand: int, conv: int, draw: Draw):
        super().__init__(d_model, n_heads, d_state, expand)
        mixed = self.E + 2 * d_state
        self.in_proj = draw(d_model, self.E + mixed + n_heads)
        self.conv = convolution(mixed, conv, draw.generator, bias=True)
        self.dt_bias = nn.Parameter(start_of_steps(n_heads, draw.generator))
        self.a_log = nn.Parameter(torch.empty(n_heads).uniform_(1, 16, generator=draw.generator).log())
        self.d = nn.Parameter(torch.ones(n_heads))
        self.norm, self.out_proj = RmsNorm(self.E), draw(self.E, d_model)

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        """C and B (.., 1, N), Delta x and x (.., H, P), log a (.., H) and z (.., E)."""
        z, xbc, delta = self.in_proj(x).split([self.E, self.E + 2 * self.N, self.n_heads], -1)
        xbc, after = self.conv(xbc, before)
        x, B, C = xbc.split([self.E, self.N, self.N], -1)
        x = x.unflatten(-1, (self.n_heads, -1))  # (batch, length, heads, P)
        delta = F.softplus(delta + self.dt_bias)
        return (C[..., None, :], B[..., None, :], delta[..., None] * x, x, -self.a_log.exp() * delta, z), after

    def start(self, batch: int) -> tuple[State, Any]:
        return (self.zeros(self.d, batch),), self.conv.start(batch)

    def step(self, state: State, at: Inputs) -> State:
        (S,), (_, B, v, _, log_a, _) = state, at
        return (log_a.exp()[..., None, None] * S + B[..., None] * v[..., None, :],)

    def output(
        self, o: Float[Tensor, "batch read heads P"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        _, _, _, of_heads, _, z = at
        y = (o + self.d[:, None] * of_heads).flatten(-2)  # (batch, read, E)
        return self.out_proj(self.norm(y * F.silu(z)))

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length heads P"], State]:
        return super().along(inputs[:5], state)

    def chunk(
        self, inputs: Inputs, S: Float[Tensor, "batch heads N P"]
    ) -> tuple[Float[Tensor, "batch heads chunk P"], Float[Tensor, "batch heads N P"]]:
        C, B, v, _, log_a = inputs
        C, B = (x.expand(-1, self.n_heads, -1, -1) for x in (C, B))  # (batch, heads, chunk, N)
        return chunks.additive(C, B, v, log_a, S)


def turned(x: Float[Tensor, "*rows N V"], angles: Float[Tensor, "*rows pairs"]) -> Float[Tensor, "*rows N V"]:
    """Each pair of rows 2 i and 2 i + 1 turned by angle i: (x, y) becomes (cos x - sin y, sin x + cos y).

    >>> turned(torch.tensor([[1.0], [0.0]]), torch.tensor([math.pi / 2])).round()
    tensor([[-0.],
            [1.]])
    """
    cos, sin = angles.cos()[..., None], angles.sin()[..., None]  # (*rows, pairs, 1)
    one, other = x.unflatten(-2, (-1, 2)).unbind(-2)  # each (*rows, pairs, V)
    return torch.stack([cos * one - sin * other, sin * one + cos * other], -2).flatten(-3, -2)  # (*rows, N, V)


class Turning(Heads):
    """S <- a R(-Delta theta) (S + (1 - lambda) Delta k' v'^T) + lambda Delta k v^T, y = S^T q + D v.

    k' and v' are those of the symbol before; `Mamba2` has all of its equations.

    The codes of the paper carry the angles phi that all symbols added up, and turn keys and queries by them. Here the
    state itself turns, back by the angles of each symbol: R(-phi) S in place of S. That is the same function. But no
    angle is carried, which would grow, or jump from 2 pi to 0; and a step is one map of the state, whatever came
    before.

    >>> mixer = Turning(4, 2, 6, 2, Draw("fan-in", torch.Generator().manual_seed(0)))
    >>> y, ((S,), before) = mixer(torch.ones(1, 5, 4), None, "all")
    >>> y.shape, S.shape, before.shape
    (torch.Size([1, 5, 4]), torch.Size([1, 2, 6, 4]), torch.Size([1, 1, 14]))
    """

    def __init__(self, d_model: int, n_heads: int, d_state: int, expand: int, draw: Draw):
        super().__init__(d_model, n_heads, d_state, expand)
        self.sizes = [self.E, self.E, d_state, d_state, n_heads, n_heads, n_heads, d_state // 2]
        self.in_proj = draw(d_model, sum(self.sizes))
        self.dt_bias = nn.Parameter(start_of_steps(n_heads, draw.generator))
        self.b_norm, self.c_norm = RmsNorm(d_state), RmsNorm(d_state)
        self.b_bias, self.c_bias = (nn.Parameter(torch.ones(n_heads, d_state)) for _ in range(2))
        self.d, self.out_proj = nn.Parameter(torch.ones(n_heads)), draw(self.E, d_model)

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        """q, k, k' (.., H, N), v, v' (.., H, P), log a, lambda Delta, (1 - lambda) Delta (.., H), angles, z (.., E)."""
        z, v, B, C, delta, rate, trapezoid, theta = self.in_proj(x).split(self.sizes, -1)
        carried = torch.cat([before, torch.cat([v, self.b_norm(B)], -1)], 1)  # (batch, 1 + length, E + N)
        values, keys = carried.split([self.E, self.N], -1)
        values = values.unflatten(-1, (self.n_heads, -1))  # (batch, 1 + length, heads, P)
        keys = keys[..., None, :] + self.b_bias
        delta, part = F.softplus(delta + self.dt_bias), trapezoid.sigmoid()
        log_a = -F.softplus(rate).clamp(min=LEAST_RATE) * delta
        angles = delta[..., None] * math.pi * theta.tanh()[..., None, :]
        q, gains = self.c_norm(C)[..., None, :] + self.c_bias, (part * delta, (1 - part) * delta)
        inputs = (q, keys[:, 1:], keys[:, :-1], values[:, 1:], values[:, :-1], log_a, *gains, angles, z)
        return inputs, carried[:, -1:]

    def start(self, batch: int) -> tuple[State, Any]:
        return (self.zeros(self.d, batch),), self.d.new_zeros(batch, 1, self.E + self.N)

    def step(self, state: State, at: Inputs) -> State:
        (S,), (_, k, k_before, v, v_before, log_a, gain, gain_before, angles, _) = state, at
        S = S + k_before[..., None] * (gain_before[..., None] * v_before)[..., None, :]
        S = log_a.exp()[..., None, None] * turned(S, -angles)
        return (S + k[..., None] * (gain[..., None] * v)[..., None, :],)

    def output(
        self, o: Float[Tensor, "batch read heads P"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        v, z = at[3], at[9]
        return self.out_proj((o + self.d[:, None] * v).flatten(-2) * F.silu(z))  # (batch, read, d_model)

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length heads P"], State]:
        return super().along(inputs[:9], state)

    def chunk(
        self, inputs: Inputs, S: Float[Tensor, "batch heads N P"]
    ) -> tuple[Float[Tensor, "batch heads chunk P"], Float[Tensor, "batch heads N P"]]:
        """In the frame of the first symbol. After a symbol its pair k, v counts twice: as its own, and as k', v'."""
        q, k, k_before, v, v_before, log_a, gain, gain_before, angles = inputs
        S = S + k_before[:, :, 0, :, None] * (gain_before[:, :, :1, None] * v_before[:, :, :1])
        after = torch.cat([gain_before[:, :, 1:], torch.zeros_like(gain[:, :, :1])], 2)  # (batch, heads, chunk)
        phi = angles.cumsum(2)
        turned_q, turned_k = (turned(x[..., None], phi)[..., 0] for x in (q, k))
        o, S = chunks.additive(turned_q, turned_k, (gain + after)[..., None] * v, log_a, S)
        # At the symbol itself it has not yet counted as k', v'.
        early = after * (q * k).sum(-1)
        return o - early[..., None] * v, turned(S, -phi[:, :, -1])


class Mamba2(Mixing):
    """Embedding, blocks x + mixer(RMSNorm(x)) [+ mlp(RMSNorm(x))], RMSNorm, a linear readout.

    E = expand d_model channels are H heads of P each, head after head; N = d_state. No linear map has a bias, all
    epsilons are the 1e-5 of the RMSNorms, and S (H, N, P) starts at 0. The mixer of x (d_model), version 2:

        z, x, B, C, delta = W_in x             rows E, E, N, N, H of `in_proj`
        x, B, C = SiLU(b + sum_{j<4} w_j * (x, B, C)_{t-3+j})     `conv`; conv=0: SiLU alone
        Delta = softplus(delta + dt_bias)      (H,)
        S <- exp(-exp(a_log) Delta) S + B (Delta x)^T             a head; B and C are those of all heads
        y = S^T C + D x                        (H, P), D (H,) is `d`
        out = W_out RMSNorm(y * SiLU(z))       `norm`, over all E, after the gate; `out_proj`

    A block carries S, then, with conv=4, the last three (x, B, C) from before the convolution, (3, E + 2 N), the oldest
    first. Start: exp(a_log) uniform in 1..16, softplus(dt_bias) log-uniform in 0.001..0.1, D = 1.

    Version 3, without a convolution:

        z, v, B, C, delta, rate, part, theta = W_in x     rows E, E, N, N, H, H, H, N/2 of `in_proj`
        B, C = RMSNorm(B), RMSNorm(C)          `b_norm`, `c_norm`, over N
        k, q = B + b_bias, C + c_bias          (H, N), biases start at 1
        Delta = softplus(delta + dt_bias),  lambda = sigmoid(part),  a = exp(-max(softplus(rate), 1e-4) Delta)     (H,)
        phi_hi = Delta_h pi tanh(theta_i)      (H, N/2)
        S <- a R(-phi) (S + (1 - lambda) Delta k' v'^T) + lambda Delta k v^T
        y = S^T q + D v,   out = W_out (y * SiLU(z))

    k' and v' are k and v of the symbol before; before the first v' is 0. R(-phi) takes rows r = S_2i, s = S_2i+1 to
    cos(phi_i) r + sin(phi_i) s and cos(phi_i) s - sin(phi_i) r. A block carries S, then v' and RMSNorm(B'), (1, E + N).
    The paper turns k and q by the sum of all phi, and carries that sum: the same function, see `Turning`. All N/2
    pairs turn (`rope_fraction` 1 of its code, whose default is 0.5), and the rate is softplus as there.

    Eigenvalues of a step are a in (0, 1), or a e^{+-i phi}: those of version 3 can count modulo m.

    Raises UserError where the heads do not divide the width.

    >>> import torch
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> for version in (2, 3):
    ...     model = Mamba2(2, 3, d_model=8, n_heads=2, version=version)
    ...     torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    True
    """

    Options = Mamba2Options

    def mixer(self, options: Mamba2Options, layer: int, draw: Draw) -> Ssd | Turning:
        sizes = (options.d_model, options.n_heads, options.d_state, options.expand)
        return Turning(*sizes, draw) if options.version == 3 else Ssd(*sizes, options.conv, draw)
