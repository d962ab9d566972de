"""Slopes of the networks that carry a state: those of autograd at a point, and bounds of all differences in a box."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import languages
from regulargpt import models
from regulargpt.certificate.checker.balls import cos, erf, exp, positive, sigmoid, sin, softplus, sqrt, square
from regulargpt.certificate.checker.chain_network import ChainNetwork
from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.doubles import Doubles, known
from regulargpt.certificate.checker.slopes import Sloped, joined
from regulargpt.finite.chain import Chain, chain_of
from regulargpt.models import MODELS
from regulargpt.options import hints
from regulargpt.storage.atomic import render_json
from regulargpt.storage.tensors import render_weights

SMALL = {"d_model": 8, "n_heads": 2, "d_state": 4, "n_layers": 2}
CASES = [
    "rnn",
    "rnn:activation=tanh,n_layers=1",
    "gru",
    "lstm",
    "slstm",
    "slstm:conv=0,mlp=swiglu,n_layers=1",
    "slstm:blocks=ms",
    "mlstm",
    "rwkv7",
    "rwkv7:range=signed,mlp=none",
    "delta",
    "delta:gate=true,range=signed,householders=2",
    "delta:conv=0,mlp=swiglu",
]


def drawn(case: str, task: str = "parity", seed: int = 1) -> tuple[Any, bytes, bytes]:
    """A network at random, in float64, and its two files."""
    options = MODELS.options(case, "model")
    given = {part.partition("=")[0] for part in case.partition(":")[2].split(",")}
    small = {key: value for key, value in SMALL.items() if key in hints(type(options)) and key not in given}
    options = dataclasses.replace(options, **small)
    machine: Any = languages.get(task).machine
    alphabet, names = [*machine.alphabet], [*machine.output_names]
    counts = {"n_symbols": len(alphabet), "n_outputs": len(names)}
    model = models.build(options, *counts.values(), generator=torch.Generator().manual_seed(seed)).double()
    model.requires_grad_(False)
    record = {"model": options.record(), **counts, "alphabet": alphabet, "output_names": names, "supervision": "last"}
    return model, render_weights(model.state_dict()), render_json(record)


def both(case: str, seed: int = 1) -> tuple[Chain, ChainNetwork]:
    """The network in float64, and as the checker reads it for slopes."""
    model, _, config = drawn(case, seed=seed)
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    return chain_of(model), network_of(weights, json.loads(config), Sloped.weights)


def followed(network: ChainNetwork, y: Doubles, word: list[int]) -> tuple[Sloped, Sloped]:
    """The logits and the state after a word."""
    state = Sloped.numbers(y)
    logits = state
    for symbol in word:
        logits, state = network.step(state, np.array([symbol]))
    return logits, state


@pytest.mark.parametrize("case", CASES)
def test_slopes_at_a_point_are_those_of_autograd(case: str):
    chain, network = both(case)
    word = [1, 0, 0, 1]
    _, start = chain.read(torch.tensor([[1, 0, 1, 1]]))

    def after(states: Tensor) -> Tensor:
        logits, then = chain.model.read(torch.tensor([word] * len(states)), chain._state(states), "last")
        return torch.cat([logits, chain._vector(then)], 1)  # (n, outputs + D)

    slopes = torch.autograd.functional.jacobian(lambda state: after(state[None])[0], start[0]).numpy()
    carried = joined(followed(network, known(start[0].numpy()), word), 1)
    assert carried.slopes is not None
    assert np.allclose(carried.values.middle[0], after(start)[0].numpy(), atol=1e-9)
    assert np.allclose(carried.slopes.middle.T, slopes, atol=1e-8 * max(1.0, abs(slopes).max()))
    assert (carried.slopes.radius < 1e-3 * max(1.0, abs(slopes).max())).all()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("radius", [1e-6, 1e-3, 0.03])
def test_values_and_slopes_bound_all_that_a_box_comes_to(case: str, radius: float):
    chain, network = both(case, seed=2)
    word, random = [1, 1, 0], np.random.default_rng(0)
    _, start = chain.read(torch.tensor([[0, 1]]))
    c = start[0].numpy()
    found = joined(followed(network, Doubles(c, np.full_like(c, radius)), word), 1)
    inside = radius * random.uniform(-1, 1, (200, len(c)))  # of which some are corners
    inside[:100] = radius * np.sign(inside[:100])
    at = torch.from_numpy(np.concatenate([c[None], c + inside]))
    logits, states = chain.read(torch.tensor([word] * len(at)), at)
    x = torch.cat([logits, states], 1).numpy()
    assert found.slopes is not None
    with np.errstate(all="ignore"):
        far = abs(x[1:] - found.values.middle)
        assert not (far > found.values.radius + 1e-9).any()
        middle, reach = inside @ found.slopes.middle, abs(inside) @ found.slopes.radius
        assert not (abs(x[1:] - x[0] - middle) > reach + 1e-9).any()


@pytest.mark.parametrize("f", [exp, erf, cos, sin, softplus, sigmoid, positive, square, sqrt, abs])
def test_each_function_has_its_slope(f: Any):
    centres, radii = np.meshgrid([-3.0, -0.4, 0.3, 2.0], [0.0, 1e-9, 0.05, 0.6])
    x = Doubles(centres.ravel() + (4.0 if f is sqrt else 0.0), radii.ravel())
    found, random = f(Sloped.numbers(x)), np.random.default_rng(1)
    for _ in range(50):
        a, b = x.middle + x.radius * random.uniform(-1, 1, (2, len(x)))
        apart = (f(known(b)) - f(known(a))).middle
        slope = found.slopes.map(np.diag)
        assert (abs(apart - slope.middle * (b - a)) <= slope.radius * abs(b - a) + 1e-9).all()
        assert (abs(f(known(a)).middle - found.values.middle[0]) <= found.values.radius[0] + 1e-9).all()


def test_quotients_and_what_has_no_slopes():
    x = Sloped.numbers(Doubles(np.array([2.0, 4.0]), np.zeros(2)))
    weights = Sloped.weights(np.array([3.0, 5.0]))
    for found, slopes in [
        (weights / x, [-0.75, -0.3125]),
        (x / weights, [1 / 3, 0.2]),
        (1 / x, [-0.25, -0.0625]),
        (x * x / (x + 1), [8 / 9, 24 / 25]),
        (weights - x, [-1.0, -1.0]),
        (7 - 2 * x, [-2.0, -2.0]),
    ]:
        assert found.slopes is not None
        assert np.allclose(found.slopes.middle, np.diag(slopes))
    assert (weights * weights + 1).slopes is None
    with pytest.raises(AssertionError, match="of all rows"):
        x[0]
