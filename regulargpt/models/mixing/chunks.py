"""One chunked algorithm for every state that is a matrix: the words of a chunk at once, the state from chunk to chunk.

S_t = (decay) S_{t-1} - (erase) + k_t v_t^T, o_t = S_t^T q_t. Within a chunk, c_t is the sum of the log decays up to t
(c <= 0, so nothing overflows), and D_ts = exp(c_t - c_s) for s <= t, else 0.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def decays(c: Float[Tensor, "*rows chunk"]) -> Float[Tensor, "*rows chunk chunk"]:
    """D: what is left at t (rows) of what came at s (columns).

    >>> decays(torch.tensor([0.0, -1.0]))
    tensor([[1.0000, 0.0000],
            [0.3679, 1.0000]])
    """
    apart = c[..., :, None] - c[..., None, :]
    later = torch.ones(apart.shape[-2:], dtype=torch.bool, device=c.device).triu(1)
    # Masked before exp: after it, inf * 0 would be NaN in the gradient.
    return apart.masked_fill(later, -torch.inf).exp()


def gated(
    q: Float[Tensor, "*rows chunk K"],
    k: Float[Tensor, "*rows chunk K"],
    v: Float[Tensor, "*rows chunk V"],
    log_decay: Float[Tensor, "*rows chunk #K"],
    state: Float[Tensor, "*rows K V"],
) -> tuple[Float[Tensor, "*rows chunk V"], Float[Tensor, "*rows K V"]]:
    """As `additive`, with a decay for each channel of the keys, or one: the fastest where decays depend on the symbol.

    D_ts is e^{c_t - m} e^{m - c_s} in each channel, with m half of c_C: both factors stay within e^{+-|m|}. So |c_C|
    has to stay below `WIDEST`.
    """
    c = log_decay.cumsum(-2)
    middle = c[..., -1:, :] / 2
    q, k, half = q * (c - middle).exp(), k * (middle - c).exp(), middle.mT.exp()  # half: (*rows, K or 1, 1)
    state = half * state
    return (q @ k.mT).tril() @ v + q @ state, half * (k.mT @ v + state)


WIDEST = 80.0
"""The product of two factors, e^80, is still a number of single precision."""


def additive(
    q: Float[Tensor, "*rows chunk K"],
    k: Float[Tensor, "*rows chunk K"],
    v: Float[Tensor, "*rows chunk V"],
    log_decay: Float[Tensor, "*#rows chunk"],
    state: Float[Tensor, "*rows K V"],
) -> tuple[Float[Tensor, "*rows chunk V"], Float[Tensor, "*rows K V"]]:
    """S <- exp(log_decay) S + k v^T, o = S^T q, over a chunk: o, and S after it.

    O = (Q K^T o D) V + (Q e^c) S_0 and S_C = e^{c_C} S_0 + (K e^{c_C - c})^T V.
    """
    c = log_decay.cumsum(-1)
    o = (q @ k.mT * decays(c)) @ v + (q * c.exp()[..., None]) @ state
    left = (c[..., -1:] - c).exp()[..., None]  # (*rows, chunk, 1)
    return o, c[..., -1:, None].exp() * state + (k * left).mT @ v


def delta(
    q: Float[Tensor, "batch heads length K"],
    k: Float[Tensor, "batch heads length n K"],
    v: Float[Tensor, "batch heads length n V"],
    beta: Float[Tensor, "batch heads length n"],
    log_decay: Float[Tensor, "batch heads length"],
    state: Float[Tensor, "batch heads K V"],
    size: int,
) -> tuple[Float[Tensor, "batch heads length V"], Float[Tensor, "batch heads K V"]]:
    """S <- exp(log_decay) S, then n times S <- S + beta k (v - S^T k)^T, o = S^T q: o, and S after all.

    The n steps of a symbol are sub-steps, of which the first decays and the last is read. In a chunk of `size` symbols
    what each sub-step adds, u = beta (v - S^T k), solves one triangular system, that of all chunks at once:

        (I + A) u = beta V - (beta e^c K) S_0,    A = the part of beta K K^T o D below the diagonal.

    With u in place of v the state goes from chunk to chunk as an additive rule (Yang et al. 2024; Siems et al. 2025).
    """
    length, n, K = k.shape[2:]
    size = min(size, length)
    q, k, v, beta, log_decay = (in_chunks(part, size) for part in (q, k, v, beta, log_decay))
    k, v, beta = k.flatten(3, 4), v.flatten(3, 4), beta.flatten(3, 4)[..., None]  # (batch, heads, chunks, size n, ...)
    c = log_decay.cumsum(-1)  # (batch, heads, chunks, size)
    each = c.repeat_interleave(n, -1)  # (batch, heads, chunks, size n)
    D = decays(each)
    right = beta * torch.cat([k * each.exp()[..., None], v], -1)
    A = beta * (k @ k.mT) * D
    W, U = torch.linalg.solve_triangular(A, right, upper=False, unitriangular=True).split([K, v.shape[-1]], -1)
    seen = (q @ k.mT) * D[..., n - 1 :: n, :]  # (batch, heads, chunks, size, size n)
    q = q * c.exp()[..., None]
    left = (k * (c[..., -1:] - each).exp()[..., None]).mT
    whole, outputs = c[..., -1:, None].exp(), []
    for i in range(q.shape[2]):
        u = U[:, :, i] - W[:, :, i] @ state
        outputs.append(q[:, :, i] @ state + seen[:, :, i] @ u)
        state = whole[:, :, i] * state + left[:, :, i] @ u
    return torch.cat(outputs, 2)[:, :, :length], state


def in_chunks(
    x: Float[Tensor, "batch heads length *rest"], size: int
) -> Float[Tensor, "batch heads chunks size *rest"]:
    """Cut along the word. The last chunk is filled with zeros: as k, v, q, beta and log decay they change no state.

    >>> in_chunks(torch.ones(1, 1, 3), 2)
    tensor([[[[1., 1.],
              [1., 0.]]]])
    """
    lacks = -x.shape[2] % size
    x = torch.cat([x, x.new_zeros(*x.shape[:2], lacks, *x.shape[3:])], 2) if lacks else x
    return x.unflatten(2, (-1, size))  # (batch, heads, chunks, size, ...)


def removing(
    q: Float[Tensor, "batch heads length K"],
    k: Float[Tensor, "batch heads length K"],
    v: Float[Tensor, "batch heads length V"],
    key: Float[Tensor, "batch heads length K"],
    removed: Float[Tensor, "batch heads length K"],
    log_decay: Float[Tensor, "batch heads length K"],
    state: Float[Tensor, "batch heads K V"],
    size: int,
) -> tuple[Float[Tensor, "batch heads length V"], Float[Tensor, "batch heads K V"]]:
    """S <- diag(exp(log_decay)) S - removed (S^T key)^T + k v^T, o = S^T q: o, and S after all.

    As `gated`, and what is removed, u = -S^T key of the state before each symbol, solves one triangular system:

        (I + A) u = -(key e^{c - log_decay}) S_0 - (key k^T o D) V,    A = key removed^T o D

    with both D below the diagonal. The sum of log decays in a chunk has to stay below `WIDEST` (Yang et al. 2024).
    """
    length, K = q.shape[2:]
    size = min(size, length)
    q, k, v, key, removed, log_decay = (in_chunks(part, size) for part in (q, k, v, key, removed, log_decay))
    c = log_decay.cumsum(-2)  # (batch, heads, chunks, size, K)
    middle = c[..., -1:, :] / 2
    less, half = (middle - c).exp(), middle.mT.exp()
    q, key, k, removed = q * (c - middle).exp(), key * (c - log_decay - middle).exp(), k * less, removed * less
    right = torch.cat([key, (key @ k.mT).tril(-1) @ v], -1)
    solved = torch.linalg.solve_triangular(key @ removed.mT, right, upper=False, unitriangular=True)
    W, U = solved.split([K, v.shape[-1]], -1)
    seen, own, added, removed = (q @ removed.mT).tril(), (q @ k.mT).tril() @ v, k.mT @ v, removed.mT
    outputs = []
    for i in range(q.shape[2]):
        state = half[:, :, i] * state
        u = -(U[:, :, i] + W[:, :, i] @ state)
        outputs.append(own[:, :, i] + q[:, :, i] @ state + seen[:, :, i] @ u)
        state = half[:, :, i] * (state + added[:, :, i] + removed[:, :, i] @ u)
    return torch.cat(outputs, 2)[:, :, :length], state
