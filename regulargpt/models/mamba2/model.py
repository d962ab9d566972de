"""Mamba-2 (Dao and Gu 2024) and, with `version=3`, the update of Mamba-3 (2603.15569)."""

from __future__ import annotations

from regulargpt.models.mamba2.options import Mamba2Options
from regulargpt.models.mamba2.ssd import Ssd
from regulargpt.models.mamba2.turning import Turning
from regulargpt.models.mixing.layers import Draw
from regulargpt.models.mixing.model import Mixing


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
    The paper turns k and q by the sum of all phi, and carries that sum: the same function, see turning.py. All N/2
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
