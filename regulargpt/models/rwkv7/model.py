"""RWKV-7 (Peng et al. 2025): a matrix that decays by channel, from which each symbol removes along a key."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float
from torch import Tensor

from regulargpt.models.mixing.layers import Draw
from regulargpt.models.mixing.model import Mixing
from regulargpt.models.rwkv7.mixer import Rwkv7Mixer
from regulargpt.models.rwkv7.options import Rwkv7Options

REMOVALS = {"unit": 1.0, "signed": 2.0}


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
