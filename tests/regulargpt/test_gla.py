"""gla beside its equations written as sums over all symbols before, and beside flash-linear-attention's references.

The laws of all networks of mixers are in test_mixing.py. A rotary angle of the wrong sign, a gate of another head, a
scale that is missing, and a chunk whose factors overflow would be noticed here alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regulargpt.models import MODELS
from regulargpt.models.mixing.chunks import gated
from regulargpt.options import ConfigError
from tests.regulargpt.cases import assert_equal, built
from tests.regulargpt.references import flash_linear_attention, sigmoid

DECAYS = ["channel", "head", "retention"]
H, D = 2, 8


def turned(x: Any, position: int) -> Any:
    """By the rotary angles of a position: pairs (i, i + K/2) as complex numbers."""
    half = len(x) // 2
    return (x[:half] + 1j * x[half:]) * np.exp(1j * position * 10_000 ** (-2 * np.arange(half) / len(x)))


def gates(w: dict[str, Any], xs: Any, h: int, K: int, decay: str) -> Any:
    """alpha (length, K) of a head."""
    if decay == "retention":
        return np.full((len(xs), K), 1 - 2.0 ** (-5 - h))
    if decay == "head":
        return np.repeat(sigmoid(xs @ w["decay.weight"][h] + w["decay.bias"][h])[:, None], K, 1) ** (1 / 16)
    rows = slice(h * K, (h + 1) * K)
    return sigmoid(xs @ w["decay.0.weight"].T @ w["decay.1.weight"][rows].T + w["decay.1.bias"][rows]) ** (1 / 16)


def mixed(w: dict[str, Any], xs: Any, decay: str) -> Any:
    """What the mixer makes of a word's x (length, d): each answer as a sum over the symbols so far, without a state."""
    wide = decay == "retention"
    K, V = (D // H, 2 * D // H) if wide else (D // H // 2, D // H)
    qs, ks, vs = np.split(xs @ w["qkv.weight"].T, [H * K, 2 * H * K], -1)
    ys = np.zeros((len(xs), H * V))
    for h in range(H):
        q, k, v = qs[:, h * K : (h + 1) * K], ks[:, h * K : (h + 1) * K], vs[:, h * V : (h + 1) * V]
        alpha = gates(w, xs, h, K, decay)
        for t in range(len(xs)):
            o = np.zeros(V)
            for s in range(t + 1):
                left = alpha[s + 1 : t + 1].prod(0)
                alike = (turned(q[t], t).conj() * turned(k[s], s)).real * left[: K // 2] if wide else q[t] * k[s] * left
                o = o + alike.sum() * v[s] / np.sqrt(K)
            ys[t, h * V : (h + 1) * V] = w["norm.weight"] * o / np.sqrt((o**2).mean() + 1e-5)
    z = xs @ w["gate.weight"].T
    return (z * sigmoid(z) * ys) @ w["out.weight"].T


@pytest.mark.parametrize("decay", DECAYS)
@torch.no_grad()
def test_it_is_the_equations(decay: str):
    mixer = built("gla", d_model=D, n_heads=H, decay=decay).blocks[1].mixer
    w = {name: value.numpy() for name, value in mixer.state_dict().items()}
    x = torch.randn(3, 9, D, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = np.array([mixed(w, each.numpy(), decay) for each in x])
    assert_equal([mixer(x, None, "all")[0]], [torch.from_numpy(expected)], 1e-12)


@pytest.mark.parametrize("decay", DECAYS)
@torch.no_grad()
def test_it_is_flash_linear_attention_s_reference(decay: str):
    module = flash_linear_attention({"channel": "gla", "head": "simple_gla", "retention": "retention"}[decay])
    mixer = built("gla", d_model=D, n_heads=H, decay=decay).blocks[0].mixer
    x = torch.randn(2, 11, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    inputs, _ = mixer.inputs(x, None)
    q, k, v, log_decay = inputs[0] * mixer.d_k**0.5, *inputs[1:]
    if decay == "channel":
        theirs = module.naive_recurrent_gla(q, k, v, log_decay)[0]
    elif decay == "head":
        theirs = module.naive_recurrent_simple_gla(q, k, v, log_decay[..., 0])[0]
    else:  # the layer turns q and k before it calls this
        q, k = (torch.from_numpy(positioned(part.numpy())) for part in (q, k))
        theirs = module.naive_retention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)
    o, _ = mixer.along(inputs, mixer.start(2)[0])
    assert torch.allclose(o.float(), theirs.float(), atol=1e-5, rtol=1e-4)


def positioned(x: Any) -> Any:
    """Each vector of (batch, length, heads, K) turned by its position in the word."""
    out = np.zeros_like(x)
    for b, t, h in np.ndindex(*x.shape[:3]):
        z = turned(x[b, t, h], t)
        out[b, t, h] = [*z.real, *z.imag]
    return out


def plain(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, S: Tensor) -> tuple[Tensor, Tensor]:
    found = []
    for t in range(q.shape[-2]):
        S = log_decay[..., t, :].exp()[..., None] * S + torch.einsum("rk,rv->rkv", k[:, t], v[:, t])
        found.append(torch.einsum("rkv,rk->rv", S, q[:, t]))
    return torch.stack(found, 1), S


@given(
    seed=st.integers(0, 99),
    chunk=st.integers(1, 25),
    K=st.integers(1, 5),
    V=st.integers(1, 5),
    own=st.booleans(),
    steep=st.floats(0, 3.0),
)
@settings(max_examples=25)
def test_a_chunk_of_any_shape_is_the_loop_in_outputs_and_gradients(seed, chunk, K, V, own, steep):
    """One gate for all channels, or its own for each; down to e^-75 within the chunk."""
    results = []
    for form in (plain, gated):
        generator = torch.Generator().manual_seed(seed)
        shapes = ((chunk, K), (chunk, K), (chunk, V), (chunk, K if own else 1), (K, V))
        parts = [torch.randn(3, *shape, generator=generator, dtype=torch.float64) for shape in shapes]
        parts[3] = -steep * parts[3].sigmoid()
        parts = [part.requires_grad_() for part in parts]
        o, S = form(*parts)
        loss = (o * torch.linspace(-1, 1, o.numel(), dtype=o.dtype).reshape(o.shape)).sum() + S.square().sum()
        results.append([o.detach(), S.detach(), *torch.autograd.grad(loss, parts)])
    assert_equal(results[1], results[0], 1e-12)


@pytest.mark.parametrize("decay", ["channel", "head"])
def test_gates_that_close_overflow_nothing(decay: str):
    """A gate of e^-300 in single precision: half of a chunk's sum of logarithms would be e^3000."""
    mixer = built("gla", decay=decay).blocks[0].mixer.float()
    bias = (mixer.decay if decay == "head" else mixer.decay[1]).bias
    with torch.no_grad():
        bias[0] = -4800.0
    x = torch.randn(2, 21, D, generator=torch.Generator().manual_seed(0))
    y = mixer(x, None, "all")[0]
    found = torch.autograd.grad(y.sum(), [*mixer.parameters()])
    mixer.along = mixer.loop
    assert torch.allclose(y, mixer(x, None, "all")[0], atol=1e-6)
    assert all(bool(gradient.isfinite().all()) for gradient in found)


@torch.no_grad()
def test_retention_holds_no_position():
    """The same symbols after a word that the state has lost: the same state, however long that word was."""
    mixer = built("gla:decay=retention").blocks[0].mixer
    x = torch.randn(1, 30, D, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    states = [mixer(torch.cat([0 * x[:, :before], x], 1), None, "all")[1][0][0] for before in (0, 1, 17)]
    assert_equal(states[1:], states[:1] * 2, 1e-12)


def test_refusals():
    with pytest.raises(ConfigError) as refused:
        MODELS.options("gla:d_model=12", "model")
    assert str(refused.value) == "model.d_model = 12 is not a multiple of 2 x model.n_heads = 8"
