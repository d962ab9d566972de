"""S4D (Gu et al. 2022, 2206.11893): a diagonal linear recurrence that is the same at every symbol."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.mixing.layers import Draw
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.mixing.model import Mixing
from regulargpt.models.s4d.options import S4dOptions


class S4dMixer(Mixer):
    """One layer's recurrence, of d_state / 2 complex numbers a channel; `S4d` has its equations.

    >>> mixer = S4dMixer(4, 6, Draw("fan-in", torch.Generator().manual_seed(0)))
    >>> y, ((h,), _) = mixer(torch.ones(1, 5, 4), None, "all")
    >>> y.shape, h.shape, h.dtype
    (torch.Size([1, 5, 4]), torch.Size([1, 4, 3]), torch.complex64)
    """

    def __init__(self, d_model: int, d_state: int, draw: Draw):
        super().__init__()
        n, generator = d_state // 2, draw.generator
        low, high = math.log(0.001), math.log(0.1)
        self.dt_log = nn.Parameter(torch.empty(d_model).uniform_(low, high, generator=generator))
        self.a_log = nn.Parameter(torch.full((d_model, n), 0.5).log())
        self.a_imag = nn.Parameter(math.pi * torch.arange(n).repeat(d_model, 1).to(self.a_log.dtype))
        self.c = nn.Parameter(torch.randn(d_model, n, 2, generator=generator) * 0.5**0.5)
        self.d = nn.Parameter(torch.randn(d_model, generator=generator))
        self.out = draw(d_model, 2 * d_model, bias=True)

    def steps(self) -> tuple[Complex[Tensor, "d_model n"], Complex[Tensor, "d_model n"]]:
        """log a, and b: what a symbol makes of the state, and of its input."""
        rate = torch.complex(-self.a_log.exp(), self.a_imag)
        log_a = rate * self.dt_log.exp()[:, None]
        return log_a, torch.expm1(log_a) / rate

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        return (x,), None

    def start(self, batch: int) -> tuple[State, Any]:
        kind = self.a_log.dtype.to_complex()
        return (self.a_log.new_zeros(batch, *self.a_log.shape, dtype=kind),), None

    def step(self, state: State, at: Inputs) -> State:
        log_a, b = self.steps()
        return (log_a.exp() * state[0] + b * at[0][..., None],)

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch d_model"]:
        return 2 * (torch.view_as_complex(self.c) * state[0]).sum(-1).real

    def output(
        self, o: Float[Tensor, "batch read d_model"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        return F.glu(self.out(F.gelu(o + self.d * at[0])), -1)

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length d_model"], State]:
        """As a convolution, by FFT, with the powers of a; what was carried fades by the same powers."""
        (u,), (h,), length = inputs, state, inputs[0].shape[1]
        log_a, b = self.steps()
        powers = (log_a[..., None] * torch.arange(length + 1, device=u.device)).exp()  # (d_model, n, length + 1)
        c = torch.view_as_complex(self.c)
        kernel = 2 * torch.einsum("dn,dnt->dt", c * b, powers[..., :-1]).real
        u = u.transpose(1, 2)  # (batch, d_model, length)
        spectrum = torch.fft.rfft(u, 2 * length) * torch.fft.rfft(kernel, 2 * length)
        y = torch.fft.irfft(spectrum, 2 * length)[..., :length]
        y = y + 2 * torch.einsum("bdn,dnt->bdt", c * h, powers[..., 1:]).real
        new = torch.einsum("bdt,dnt->bdn", u.to(powers.dtype), powers[..., :-1].flip(-1))
        return y.transpose(1, 2), (powers[..., -1] * h + b * new,)  # (batch, length, d_model)


class S4d(Mixing):
    """Embedding, blocks x + mixer(RMSNorm(x)) [+ mlp(RMSNorm(x))], RMSNorm, a linear readout. The mixer of x (d_model),
    for each channel with its own n < N/2 complex numbers, N = d_state:

        alpha_n = -exp(`a_log`_n) + i `a_imag`_n,   Delta = exp(`dt_log`)
        a_n = exp(Delta alpha_n),   b_n = (a_n - 1) / alpha_n
        h_n <- a_n h_n + b_n x,   y = 2 Re(sum_n c_n h_n) + D x      `c` (d_model, N/2, 2): real, imaginary; `d`
        out = left * sigmoid(right),   left, right = W GELU(y) + bias      `out`, 2 d_model rows; GELU by erf

    A block carries h, (d_model, N/2) complex. The only epsilon is the 1e-5 of the RMSNorms.

    Start (S4D-Lin): alpha_n = -1/2 + i pi n, Delta log-uniform in 0.001..0.1, c complex normal, D normal, W N(0, 1/d).
    a does not depend on the symbol, so the state is a sum over the word that fades. A language that has to hold a bit
    for as long as it takes is beyond it.

    >>> model = S4d(2, 3, d_model=8)
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    Options = S4dOptions

    def mixer(self, options: S4dOptions, layer: int, draw: Draw) -> S4dMixer:
        return S4dMixer(options.d_model, options.d_state, draw)
