"""Effective lengths against closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regulargpt.text.measurements.effective_length import effective_lengths, heads_within
from tests.regulargpt.test_kernels import sandwich

X = np.arange(20_481.0)


def first_above(bound: float) -> int:
    """The first whole number above it."""
    return math.floor(bound) + 1


def values(*heads: np.ndarray) -> list[int | None]:
    return [found.value for found in effective_lengths(np.stack(heads))]


@pytest.mark.parametrize("n_heads", [1, 2, 8, 12, 16])
def test_alibi(n_heads: int):
    slopes = 2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads)
    assert values(*(-slope * X for slope in slopes)) == [first_above(2 / slope) for slope in slopes]


@given(st.floats(0.4, 4), st.floats(0.1, 1), st.floats(0.1, 2), st.floats(0.4, 2))
def test_kerple(r1: float, r2: float, p1: float, p2: float):
    log, power = math.expm1(2 / r1) / r2, (2 / p1) ** (1 / p2)
    for bound, bias in ((log, -r1 * np.log1p(r2 * X)), (power, -p1 * X**p2)):
        # Rounding decides where the bias is -2 to the last digit.
        if abs(bound - round(bound)) > 1e-6:
            assert values(bias) == [first_above(bound)]


def test_a_constant_changes_nothing_and_the_first_crossing_counts():
    assert values(-0.5 * X + 7, -0.5 * X) == [5, 5]
    assert values(np.array([0.0, -3.0, 1.0, -3.0])) == [1]


def test_sandwich_has_flat_heads():
    sharp, middle, flat = effective_lengths(np.stack([8 * sandwich(X[:200]) / h for h in (1, 8, 80)]))
    assert (sharp.value, middle.value) == (2, 5)
    assert str(flat) == ">= 200"


def test_none_in_the_range_or_none_at_all():
    slow, none, window = effective_lengths(np.stack([-1e-9 * X, 0 * X, np.where(X < 40, 0, -np.inf)]))
    assert (str(slow), str(none), str(window)) == (">= 20481", "inf", "40")
    assert slow.as_json() == {"value": None, "range": 20_481, "text": ">= 20481"}


def test_the_curve_counts_heads():
    found = effective_lengths(np.stack([-0.5 * X, -0.1 * X, 0 * X]))
    curve = heads_within(found, longest=30)
    assert [int(curve[x]) for x in (0, 4, 5, 20, 21, 30)] == [0, 0, 1, 1, 2, 2]
    assert len(heads_within(found)) == len(X)
