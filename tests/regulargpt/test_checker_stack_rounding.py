"""How far float32 may err in a network with a stack, against fractions and sums in shuffled orders."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from regulargpt.certificate.checker.files import tensors
from regulargpt.certificate.checker.stack_network import CheckedStackNetwork, gamma
from tests.regulargpt.stack_certificates import REVERSE, files

H, W, DRAWS = 6, 3, 250
Vector = np.ndarray


def drawn(random: np.random.Generator) -> tuple[CheckedStackNetwork, Vector]:
    """A network whose pushed vectors are small beside their terms, and the signs h (H,) behind the first symbol."""
    h = random.choice((-1.0, 1.0), H)
    small, large = (lambda *shape: np.float32(random.normal(size=shape) * 1e-3)), random.normal(size=(W, H))
    push, top = np.float32(large), np.float32(random.normal(size=(H, W)))
    weights = {
        "input.weight": np.hstack([h[:, None], small(H, 2), top]),
        "input.bias": small(H),
        "recurrent.weight": small(H, H),
        "recurrent.bias": small(H),
        "push.weight": push,
        "push.bias": np.float32(-push @ h) + small(W),
        "action.weight": np.hstack([np.eye(3), small(3, H - 3)]),
        "action.bias": np.array([10.0, 0, 0]),
        "readout.weight": np.float32(random.normal(size=(2, H))),
    }
    _, made = files(weights, REVERSE)
    return CheckedStackNetwork(tensors(made["weights"]), json.loads(made["network"])), h


def shuffled(random: np.random.Generator, terms: Iterable[Any]) -> np.float32:
    """The sum in float32: any two parts are added, until there is one."""
    parts = [np.float32(x) for x in terms]
    while len(parts) > 1:
        i, j = random.choice(len(parts), 2, replace=False)
        parts[i] = parts[i] + parts[j]
        del parts[j]
    return parts[0]


def exactly(terms: Iterable[tuple[float, float | Fraction]]) -> Fraction:
    """The sum of products."""
    return sum((Fraction(float(a)) * Fraction(b) for a, b in terms), Fraction(0))


def test_bounds_cover_float32_and_need_the_error_of_what_was_pushed() -> None:
    random, exceeded, largest = np.random.default_rng(0), 0, 0.0
    for _ in range(DRAWS):
        network, h = drawn(random)
        w, (state, action) = network.w, network.move(network.initial, 0, None)
        assert action == state
        assert (network.states[state] == h).all()
        bounds = network.sums(state, 1, state)[1]
        push = np.column_stack([w["push.weight"], w["push.bias"]])
        signs = [*h, 1.0]
        rounded = [shuffled(random, row * signs) for row in push]
        true = [exactly(zip(row, signs, strict=True)) for row in push]
        for i in range(H):
            rest = [w["input.weight"][i, 1], w["input.bias"][i], w["recurrent.bias"][i], *w["recurrent.weight"][i] * h]
            top = w["input.weight"][i, 3:]
            products = [np.float32(a) * r for a, r in zip(top, rounded, strict=True)]
            off = abs(
                Fraction(float(shuffled(random, [*rest, *products])))
                - exactly([*zip(top, true, strict=True), *((a, 1.0) for a in rest)])
            )
            assert off <= bounds[i]
            exceeded += off > bounds[i] - abs(top) @ network.eta
            largest = max(largest, float(off / Fraction(bounds[i])))
        logits = np.column_stack([w["readout.weight"], w["readout.bias"]])
        for row, bound in zip(logits, network.bounds["readout"], strict=True):
            assert abs(Fraction(float(shuffled(random, row * signs))) - exactly(zip(row, signs, strict=True))) <= bound
    assert exceeded > 20, "the errors of pushed vectors do not show: draw others"
    assert 0.1 < largest <= 1


def test_the_bound_of_a_sum_is_that_of_its_terms() -> None:
    assert gamma(1) == 2.0**-24 / (1 - 2.0**-24)
    # 1 and n times half the last digit of 1, added one by one: each is lost.
    n = 100
    lost = np.float32(1)
    for _ in range(n):
        lost += np.float32(2.0**-24)
    assert lost == 1
    assert n * 2.0**-24 <= gamma(n + 1) * (1 + n * 2.0**-24)
