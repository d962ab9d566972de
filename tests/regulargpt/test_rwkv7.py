"""rwkv7 beside its equations, in numpy and symbol by symbol, and beside flash-linear-attention's reference.

The laws of all networks of mixers are in test_mixing.py. A shift that takes the wrong neighbour, v of another layer, a
removal on the wrong side of the state, and a bonus without its key would be noticed here alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from regulargpt.models import MODELS
from regulargpt.models.rwkv7.model import Rwkv7
from regulargpt.models.rwkv7.starts import Starts
from regulargpt.options import ConfigError
from tests.regulargpt.cases import assert_equal, built, fresh, words_of
from tests.regulargpt.references import flash_linear_attention, rms, sigmoid

H, D = 2, 8
K = D // H


class Layer:
    """A layer that reads vector after vector."""

    def __init__(self, weights: dict[str, Any], c: float):
        self.w, self.c = weights, c
        self.last, self.states = np.zeros(D), np.zeros((H, K, K))

    def low_rank(self, name: str, x: Any, between: Any) -> Any:
        return self.w[f"{name}.2.weight"] @ between(self.w[f"{name}.0.weight"] @ x)

    def read(self, x: Any, first: Any) -> tuple[Any, Any]:
        """What it makes of x, and v of the first layer."""
        w = self.w
        shifted = {name: x + mu * (self.last - x) for name, mu in zip("rwkvag", w["mu"], strict=True)}
        self.last = x
        r, k, v = (w[f"{name}.weight"] @ shifted[name] for name in "rkv")
        decay = np.exp(-sigmoid(w["w_0"] + self.low_rank("w", shifted["w"], np.tanh)) / np.sqrt(np.e))
        a = sigmoid(w["a_0"] + self.low_rank("a", shifted["a"], np.array))
        g = self.low_rank("g", shifted["g"], sigmoid)
        if first is None:
            first = v
        else:
            v = v + (first - v) * sigmoid(w["v_0"] + self.low_rank("mix", shifted["v"], np.array))
        y = np.zeros(D)
        for h in range(H):
            own = slice(h * K, (h + 1) * K)
            kappa = (k * w["k_k"])[own]
            kappa = kappa / np.sqrt(kappa @ kappa)
            key = (k * (1 + (a - 1) * w["k_a"]))[own]
            moves = np.diag(decay[own]) - self.c * np.outer(kappa, a[own] * kappa)
            self.states[h] = self.states[h] @ moves + np.outer(v[own], key)
            o = self.states[h] @ r[own]
            normed = (o - o.mean()) / np.sqrt(o.var() + 1e-5 * K) * w["gain"][own] + w["bias"][own]
            y[own] = normed + (r[own] * w["r_k"][own] * key).sum() * v[own]
        return w["out.weight"] @ (y * g), first


def naive(model: Rwkv7, word: list[int], c: float) -> Any:
    """The answers at all positions of a word, of a network without MLPs."""
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    layers = []
    for block in range(len(model.blocks)):
        begin = f"blocks.{block}.mixer."
        layers.append(Layer({n.removeprefix(begin): x for n, x in weights.items() if n.startswith(begin)}, c))
    answers = []
    for symbol in word:
        x, first = weights["embedding.weight"][symbol], None
        for block, layer in enumerate(layers):
            y, first = layer.read(rms(x, weights[f"blocks.{block}.norm.weight"]), first)
            x = x + y
        answers.append(weights["readout.weight"] @ rms(x, weights["norm.weight"]) + weights["readout.bias"])
    return np.array(answers)


@pytest.mark.parametrize(("span", "c"), [("unit", 1.0), ("signed", 2.0)])
@torch.no_grad()
def test_it_is_the_equations(span: str, c: float):
    model, words = built("rwkv7", d_model=D, n_heads=H, n_layers=3, range=span, mlp="none"), words_of(2, 9)
    expected = np.array([naive(model, word.tolist(), c) for word in words])
    assert_equal([model(words, readout="all")], [torch.from_numpy(expected)], 1e-12)


@torch.no_grad()
def test_its_recurrence_is_flash_linear_attention_s_reference():
    """diag(w) + alpha beta^T, of which its queries are divided by sqrt K."""
    module = flash_linear_attention("generalized_delta_rule.dplr")
    mixer = built("rwkv7", d_model=D, n_heads=H).blocks[0].mixer
    x = torch.randn(2, 11, 2 * D, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    inputs, _ = mixer.inputs(x, mixer.start(2)[1])
    r, log_w, k, v, kappa, removed = (part.transpose(1, 2) for part in inputs[:-1])
    theirs, state = module.dplr_recurrence(*(x.float() for x in (r * K**0.5, k, v, -kappa, removed, log_w)))
    o, (S,) = mixer.loop(inputs, mixer.start(2)[0])
    assert torch.allclose(o.float(), theirs.transpose(1, 2).float(), atol=1e-5, rtol=1e-4)
    assert torch.allclose(S.mT.float(), state.float(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("span", "lowest"), [("unit", np.exp(-np.exp(-0.5)) - 1), ("signed", -1.0)])
@torch.no_grad()
def test_the_factor_along_a_key_reaches_minus_1_only_when_signed(span: str, lowest: float):
    """Of kappa itself, with a at its largest: w - c a, and w is never below exp(-exp(-1/2))."""
    mixer = fresh("rwkv7", range=span).blocks[0].mixer
    mixer.a_0.fill_(40.0)
    x = torch.randn(40, 5, 2 * D, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    (_, log_w, _, _, kappa, removed, _), _ = mixer.inputs(x, mixer.start(40)[1])
    factors = (log_w.exp() * kappa**2).sum(-1) - (removed * kappa).sum(-1)
    assert bool((factors >= lowest).all()) == (span == "unit")
    assert float(factors.min()) < 0.0


@torch.no_grad()
def test_weights_start_as_published():
    first, last = Starts(64, 16, layer=0, layers=2), Starts(64, 16, layer=1, layers=2)
    assert first.w_0()[[0, 63]].tolist() == [-8.0, 3.0]
    assert last.w_0()[31] == pytest.approx(-5.5 + 6 * (31 / 63) ** 2 + 2.5, abs=1e-5)  # a head ends there
    assert first.a_0()[[0, 63]].tolist() == pytest.approx([-0.69, 0.31], abs=1e-6)
    assert last.v_0()[[0, 63]].tolist() == pytest.approx([0.93, 0.53], abs=1e-6)
    assert last.mu()[:, 16].tolist() == pytest.approx([1 - 0.25 ** (p / 2) for p in (0.2, 0.9, 0.7, 0.7, 0.9, 0.2)])
    assert float(first.gain()[0]) == pytest.approx(0.5**0.7)
    assert Starts(4, 2, layer=0, layers=1).w_0().isfinite().all()
    model = fresh("rwkv7", d_model=64)
    assert float(model.blocks[0].mixer.out.weight.abs().max()) == 0
    for name, gain in (("r", 1.0), ("k", 0.1), ("v", 1.0)):
        weight = getattr(model.blocks[0].mixer, name).weight
        assert_equal([weight @ weight.mT], [gain**2 * torch.eye(64, dtype=torch.float64)], 1e-5)


def test_refusals():
    with pytest.raises(ConfigError) as refused:
        MODELS.options("rwkv7:d_model=4", "model")
    assert str(refused.value) == ("model.n_heads = 4 leaves heads of 1 channel; give fewer, heads have at least 2")
