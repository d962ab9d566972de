"""PD-SSM (Terzić et al. 2025): a state moved by a matrix with one entry in each column, times a complex diagonal."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.hooks import Hooked, HookPoint
from regulargpt.models.layers import Readout
from regulargpt.models.linear_rnn import pairs, unpaired
from regulargpt.models.mixing.layers import Draw, Swiglu
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.mixing.model import Mixing
from regulargpt.models.pd_ssm.options import PdSsmOptions
from regulargpt.models.pd_ssm.routing import Recurrence


class Sigmoids(nn.Module):
    """sigmoid(W_2 GELU(W_1 x + b_1) + b_2), 2 N units wide within."""

    def __init__(self, d_model: int, N: int, draw: Draw):
        super().__init__()
        self.up, self.down = draw(d_model, 2 * N, bias=True), draw(2 * N, N, bias=True)

    def forward(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows N"]:
        return self.down(F.gelu(self.up(x))).sigmoid()


class PdMixer(Mixer):
    """h <- P (d * h) + B x, o = W (Re h, Im h) + b + D x; the class `PdSsm` has the equations."""

    def __init__(self, d_model: int, N: int, variant: str, dictionary: int, gate_bias: float, draw: Draw):
        super().__init__()
        self.rows, self.bank, g = variant == "row", variant == "bank", draw.generator
        self.select = draw(d_model, dictionary)
        self.dictionary = nn.Parameter(torch.randn(dictionary, N, N, generator=g) * draw.std(N))
        self.magnitude, self.phase = Sigmoids(d_model, N, draw), Sigmoids(d_model, N, draw)
        nn.init.constant_(self.magnitude.down.bias, gate_bias)
        self.b = draw(d_model, 2 * N)
        with torch.no_grad():
            self.b.weight *= 0.5**0.5
        self.out = draw(2 * N, d_model, bias=True)
        self.skip = nn.Parameter(torch.randn(d_model, generator=g) * draw.std(d_model))

    def inputs(self, x: Float[Tensor, "batch length d_model"], before: Any) -> tuple[Inputs, Any]:
        """s, d and B x."""
        d = torch.polar(self.magnitude(x), 2 * math.pi * self.phase(x))
        return (self.select(x).softmax(-1), d, unpaired(self.b(x))), before

    def start(self, batch: int) -> tuple[State, Any]:
        h = self.dictionary.new_zeros(batch, self.dictionary.shape[1], 2)
        h[:, 0, 0] = 1.0
        return (torch.view_as_complex(h),), ()

    def step(self, state: State, at: Inputs) -> State:
        return (self.states(tuple(part[:, None] for part in at), state)[:, 0],)

    def read(self, state: State, at: Inputs) -> Complex[Tensor, "batch N"]:
        return state[0]

    def along(self, inputs: Inputs, state: State) -> tuple[Complex[Tensor, "batch length N"], State]:
        states = self.states(inputs, state)
        return states, (states[:, -1],)

    def states(self, inputs: Inputs, state: State) -> Complex[Tensor, "batch length N"]:
        """h after each symbol."""
        s, d, b = inputs
        states = Recurrence.apply(s, self.dictionary, d, b, state[0], self.rows, self.bank)
        assert isinstance(states, Tensor)
        return states

    def output(
        self, o: Complex[Tensor, "batch read N"], x: Float[Tensor, "batch read d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        return self.out(pairs(o)) + self.skip * x


class PostBlock(Hooked):
    """norm(mixer(x)), without a residual round the recurrence; with an MLP, norm(x + mlp(x)) after it."""

    def __init__(self, mixer: Mixer, d_model: int, mlp: str, draw: Draw):
        super().__init__()
        self.mixer, self.norm = mixer, nn.LayerNorm(d_model)
        self.mlp_norm = nn.LayerNorm(d_model) if mlp == "swiglu" else None
        self.mlp = Swiglu(d_model, draw) if mlp == "swiglu" else None
        self.hook_mixed, self.hook_resid_post = HookPoint(), HookPoint()

    def forward(
        self, x: Float[Tensor, "batch length d_model"], carries: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], Any]:
        mixed, carries = self.mixer(x, carries, readout)
        x = self.norm(self.hook_mixed(mixed))
        if self.mlp is not None and self.mlp_norm is not None:
            x = self.mlp_norm(x + self.mlp(x))
        return self.hook_resid_post(x), carries

    def entered(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        return x


class PdSsm(Mixing):
    """PD-SSM (Terzić et al. 2025, arXiv:2509.22284): any automaton of N states, one state of it a coordinate.

    Embedding x, then blocks, a linear readout of the last block's x. In a block, with `dictionary` matrices M_k
    (N, N) and a complex state h (N,) that starts as e_1 = (1, 0, ..., 0):

        s = softmax(W_s x)                                       select.weight (K, d); dictionary (K, N, N) holds M
        M = sum_k s_k M_k,   P = one-hot of the argmax of each column of M
        d = sigmoid(mlp_1 x) exp(2 pi i sigmoid(mlp_2 x)),       mlp x = W_2 GELU(W_1 x + b_1) + b_2: magnitude.up,
                                                                 magnitude.down, phase.up, phase.down (GELU with erf)
        h <- P (d * h) + B x                                     b.weight (2 N, d): rows 2 n, 2 n + 1 are Re, Im of n
        x <- LayerNorm(W (Re h_1, Im h_1, Re h_2, ...) + c + D * x)    out.weight, out.bias, skip; norm (eps 1e-5)

    and with `mlp` = "swiglu" after that x <- LayerNorm(x + W_3 (SiLU(u) * v)), (u, v) = W_12 x: mlp.up, mlp.down,
    mlp_norm. Logits are readout.weight x + readout.bias; rows of embedding.weight are the first x.

    So h'_i is (B x)_i and the sum of d_j h_j over all columns j of M whose largest entry stands in row i. |d| < 1.

    `variant` says where P has its 1s. "column" is the paper's and the authors' JAX code. "row" is the authors' PyTorch
    code, behind their table of regular languages: P = one-hot of the argmax of each *row* of M, and d stands before it,
    h'_i = d_i h_j(i) + (B x)_i with j(i) = argmax_j M_ij. Both can permute; only columns let a one-hot state follow a
    map that merges states. "bank" (Flash PD-SSM, arXiv:2605.19150) mixes nothing: P is the column matrix of M_k, k the
    argmax of s. Where two entries are equal the first counts. P jumps there, so that who bounds a step has to
    refuse inputs for which the largest entry is not certainly the largest.

    The gradient goes straight through the argmax, as if P were the softmax of M's columns (rows); of a bank, as if P
    were sum_k s_k P_k, and P_k the softmax of M_k's columns.

    `gate_bias` is where the last bias of mlp_1 starts. With 0, as published, the state halves with each symbol before
    anything is learned. One layer of 32 learned cycle navigation on 1 to 40 symbols in 1,900 steps with 3, and not in
    2,500 with 0.

    The two codes differ in more: the PyTorch code starts as here, has 8 matrices, and a dropout of 0.01 before W, which
    is left out here; the JAX code starts at h = 0, has 6, one linear map in place of each mlp, and no c. No published
    block has an MLP. What is carried are the numbers of h, a block after the other: Re h_1, Im h_1, Re h_2, ...

    >>> model = PdSsm(2, 3, d_model=8)
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    Options = PdSsmOptions
    block = PostBlock

    def __init__(self, n_symbols: int, n_outputs: int, **given: Any):
        super().__init__(n_symbols, n_outputs, **given)
        self.norm = nn.Identity()

    def mixer(self, options: PdSsmOptions, layer: int, draw: Draw) -> PdMixer:
        N = options.d_state or options.d_model
        return PdMixer(options.d_model, N, options.variant, options.dictionary, options.gate_bias, draw)
