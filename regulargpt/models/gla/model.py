"""Gated linear attention, and RetNet, which is its constant gate."""

from __future__ import annotations

from regulargpt.models.gla.mixers import PerChannel, PerHead
from regulargpt.models.gla.options import GlaOptions
from regulargpt.models.gla.retention import Retention
from regulargpt.models.mixing.layers import Draw
from regulargpt.models.mixing.model import Mixing

DECAYS = {"channel": PerChannel, "head": PerHead, "retention": Retention}


class Gla(Mixing):
    """Linear attention whose state, a matrix a head, decays by gates (GLA: Yang et al. 2023, Eq. 3 and section 4.4).

    Of each head, from the vector x of a block:

        q, k = W_q x, W_k x in R^K;    v = W_v x in R^V
        S <- diag(alpha) S + k v^T in R^{K x V};    o = S^T q / sqrt K
        out = W_o [SiLU(W_g x) * RMSNorm(o)], RMSNorm with eps 1e-5 and one gain (V,) for all heads

    S starts as zeros. There is no convolution, and no bias but in the gates alpha, which `decay` chooses:

    - `channel`: alpha = sigmoid(W_2 W_1 x + b)^(1/16), one for each of the K channels; W_1 has 16 rows. K = d_model / 2
      n_heads, V = d_model / n_heads.
    - `head`: alpha = sigmoid(W x + b)^(1/16), one for the head, as in gated retention (Sun et al. 2024). K and V alike.
    - `retention` (RetNet: Sun et al. 2023): alpha = 1 - 2^(-5-h) for head h = 0, 1, ... In place of S, R^-1 S decays:
      S <- alpha R^-1 S + k v^T. R turns each pair (i, i + K/2) of the K rows by theta_i = 10000^(-2i/K), and R^-1 turns
      back: rows a, b become a cos theta + b sin theta, b cos theta - a sin theta. That is q and k turned by their
      positions. K = d_model / n_heads, V = 2 d_model / n_heads.

    `blocks.i.mixer.` holds `qkv.weight`, rows of all heads of q, then of k, then of v; `decay.0.weight` (W_1),
    `decay.1.weight` and `.bias` (W_2, b), or `decay.weight` and `.bias` of `head`; `gate.weight`, `norm.weight` and
    `out.weight`. The state of a block is S, (n_heads, K, V).

    All factors of S lie in (0, 1): in real arithmetic and with finitely many digits it is no more than star-free.
    Those of `retention` do not depend on what is read.

    Raises `UserError` where d_model is no multiple of 2 n_heads.

    >>> import torch
    >>> model = Gla(2, 3, d_model=8, n_heads=2)
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    Options = GlaOptions

    def mixer(self, options: GlaOptions, layer: int, draw: Draw) -> PerHead:
        return DECAYS[options.decay](options.d_model, options.n_heads, draw)
