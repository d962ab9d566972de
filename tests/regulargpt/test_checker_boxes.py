"""A step of the networks that carry a state, as the checker computes it: at points, and from whole boxes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import ctx
from hypothesis import example, given
from hypothesis import strategies as st

from regulargpt.certificate.checker import boxes
from regulargpt.certificate.checker.balls import exact
from regulargpt.certificate.checker.boxes import State, between, ends, known
from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.doubles import Doubles
from tests.regulargpt.chain_certificates import FLIP_FLOP, MODELS, config, drawn, stepped

D = 5
CELLS = [name for name in MODELS if name != "linear-rnn"]


def both(name: str, layers: int, of: Any = known, scale: float = 1.0) -> tuple[Any, Any]:
    """A drawn network, and what the checker makes of it."""
    model = drawn(name, 3, 2, D, layers, seed=layers, scale=scale)
    weights = {key: value.numpy() for key, value in model.state_dict().items()}
    return model, network_of(weights, config(name, model, FLIP_FLOP), of)


def within(balls: Any, quick: Doubles) -> bool:
    """Whether balls of FLINT, next to exact, lie within those of float64."""
    rows = zip(balls.ravel(), quick.middle.ravel(), quick.radius.ravel(), strict=True)
    return all(abs(x - float(m)).upper() <= float(r) for x, m, r in rows)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_a_step_is_the_networks_own_and_lies_within_the_stated_radius(name: str, layers: int):
    model, quick = both(name, layers)
    exactly = both(name, layers, exact)[1]
    random = np.random.default_rng(layers)
    states, symbols = random.normal(size=(9, quick.D)), random.integers(3, size=9)
    found, own = quick.step(known(states), symbols), stepped(model, states, symbols.tolist())
    with ctx.workprec(200):
        balls = exactly.step(exact(states), symbols)
    for quickly, in_balls, right in zip(found, balls, own, strict=True):
        np.testing.assert_allclose(quickly.middle, right, rtol=0, atol=1e-10)
        assert within(in_balls, quickly)
        assert (quickly.radius < 1e-6).all()
    for quickly, right in zip(
        quick.step(known(np.zeros((3, quick.D))), np.arange(3)), stepped(model, None, [0, 1, 2]), strict=True
    ):
        np.testing.assert_allclose(quickly.middle, right, rtol=0, atol=1e-10)


def points_in(random: np.random.Generator, point: np.ndarray, radii: np.ndarray, count: int) -> np.ndarray:
    """Points of a box, half of their numbers at its faces."""
    inside, faces = random.uniform(-1, 1, (count, len(point))), random.choice([-1.0, 1.0], (count, len(point)))
    return point + radii * np.where(random.random((count, len(point))) < 0.5, faces, inside)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", CELLS)
def test_no_point_of_a_box_leaves_its_image(name: str, layers: int):
    model, network = both(name, layers)
    random = np.random.default_rng(0)
    for size in (1e-3, 0.05, 0.5, 4):
        point, radii = random.normal(size=network.D), size * random.random(network.D)
        radii[random.random(network.D) < 0.2] = 0
        after = stepped(model, points_in(random, point, radii, 2000), [1] * 2000)[1]
        for alone in (True, False):
            low, high = ends(network.image(point, radii, 1, alone))
            assert (low - 1e-13 <= after).all()
            assert (after <= high + 1e-13).all()


def excess(name: str, layers: int, size: float, alone: bool = False) -> float:
    """How much wider than |J| r an image is, for the Jacobian J of the network itself; in its widest number."""
    model, network = both(name, layers)
    random = np.random.default_rng(0)
    point, radii = random.normal(size=network.D), size * random.uniform(0.5, 1, network.D)
    moved = np.concatenate([point + 1e-6 * np.eye(network.D), point - 1e-6 * np.eye(network.D)])
    up, down = np.split(stepped(model, moved, [1] * len(moved))[1], 2)
    reach = abs((up - down).T / 2e-6) @ radii
    return float((network.image(point, radii, 1, alone).radius / np.maximum(reach, 1e-3 * size)).max()) - 1


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", CELLS)
def test_images_of_small_boxes_are_as_wide_as_the_slopes_at_the_point_say(name: str, layers: int):
    assert excess(name, layers, 1e-5) < 1e-3
    assert excess(name, layers, 1e-5, alone=True) < (1e-3 if layers == 1 else 2)


def test_plain_intervals_of_a_gru_are_much_wider(monkeypatch: pytest.MonkeyPatch):
    """For what it holds and what is new move together: this is what the slopes are for."""
    monkeypatch.setattr(boxes, "common", lambda values, _: values)
    assert excess("gru", 1, 1e-5) > 0.1
    assert excess("tanh", 1, 1e-5) < 1e-3


def test_a_unit_whose_parts_cancel_keeps_its_width():
    """f(h) = h - tanh(h) near 0 is flat: by intervals it is twice as wide as the box."""
    box = State(np.array([0.01]), np.array([0.01])).part(0, 1)
    low, high = ends((box - box.tanh()).values)
    assert 0 <= high[0] < 1e-5
    assert -1e-5 < low[0] <= 0


@pytest.mark.parametrize("name", CELLS)
def test_numbers_too_large_for_float64_are_no_numbers(name: str):
    _, network = both(name, 1, scale=1e200)
    with np.errstate(all="ignore"):
        image = network.image(np.ones(network.D), np.ones(network.D), 1)
        far = abs(image - Doubles(np.zeros(network.D), np.zeros(network.D)))
        assert not (far.middle + far.radius <= 1e-3).any()


NUMBERS = st.floats(-3, 3, allow_nan=False) | st.sampled_from([0.0, 1.0, -1.0, 1e-300, 0.1])
SHARES = st.floats(0, 1)


@given(st.tuples(NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS), SHARES, SHARES)
@example((1.0, 1 + 2.0**-52), (1.0, 1.0), 1.0, 0.0)  # whose middle is no double
def test_operations_on_intervals_hold_what_they_are_made_of(one: Any, other: Any, s: float, t: float):
    (a, b), (c, d) = sorted(one), sorted(other)
    x, y = (Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(at) for low, high, at in ((a, b, s), (c, d, t)))
    mine, its = between(np.array([a]), np.array([b])), between(np.array([c]), np.array([d]))
    assert holds(mine, x)
    assert holds(boxes.times(mine, its), x * y)
    assert holds(boxes.flatness(mine), 1 - x * x)
    assert holds(mine + its, x + y)
    if c <= x <= d:
        assert holds(boxes.common(mine, its), x)
        width = boxes.common(mine, its).radius[0]
        assert width <= min(mine.radius[0], its.radius[0])


def holds(balls: Doubles, x: Fraction) -> bool:
    """Whether a number lies in a ball, in exact arithmetic."""
    return abs(Fraction(float(balls.middle[0])) - x) <= Fraction(float(balls.radius[0]))


@given(st.tuples(NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS), st.tuples(SHARES, SHARES))
def test_a_mixture_lies_between_what_is_mixed(one: Any, other: Any, share: Any):
    """Of three numbers of the state, at all corners and in the middle."""
    low, high = np.array([sorted(pair) for pair in (one, other, share)]).T
    middle, radii = (low + high) / 2, (high - low) / 2
    h = State(middle, radii)
    mixed = h.part(0, 1).mixed(h.part(1, 2), h.part(2, 3))
    least, most = ends(mixed.values)
    for signs in np.ndindex(3, 3, 3):
        x, y, z = middle + radii * (np.array(signs) - 1)
        assert least[0] - 1e-14 <= x + z * (y - x) <= most[0] + 1e-14
    # As large as it has to be, once it is known that a share is one.
    corners = [(1 - z) * x + z * y for z in share for x, y in zip(*map(sorted, (one, other)), strict=True)]
    assert most[0] - least[0] <= (max(corners) - min(corners)) * (1 + 1e-8) + 1e-12
