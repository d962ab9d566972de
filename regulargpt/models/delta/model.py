"""DeltaNet, Gated DeltaNet and DeltaProduct: a matrix that each symbol corrects where its key reads it."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.delta.options import DeltaOptions
from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.layers import Draw, RmsNorm, convolution, start_of_steps
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.mixing.model import Mixing

EPS = 1e-6
"""Beside the square of a length by which keys and queries are divided, as flash-linear-attention has it."""
SUB_STEPS = 20
"""In a chunk: on a CPU longer ones are slower at 40 symbols, as their work grows with the square."""


def unit(x: Float[Tensor, "*rows K"]) -> Float[Tensor, "*rows K"]:
    """x / sqrt(|x|^2 + eps): never longer than 1, and a smooth function of x.

    >>> unit(torch.tensor([3.0, 4.0]))
    tensor([0.6000, 0.8000])
    """
    return x * (x.square().sum(-1, keepdim=True) + EPS).rsqrt()


class DeltaMixer(Mixer):
    """The recurrence of `Delta`; its state is S, (batch, heads, K, V)."""

    chunk = SUB_STEPS

    def __init__(self, options: DeltaOptions, draw: Draw):
        super().__init__()
        d_model, n_heads, n, generator = options.d_model, options.n_heads, options.householders, draw.generator
        self.n_heads, self.householders, self.largest = n_heads, n, 2.0 if options.range == "signed" else 1.0
        self.qkv = draw(d_model, (1 + 2 * n) * d_model)
        self.conv = convolution((1 + 2 * n) * d_model, options.conv, generator)
        self.beta = draw(d_model, n_heads * n)
        self.decay = draw(d_model, n_heads) if options.gate else None
        if options.gate:
            rates = 16 * torch.rand(n_heads, generator=generator)
            self.a_log = nn.Parameter(rates.clamp(min=1e-4).log())
            self.dt_bias = nn.Parameter(start_of_steps(n_heads, generator))
        self.output_gate = draw(d_model, d_model) if options.gates_outputs else None
        self.norm, self.out = RmsNorm(d_model // n_heads), draw(d_model, d_model)

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        """q (.., H, K), k (.., H, n, K), v (.., H, n, V), beta (.., H, n), and log alpha (.., H) if it is gated."""
        n, (y, after) = self.householders, self.conv(self.qkv(x), before)
        parts = y.unflatten(-1, (1 + 2 * n, self.n_heads, -1)).transpose(2, 3)  # (batch, length, heads, 1 + 2 n, K)
        q, k, v = parts.split([1, n, n], 3)
        beta = self.largest * self.beta(x).sigmoid().unflatten(-1, (self.n_heads, n))  # (batch, length, heads, n)
        inputs = (unit(q[..., 0, :]), unit(k), v, beta)
        if self.decay is not None:
            inputs = (*inputs, -self.a_log.exp() * F.softplus(self.decay(x) + self.dt_bias))
        return inputs, after

    def start(self, batch: int) -> tuple[State, Any]:
        K = len(self.norm.weight)
        return (self.norm.weight.new_zeros(batch, self.n_heads, K, K),), self.conv.start(batch)

    def step(self, state: State, at: Inputs) -> State:
        (S,), (_, k, v, beta, *gates) = state, at
        if gates:
            S = gates[0].exp()[..., None, None] * S
        for j in range(self.householders):
            key = k[..., j, :, None]  # (batch, heads, K, 1)
            error = v[..., j, None, :] - key.transpose(-1, -2) @ S  # (batch, heads, 1, V)
            S = S + beta[..., j, None, None] * key * error
        return (S,)

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch heads V"]:
        q = at[0]
        return (q[..., None, :] @ state[0])[..., 0, :] * q.shape[-1] ** -0.5

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length heads V"], State]:
        q, k, v, beta, *gates = (part.transpose(1, 2) for part in inputs)  # (batch, heads, length, ...)
        log_decay = gates[0] if gates else beta.new_zeros(beta.shape[:3])
        size = max(1, self.chunk // self.householders)
        o, S = chunks.delta(q * q.shape[-1] ** -0.5, k, v, beta, log_decay, state[0], size)
        return o.transpose(1, 2), (S,)

    def output(
        self, o: Float[Tensor, "batch read heads V"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        y = self.norm(o).flatten(-2)  # (batch, read, d_model)
        return self.out(y if self.output_gate is None else y * F.silu(self.output_gate(x)))


class Delta(Mixing):
    """DeltaNet, and by its options Gated DeltaNet and DeltaProduct.

    With x the normed input of a layer, of each head with K = V = d_model / n_heads:

        q, k_j, v_j = SiLU(conv(W x)),  j = 1..n,   q and k_j divided by sqrt(their squared length + 1e-6)
        beta_j = sigmoid(w_j x), twice that if signed
        log alpha = -exp(a_log) softplus(w x + dt_bias) if gated, else 0
        S <- alpha S;   for j = 1..n:  S <- S + beta_j k_j (v_j - S^T k_j)^T
        o = S^T q / sqrt(K)

    Out: RMSNorm of each head, with one gain for all, times SiLU(W x) if outputs have a gate, then linear. The weights
    of `qkv` are q of all heads, then k_1 of all heads to k_n, then v_1 to v_n; those of `beta` head by head.

    A step has the eigenvalue alpha (1 - beta) along a key and alpha elsewhere. n of them multiply to any product of n
    reflections and projections, nearly: sigmoid never is 0 or 1. Gated DeltaNet is published with keys of 3/4 of that
    size and values of twice the keys'.

    DeltaNet: Schlag et al. 2021, Yang et al. 2024; signed: Grazzi et al. 2025; Gated DeltaNet: Yang et al. 2025;
    DeltaProduct: Siems et al. 2025.

    Raises UserError where the heads do not divide the width.

    >>> model, words = Delta(2, 3, d_model=8, n_heads=2, householders=2, range="signed"), torch.tensor([[0, 1, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    Options = DeltaOptions

    def mixer(self, options: DeltaOptions, layer: int, draw: Draw) -> DeltaMixer:
        return DeltaMixer(options, draw)
