"""Mamba (Gu and Dao 2023, 2312.00752): a diagonal recurrence whose steps depend on the symbol."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.mamba.options import MambaOptions
from regulargpt.models.mamba.scan import SelectiveScan
from regulargpt.models.mixing.layers import Draw, convolution, start_of_steps
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.mixing.model import Mixing


class MambaMixer(Mixer):
    """One layer's recurrence of E = expand * d_model channels, N = d_state numbers each; `Mamba` has its equations.

    >>> mixer = MambaMixer(4, 2, 2, 4, "unit", Draw("fan-in", torch.Generator().manual_seed(0)))
    >>> x = torch.ones(1, 3, 4)
    >>> y, ((h,), before) = mixer(x, None, "all")
    >>> y.shape, h.shape, before.shape
    (torch.Size([1, 3, 4]), torch.Size([1, 2, 8]), torch.Size([1, 3, 8]))
    """

    def __init__(self, d_model: int, d_state: int, expand: int, conv: int, range: str, draw: Draw):
        super().__init__()
        self.signed = range == "signed"
        E, R, generator = expand * d_model, -(-d_model // 16), draw.generator
        self.sizes = (R, d_state, d_state)
        self.in_proj = draw(d_model, 2 * E)
        self.conv = convolution(E, conv, generator, bias=True)
        self.x_proj = draw(E, sum(self.sizes))
        self.dt_proj = nn.Parameter(torch.empty(E, R).uniform_(-(R**-0.5), R**-0.5, generator=generator))
        self.dt_bias = nn.Parameter(start_of_steps(E, generator))
        A_log = torch.arange(1, d_state + 1).log()[:, None].expand(-1, E)  # (N, E)
        self.a_log, self.d = nn.Parameter(A_log.contiguous()), nn.Parameter(torch.ones(E))
        self.out_proj = draw(E, d_model)

    def a(self) -> Float[Tensor, "N E"]:
        """A, below 0."""
        return -self.a_log.exp()

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        u, z = self.in_proj(x).chunk(2, -1)
        u, after = self.conv(u, before)
        delta, B, C = self.x_proj(u).split(self.sizes, -1)
        delta = F.softplus(F.linear(delta, self.dt_proj, self.dt_bias))
        return (delta, B, C, u, z), after

    def start(self, batch: int) -> tuple[State, Any]:
        return (self.a_log.new_zeros(batch, *self.a_log.shape),), self.conv.start(batch)

    def step(self, state: State, at: Inputs) -> State:
        (h,), (delta, B, _, u, _) = state, at
        moved = (delta[:, None] * self.a()).exp()  # (batch, N, E)
        moved = 2 * moved - 1 if self.signed else moved
        return (moved * h + B[:, :, None] * (delta * u)[:, None],)

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch E"]:
        C = at[2]
        return (C[:, None] @ state[0])[:, 0]

    def output(
        self, o: Float[Tensor, "batch read E"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        _, _, _, u, z = at
        return self.out_proj((o + self.d * u) * F.silu(z))

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length E"], State]:
        """1.5 times as fast as the loop, with its gradient; without one the loop is as fast, and keeps no states."""
        if not torch.is_grad_enabled() or torch.compiler.is_compiling():
            return self.loop(inputs, state)
        delta, B, C, u, _ = inputs
        of_symbols = (part.transpose(0, 1).contiguous() for part in (delta, delta * u, B, C))
        y, h = SelectiveScan.apply(*of_symbols, self.a(), *state, self.signed)
        return y.transpose(0, 1), (h,)  # (batch, length, E)


class Mamba(Mixing):
    """Embedding, blocks x + mixer(RMSNorm(x)) [+ mlp(RMSNorm(x))], RMSNorm, a linear readout. The mixer of x (d_model):

        u, z = W_in x                                        rows 0..E-1 and E..2E-1 of `in_proj`
        u = SiLU(b + sum_{j<4} w_j * u_{t-3+j})               `conv`, zeros before the word; conv=0: u = SiLU(u)
        delta, B, C = W_x u                                  R, N, N rows of `x_proj`; R = ceil(d_model / 16)
        Delta = softplus(W_dt delta + b_dt)                  `dt_proj`, `dt_bias`, (E,)
        h_ne <- f(Delta_e A_ne) h_ne + B_n Delta_e u_e       A = -exp(`a_log`), (N, E)
        y_e = sum_n C_n h_ne + D_e u_e                       `d`
        out = W_out (y * SiLU(z))                            `out_proj`

    f is exp, for range=signed 2 exp - 1 (Grazzi et al. 2025), which only the factor of h gets. Nothing is clamped, and
    the only epsilon is the 1e-5 of the RMSNorms. A block carries h, (N, E), then, with conv=4, the last three u from
    before the convolution, (3, E), the oldest first. W_in, W_x, W_out and W_dt have no bias.

    Start (section 3.6 there, and its code): W_dt uniform in +-1/sqrt(R), softplus(b_dt) log-uniform in 0.001..0.1,
    A_ne = -(n + 1), D = 1.

    >>> model = Mamba(2, 3, d_model=8, range="signed")
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    Options = MambaOptions

    def mixer(self, options: MambaOptions, layer: int, draw: Draw) -> MambaMixer:
        o = options
        return MambaMixer(o.d_model, o.d_state, o.expand, o.conv, o.range, draw)
