"""delta against the equations of its papers, in numpy and word by word, and against flash-linear-attention's reference.

A key that is taken before the correction of the one before it, a decay at every sub-step instead of the first, a head
that takes another's rows, and a chunk that reads a symbol too many would be noticed here alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regulargpt.models import MODELS
from regulargpt.models.delta.model import Delta
from regulargpt.models.mixing import chunks
from regulargpt.options import ConfigError
from tests.pairwise import pairwise
from tests.regulargpt.cases import SYMBOLS, assert_equal, built, fresh, slopes, words_of
from tests.regulargpt.references import flash_linear_attention, rms, sigmoid, silu


def mixed(w: dict[str, Any], xs: Any, H: int, n: int, largest: float) -> Any:
    """What the mixer makes of a word's x (length, d): each step as a matrix that multiplies the state."""
    d = xs.shape[1]
    K, ys = d // H, xs @ w["qkv.weight"].T
    if "conv.weight" in w:
        size = w["conv.weight"].shape[1]
        rows = np.concatenate([np.zeros((size - 1, ys.shape[1])), ys])
        ys = np.array([(rows[t : t + size] * w["conv.weight"].T).sum(0) for t in range(len(xs))])
    ys, out, states = silu(ys), np.zeros_like(xs), np.zeros((H, K, K))
    for t, x in enumerate(xs):
        for h in range(H):
            q, *rest = (ys[t, part * d + h * K : part * d + (h + 1) * K] for part in range(1 + 2 * n))
            keys, values, S = rest[:n], rest[n:], states[h]
            if "decay.weight" in w:
                dt = np.log1p(np.exp(w["decay.weight"][h] @ x + w["dt_bias"][h]))
                S = np.exp(-np.exp(w["a_log"][h]) * dt) * S
            for j in range(n):
                k = keys[j] / np.sqrt(keys[j] @ keys[j] + 1e-6)
                beta = largest * sigmoid(w["beta.weight"][h * n + j] @ x)
                S = (np.eye(K) - beta * np.outer(k, k)) @ S + beta * np.outer(k, values[j])
            states[h] = S
            q = q / np.sqrt(q @ q + 1e-6)
            out[t, h * K : (h + 1) * K] = rms(S.T @ q / np.sqrt(K), w["norm.weight"])
    gate = silu(xs @ w["output_gate.weight"].T) if "output_gate.weight" in w else 1
    return (out * gate) @ w["out.weight"].T


def part(w: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The weights of a part, by their names in it."""
    return {name.removeprefix(prefix): value for name, value in w.items() if name.startswith(prefix)}


def naive(model: Any, word: Tensor, H: int, n: int, largest: float) -> Any:
    """The answers at all positions of a word."""
    w = {name: value.numpy() for name, value in model.state_dict().items()}
    h = w["embedding.weight"][word.numpy()]
    for block in range(len(model.blocks)):
        own = part(w, f"blocks.{block}.")
        h = h + mixed(part(own, "mixer."), rms(h, own["norm.weight"]), H, n, largest)
        if "mlp.up.weight" in own:
            gate, value = np.split(rms(h, own["mlp_norm.weight"]) @ own["mlp.up.weight"].T, 2, -1)
            h = h + (silu(gate) * value) @ own["mlp.down.weight"].T
    return rms(h, w["norm.weight"]) @ w["readout.weight"].T + w["readout.bias"]


CASES = pairwise([1, 2, 4], [False, True], ["unit", "signed"], ["auto", "yes", "no"], [0, 1, 4], ["swiglu", "none"])


@pytest.mark.parametrize(("n", "gate", "span", "output_gate", "conv", "mlp"), CASES)
def test_it_is_the_equations(n: int, gate: bool, span: str, output_gate: str, conv: int, mlp: str):
    options = {"householders": n, "gate": gate, "range": span, "output_gate": output_gate, "conv": conv, "mlp": mlp}
    model, words = built("delta", **options), words_of(2, 7)
    expected = np.array([naive(model, word, 2, n, 2.0 if span == "signed" else 1.0) for word in words])
    assert_equal([model(words, readout="all").detach()], [torch.from_numpy(expected)], 1e-11)


def loop(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, log_decay: Tensor, S: Tensor) -> tuple[Tensor, Tensor]:
    found = []
    for t in range(q.shape[2]):
        S = log_decay[:, :, t, None, None].exp() * S
        for j in range(k.shape[3]):
            u = beta[:, :, t, j, None] * (v[:, :, t, j] - torch.einsum("bhkv,bhk->bhv", S, k[:, :, t, j]))
            S = S + torch.einsum("bhk,bhv->bhkv", k[:, :, t, j], u)
        found.append(torch.einsum("bhkv,bhk->bhv", S, q[:, :, t]))
    return torch.stack(found, 2), S


def drawn(seed: int, rows: tuple[int, int], length: int, n: int, K: int, V: int) -> list[Tensor]:
    """q, k, v, beta up to 2, log decays down to -20, a state."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((length, K), (length, n, K), (length, n, V), (length, n), (length,), (K, V))
    parts = [torch.randn(*rows, *shape, generator=generator, dtype=torch.float64) for shape in shapes]
    parts[1] = parts[1] / parts[1].norm(dim=-1, keepdim=True)
    parts[3], parts[4] = 2 * parts[3].sigmoid(), -20 * parts[4].sigmoid() ** 4
    return [part.requires_grad_() for part in parts]


@given(
    seed=st.integers(0, 99),
    length=st.integers(1, 30),
    size=st.integers(1, 35),
    n=st.integers(1, 4),
    K=st.integers(1, 5),
    V=st.integers(1, 5),
)
@settings(max_examples=25)
def test_chunks_of_any_size_are_the_loop_in_outputs_and_gradients(seed, length, size, n, K, V):
    results = []
    forms: list[Any] = [loop, partial(chunks.delta, size=size)]
    for form in forms:
        parts = drawn(seed, (2, 2), length, n, K, V)
        o, S = form(*parts)
        loss = (o * torch.linspace(-1, 1, o.numel(), dtype=o.dtype).reshape(o.shape)).sum() + S.square().sum()
        results.append([o.detach(), S.detach(), *torch.autograd.grad(loss, parts)])
    assert_equal(results[1], results[0], 1e-12)


def test_a_decay_that_leaves_nothing_makes_no_nan():
    """exp(-2000) is 0 in float64; a mask behind exp would multiply it with infinity."""
    parts = drawn(0, (1, 1), 6, 2, 3, 3)
    parts[4] = torch.full_like(parts[4], -2000.0).requires_grad_()
    q, k, v, beta, log_decay, S = parts
    o, S = chunks.delta(q, k, v, beta, log_decay, S, 6)
    gradients = torch.autograd.grad(o.sum() + S.sum(), parts)
    assert all(bool(x.isfinite().all()) for x in (o, S, *gradients))


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("gate", [False, True])
def test_it_is_flash_linear_attention_s_reference(n: int, gate: bool):
    theirs = flash_linear_attention("gated_delta_product").naive_recurrent_gated_delta_product
    q, k, v, beta, log_decay, S = (part.detach() for part in drawn(n, (2, 3), 11, n, 4, 5))
    log_decay = log_decay if gate else torch.zeros_like(log_decay)
    o, after = chunks.delta(q, k, v, beta, log_decay, S, 4)

    def along(x: Tensor) -> Tensor:
        return x.transpose(1, 2)  # (batch, length, heads, ...)

    def sub_steps(x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1, *range(4, x.dim())).flatten(1, 2)  # (batch, length * n, heads, ...)

    expected, state = theirs(
        *(along(q), sub_steps(k), sub_steps(v), along(log_decay) if gate else None, sub_steps(beta)),
        scale=1.0,
        initial_state=S.float(),
        num_householder=n,
    )
    assert torch.allclose(along(o).float(), expected.float(), atol=1e-5, rtol=1e-5)
    assert torch.allclose(after.float(), state.float(), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_eigenvalues_fill_the_range():
    """1 - beta along a key of length 1."""
    for written, low in (("delta", 0.0), ("delta:range=signed", -1.0)):
        model, words = fresh(written, init="fan-in"), words_of(8, 20)
        mixer = model.blocks[0].mixer
        beta = mixer.inputs(100 * model.embedding(words), mixer.start(8)[1])[0][3]
        assert low <= float(1 - beta.max()) < low + 0.01
        assert float(1 - beta.min()) > 0.99


@torch.no_grad()
def test_rates_start_where_they_are_said_to():
    mixer = fresh("delta:gate=true", d_model=600, n_heads=600, n_layers=1).blocks[0].mixer
    rate, dt = mixer.a_log.exp(), torch.nn.functional.softplus(mixer.dt_bias)
    assert float(rate.mean()) == pytest.approx(8, abs=0.6)
    assert float(rate.max()) <= 16
    assert 0.001 <= float(dt.min()) < float(dt.median()) == pytest.approx(0.01, rel=0.3)
    assert float(dt.max()) <= 0.1001


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("delta:householders=0", "model.householders = 0; at least 1"),
        ("delta:householders=5", "model.householders = 5; at most 4"),
        ("delta:range=closed", "model.range = 'closed'; choose one of unit, signed"),
        ("delta:conv=-1", "model.conv = -1; at least 0"),
        ("delta:conv=65", "model.conv = 65; at most 64"),
        ("delta:n_heads=3", "model.d_model = 64 is not a multiple of model.n_heads = 3"),
        ("delta:output_gate=true", "model.output_gate = 'true'; choose one of auto, yes, no"),
    ],
)
def test_refused_options(written: str, message: str):
    with pytest.raises(ConfigError) as refused:
        MODELS.options(written, "model")
    assert str(refused.value) == message


def test_a_constructor_refuses_what_the_options_refuse():
    with pytest.raises(ConfigError, match=r"^d_model = 8 is not a multiple of model.n_heads = 3$"):
        Delta(SYMBOLS, 2, d_model=8, n_heads=3)
    with pytest.raises(ConfigError, match=r"^range = 'sined'; choose one of unit, signed$"):
        Delta(SYMBOLS, 2, range="sined")


def test_no_step_makes_a_state_longer_than_what_it_reads():
    """Keys of length at most 1 and beta below 2: along a key the state is reflected or shrunk, never grown."""
    model, words = built("delta:range=signed,conv=0", n_layers=1), words_of(2, 400)
    with torch.no_grad():
        (S,), _ = model.read(words, None, "last")[1][0]
        values = model.blocks[0].mixer.inputs(model.blocks[0].norm(model.embedding(words)), ())[0][2]
    assert float(S.square().sum((2, 3)).max().sqrt()) < 2 * float(values.norm(dim=-1).sum(1).max())


def test_gradients_reach_every_weight():
    model = built("delta:householders=2,gate=true,range=signed")
    for name, slope in zip(
        dict(model.named_parameters()), slopes(model, model(words_of(3, 9), "all"))[1:], strict=True
    ):
        assert bool(slope.any()), name
