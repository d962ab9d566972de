"""Attention resolution: bounds, closed forms, and the figures of LEX."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt.text.measurements.resolution import expected_logits, mean_by_distance, resolution, resolution_of_heads

LOGITS = st.lists(st.floats(-300, 300), min_size=1, max_size=30)


@given(LOGITS, st.floats(-100, 100))
def test_resolution_is_half_a_sum_of_squares_and_does_not_see_a_constant(s: list[float], c: float):
    """R = (p_0^2 - p_N^2 + sum (p_i - p_{i+1})^2) / 2: it falls below 0 where the last distance weighs most.

    It never exceeds 1. The paper prints 1.08 in Table 3: by its own Eq. 4 that cannot be.
    """
    p = np.exp(np.array(s) - max(s))
    p /= p.sum()
    found = float(resolution(np.array(s)))
    assert found == pytest.approx((p[0] ** 2 - p[-1] ** 2 + (np.diff(p) ** 2).sum()) / 2, abs=1e-12)
    assert found <= 1 + 1e-12
    assert resolution(np.array(s) + c) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize(
    ("s", "expected"),
    [
        ([0.0, -np.inf, -np.inf], 1.0),
        ([0.0] * 7, 0.0),
        ([5.0], 0.0),
        ([0.0, np.log(3.0)], -1 / 8),
        ([1e4, 0.0], 1.0),
        ([0.0, np.nan, -np.inf], 1.0),
    ],
)
def test_resolution_of_small_curves(s: list[float], expected: float):
    assert resolution(np.array(s)) == pytest.approx(expected)


@pytest.mark.parametrize("length", [256, 1024, 8192])
def test_the_shortest_distances_decide_and_xpos_tells_them_apart_better_than_rotary(length: int):
    """At D = 64, R does not depend on the length: g(0) = 32 stands in an exponent."""
    assert resolution(expected_logits(64, length)) == pytest.approx(0.41164, abs=1e-5)
    assert resolution(expected_logits(64, length, gamma=0.4)) == pytest.approx(0.42069, abs=1e-5)
    for d_head in (16, 32, 128):
        assert resolution(expected_logits(d_head, length, gamma=0.4)) > resolution(expected_logits(d_head, length))


def test_the_scale_of_the_logits_and_the_base_decide_the_number():
    scaled = [float(resolution(expected_logits(64, 1024, gamma=gamma) / 8)) for gamma in (None, 0.4)]
    assert scaled == pytest.approx([1.284e-4, 1.484e-4], rel=1e-3)
    assert resolution(expected_logits(64, 1024, gamma=0.4, base=1.0)) == pytest.approx(0.99998, abs=1e-5)
    # Equation 10 has a term too many: a head of width d has d/2 pairs; i = 0..d/2 are d/2 + 1.
    assert expected_logits(64, 1)[0] == 32


def test_rotary_is_zeta_1_and_not_zeta_0():
    """LEX 4.4.1 says that zeta = 0 is rotary. With zeta = 0 nothing is left beyond distance 0; zeta = 1 is rotary."""
    rotary = expected_logits(32, 100)
    assert np.allclose(expected_logits(32, 100, gamma=1e12), rotary)
    theta = 10_000.0 ** (-2 * np.arange(16) / 32)
    zero = [(np.cos(x * theta) * 0.0**x).sum() for x in range(100)]
    assert zero == [16.0] + [0.0] * 99


def test_means_by_distance_are_over_visible_pairs():
    logits = np.arange(9.0).reshape(3, 3)  # (queries, keys)
    assert mean_by_distance(logits).tolist() == [4.0, 5.0, 6.0]
    last = mean_by_distance(np.stack([logits, -logits])[:, 1:])  # the queries are the last of the keys
    assert last.tolist() == [[6.0, 5.0, 6.0], [-6.0, -5.0, -6.0]]
    near = np.tri(3, dtype=bool) & ~np.tri(3, k=-2, dtype=bool)
    assert np.array_equal(mean_by_distance(logits, near), [4.0, 5.0, np.nan], equal_nan=True)
    assert mean_by_distance(logits.astype(np.float32)).dtype == np.float64


def test_means_of_many_heads_equal_those_of_each():
    length = 12
    logits = np.random.Generator(np.random.SFC64(0)).normal(size=(2, 3, length, length))
    found = mean_by_distance(logits)
    assert found.shape == (2, 3, length)
    for layer in range(2):
        for head in range(3):
            expected = [np.diagonal(logits[layer, head], -x).mean() for x in range(length)]
            assert np.allclose(found[layer, head], expected)


def test_resolution_of_heads_leaves_out_what_blockwise_attention_never_sees():
    s = np.array([[[0.0, -1.0, np.nan], [0.0, 0.0, np.nan]]])
    found = resolution_of_heads(s)
    p = np.exp([0.0, -1.0]) / np.exp([0.0, -1.0]).sum()
    assert found.by_head.tolist() == [[pytest.approx(p[0] * (p[0] - p[1])), 0.0]]
    assert found.distances == 2
    assert found.as_json()["by_layer"] == [pytest.approx(found.mean)]


def test_heads_that_see_different_distances_are_refused():
    with pytest.raises(UserError, match="same visible pairs"):
        resolution(np.array([[0.0, np.nan], [0.0, 1.0]]))
    with pytest.raises(UserError, match="no distance has a visible pair"):
        resolution(np.array([np.nan]))
