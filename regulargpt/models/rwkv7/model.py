"""RWKV-7 (Peng et al. 2025): a matrix that decays by channel, from which each symbol removes along a key."""

from __future__ import annotations

from math import exp
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.layers import undrawn
from regulargpt.models.mixing import chunks
from regulargpt.models.mixing.layers import Draw
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.mixing.model import Mixing
from regulargpt.models.rwkv7.options import Rwkv7Options
from regulargpt.models.rwkv7.starts import Starts

RANK = 32
"""Of the maps to w, a, g and to the mixture of v; no more than d_model."""
CHUNK = 20
SHARPEST = exp(-0.5)
"""The largest -log w."""
REMOVALS = {"unit": 1.0, "signed": 2.0}


class Rwkv7Mixer(Mixer):
    """Of the layer `depth[0]` of `depth[1]`; `removal` is c. Equations: `Rwkv7`."""

    def __init__(self, d_model: int, n_heads: int, removal: float, depth: tuple[int, int], generator: torch.Generator):
        super().__init__()
        self.n_heads, self.d_head, self.removal = n_heads, d_model // n_heads, removal
        self.r, self.k, self.v = (orthogonal(d_model, d_model, gain, generator) for gain in (1.0, 0.1, 1.0))
        self.w = low_rank(d_model, nn.Tanh(), generator)
        self.a = low_rank(d_model, nn.Identity(), generator)
        self.g = low_rank(d_model, nn.Sigmoid(), generator)
        self.mix = low_rank(d_model, nn.Identity(), generator) if depth[0] else None
        self.out = orthogonal(d_model, d_model, 0.0, generator)
        start = Starts(d_model, self.d_head, *depth)
        self.mu = nn.Parameter(start.mu())
        self.w_0, self.a_0 = nn.Parameter(start.w_0()), nn.Parameter(start.a_0())
        self.v_0 = nn.Parameter(start.v_0()) if depth[0] else None
        self.k_k, self.k_a, self.r_k = (nn.Parameter(value) for value in start.of_keys())
        self.gain, self.bias = nn.Parameter(start.gain()), nn.Parameter(torch.zeros(d_model))

    def start(self, batch: int) -> tuple[State, Any]:
        d_model, heads = len(self.gain), (self.n_heads, self.d_head, self.d_head)
        return (self.gain.new_zeros(batch, *heads),), self.gain.new_zeros(batch, 1, d_model)

    def values(
        self, x: Float[Tensor, "batch length d_model"], before: Float[Tensor, "batch 1 d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """v of this layer by itself."""
        return self.v(torch.lerp(x, shifted(x, before), self.mu[3]))

    def inputs(self, x: Float[Tensor, "batch length 2*d_model"], before: Any) -> tuple[Inputs, Any]:
        """r, log w, k~, v, kappa and c a * kappa, (batch, length, n_heads, d_head), and g (batch, length, d_model).

        Behind the block's own vectors stands v of the first block.
        """
        x, v = x.chunk(2, -1)
        last = shifted(x, before)
        x_r, x_w, x_k, x_v, x_a, x_g = (torch.lerp(x, last, mu) for mu in self.mu)
        log_w = -SHARPEST * (self.w_0 + self.w(x_w)).sigmoid()
        k, a = self.k(x_k), (self.a_0 + self.a(x_a)).sigmoid()
        if self.mix is not None and self.v_0 is not None:
            v = torch.lerp(self.v(x_v), v, (self.v_0 + self.mix(x_v)).sigmoid())
        kappa = F.normalize(self.heads(k * self.k_k), dim=-1)
        k = self.heads(k * (1 + (a - 1) * self.k_a))
        removed = self.removal * self.heads(a) * kappa
        return (self.heads(self.r(x_r)), self.heads(log_w), k, self.heads(v), kappa, removed, self.g(x_g)), x[:, -1:]

    def heads(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows n_heads d_head"]:
        return x.unflatten(-1, (self.n_heads, self.d_head))  # (*rows, n_heads, d_head)

    def step(self, state: State, at: Inputs) -> State:
        (S,), (_, log_w, k, v, kappa, removed, _) = state, at
        along_key = S @ kappa[..., None]  # (batch, n_heads, V, 1)
        return (S * log_w.exp()[..., None, :] - along_key * removed[..., None, :] + v[..., None] * k[..., None, :],)

    def read(self, state: State, at: Inputs) -> Float[Tensor, "batch n_heads d_head"]:
        return (state[0] @ at[0][..., None])[..., 0]

    def along(self, inputs: Inputs, state: State) -> tuple[Float[Tensor, "batch length n_heads d_head"], State]:
        """A chunk at a time: the decays of one have a sum of logarithms of at most 13."""
        r, log_w, k, v, kappa, removed, _ = (part.transpose(1, 2) for part in inputs)  # (batch, n_heads, length, ...)
        o, S = chunks.removing(r, k, v, kappa, removed, log_w, state[0].mT, CHUNK)
        return o.transpose(1, 2), (S.mT,)

    def output(
        self, o: Float[Tensor, "batch read n_heads d_head"], x: Float[Tensor, "batch read 2*d_model"], at: Inputs
    ) -> Float[Tensor, "batch read d_model"]:
        r, _, k, v, _, _, g = at
        normed = F.layer_norm(o, (self.d_head,), eps=1e-5 * self.d_head).flatten(-2)  # (batch, read, d_model)
        bonus = (r * self.heads(self.r_k) * k).sum(-1, keepdim=True) * v
        return self.out((normed * self.gain + self.bias + bonus.flatten(-2)) * g)


def shifted(
    x: Float[Tensor, "batch length d_model"], before: Float[Tensor, "batch 1 d_model"]
) -> Float[Tensor, "batch length d_model"]:
    """The vector before each."""
    return torch.cat([before, x[:, :-1]], 1)


def orthogonal(n_in: int, n_out: int, gain: float, generator: torch.Generator) -> nn.Linear:
    """A linear layer without a bias; with gain 0 it starts as zeros."""
    layer = undrawn(n_in, n_out, bias=False)
    nn.init.orthogonal_(layer.weight, gain, generator) if gain else nn.init.zeros_(layer.weight)
    return layer


def low_rank(d_model: int, between: nn.Module, generator: torch.Generator) -> nn.Sequential:
    """A map of rank 32 that starts as zeros, of which only the second factor is drawn."""
    rank = min(RANK, d_model)
    return nn.Sequential(orthogonal(d_model, rank, 0.0, generator), between, orthogonal(rank, d_model, 0.1, generator))


class Rwkv7(Mixing):
    """RWKV-7's time mixing (Peng et al. 2025, section 4.1); layout of the blocks, MLP and norms are those of `Mixing`.

    From the vectors x_t of a block, and x_{t-1} before it (zeros before the word), with products * of each channel and
    a vector mu for each of r, w, k, v, a, g:

        x_r = x_t + mu_r * (x_{t-1} - x_t), and so x_w, x_k, x_v, x_a, x_g
        r, k, v = R x_r, K x_k, V x_v
        w = exp(-exp(-1/2) sigmoid(w_0 + W_2 tanh(W_1 x_w)))
        a = sigmoid(a_0 + A_2 A_1 x_a);    g = G_2 sigmoid(G_1 x_g)
        v <- v + (v' - v) * sigmoid(v_0 + V_2 V_1 x_v), v' that of the first block; the first has no such gate

    Then of each head, with K = d_model / n_heads channels of each:

        kappa = k * k_k / max(|k * k_k|, 1e-12);    k~ = k * (1 + (a - 1) * k_a)
        S <- S diag(w) - c (S kappa) (a * kappa)^T + v k~^T in R^{K x K};    o = S r
        y = (o - mean o) / sqrt(var o + 1e-5 K) * gain + bias + (sum r * r_k * k~) v
        out = O (y * g)

    c is 1, or 2 with `range = signed`. S starts as zeros. Along kappa S is multiplied by about w - c a, where w lies in
    (0.545, 1) and a in (0, 1): with c = 1 by no less than -0.46, and parity is not learned on long words. With c = 2
    the factor -1 is reached, as the proofs of the paper have it; but down to -1.46 it goes, so a state may grow.

    `blocks.i.mixer.` holds `mu` (6, d_model) in the order r, w, k, v, a, g; `r.weight`, `k.weight`, `v.weight`;
    `w_0`, `w.0.weight` (W_1), `w.2.weight` (W_2); `a_0`, `a.0.weight`, `a.2.weight`; `g.0.weight`, `g.2.weight`; from
    the second block on `v_0`, `mix.0.weight`, `mix.2.weight`; `k_k`, `k_a`, `r_k`, each (d_model,); `gain` and `bias`,
    (d_model,); `out.weight`. Channels stand head after head. The state of a block is S, (n_heads, V, K) as above: rows
    are those of v, columns those of k. Beside it stands x_{t-1}, (1, d_model), the last normed vector.

    Raises `UserError` where n_heads does not divide d_model, or leaves heads of one channel.

    >>> import torch
    >>> model = Rwkv7(2, 3, d_model=8, n_heads=2)
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    Options = Rwkv7Options

    def mixer(self, options: Rwkv7Options, layer: int, draw: Draw) -> Rwkv7Mixer:
        sizes = (options.d_model, options.n_heads)
        return Rwkv7Mixer(*sizes, REMOVALS[options.range], (layer, options.n_layers), draw.generator)

    def beside(
        self, x: Float[Tensor, "batch length d_model"], carries: Any
    ) -> tuple[Float[Tensor, "batch length d_model"]]:
        """v of the first block."""
        first: Any = self.blocks[0]
        _, before = first.mixer.start(len(x)) if carries is None else carries
        return (first.mixer.values(first.norm(x), before),)
