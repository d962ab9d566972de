"""The parallel scan of section 6.3 against the recurrence run symbol by symbol, in float64."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models import linear_rnn
from regulargpt.models.linear_rnn import Lru, scan, scan_last
from tests.regulargpt.cases import assert_equal, built, fresh, slopes, words_of


def complex_normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.complex128)


def sequential(a: Tensor, v: Tensor) -> Tensor:
    """x_k = a x_{k-1} + v_k, x_0 = 0."""
    x, states = torch.zeros_like(v[:, 0]), []
    for k in range(v.shape[1]):
        x = a * x + v[:, k]
        states.append(x)
    return torch.stack(states, 1)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 64, 65, 100])
def test_the_scan_and_its_tree_equal_the_recurrence_in_outputs_and_gradients(length: int):
    a = torch.polar(torch.linspace(0.5, 1.0, 5).double(), torch.linspace(0, 6, 5).double()).requires_grad_()
    v = complex_normal(1, 3, length, 5).requires_grad_()
    reference = sequential(a, v)
    for found, expected in ((scan(a, v), reference), (scan_last(a, v), reference[:, -1:])):
        results = []
        for x in (found, expected):
            loss = (x * complex_normal(2, *x.shape)).real.sum() + 0 * a.real.sum()  # a word of one symbol uses no a
            results.append([x, *torch.autograd.grad(loss, [a, v], retain_graph=True)])
        assert_equal(*results)


@pytest.mark.parametrize("length", [1, 6, 13])
def test_the_scan_equals_the_sum_of_section_6_3(length: int):
    a, v = complex_normal(3, 4) / 2, complex_normal(4, 1, length, 4)
    x = scan(a, v)
    for k in range(length):
        total = sum(a**j * v[:, k - j] for j in range(k + 1))
        assert torch.allclose(x[:, k], total, atol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 5, 8, 40, 1000])
def test_the_scan_takes_a_logarithmic_number_of_steps(length: int, monkeypatch):
    steps = []
    monkeypatch.setattr(linear_rnn.torch, "cat", lambda parts, dim: steps.append(1) or torch.concat(parts, dim))
    scan(complex_normal(0, 2), complex_normal(1, 1, length, 2))
    assert len(steps) == math.ceil(math.log2(length))


def naive(model: Any, words: Tensor) -> Tensor:
    """The whole model with A, B and C as complex matrices, symbol by symbol."""
    h = model.embedding.weight[words]
    for block in model.blocks:
        lru, u = block.lru, block.ln(h)
        a = torch.exp(torch.complex(-lru.nu.exp(), lru.theta))
        b = torch.complex(lru.b.weight[0::2], lru.b.weight[1::2])
        c = torch.complex(lru.c.weight[:, 0::2], -lru.c.weight[:, 1::2])
        gamma = (1 - a.abs() ** 2).sqrt()
        x = sequential(a, (u.to(b.dtype) @ b.T) * gamma)
        y = (x @ c.T).real + lru.d * u
        value, gate = (F.gelu(y) @ block.glu.weight.T + block.glu.bias).chunk(2, -1)
        h = h + value * gate.sigmoid()
    return model.readout(model.ln_final(h))


@pytest.mark.parametrize("length", [1, 2, 7, 16, 33])
def test_the_model_equals_the_sequential_one_in_outputs_and_gradients(length: int):
    model, words = built("linear-rnn"), words_of(3, length)
    assert_equal(slopes(model, model(words, readout="all")), slopes(model, naive(model, words)))


def test_a_starts_on_the_ring_and_never_leaves_the_unit_disc():
    lru = Lru(2000, torch.Generator().manual_seed(0)).double().requires_grad_(False)
    radius = lru.a().abs()
    assert 0.9 <= float(radius.min()) < 0.902
    assert 0.998 < float(radius.max()) <= 0.999
    assert float(lru.a().angle().mean()) == pytest.approx(0, abs=0.15)
    lru.nu.normal_(std=3.0, generator=torch.Generator().manual_seed(1))
    assert float(lru.a().abs().max()) < 1


def test_float32_is_finite_at_length_20000_and_equals_the_reference():
    words = words_of(1, 20_000)
    with torch.no_grad():
        found = fresh("linear-rnn").float()(words)
        assert torch.allclose(found.double(), fresh("linear-rnn")(words), atol=1e-4)
