"""Kernel checks against closed forms, and the slips of chapter 3 that docs/errata.md lists."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt import encodings
from regulargpt.encodings.base import Encoding
from regulargpt.measurements.measuring import measured
from regulargpt.text.measurements.bias_kernels import of_encoding
from regulargpt.text.measurements.kernels import (
    MOST_POINTS,
    Profile,
    Shift,
    definiteness,
    gram,
    largest_difference,
    least_universal_shift,
    shift_by_length,
    shift_error,
    smallest_shift,
    softmax,
    softmax_change,
)

IRREGULAR = [0.0, 0.3, 1.0, 2.5, 7.0, 7.1, 40.0]
I = np.arange(64)  # noqa: E741


def power(p: float) -> Profile:
    """-|x|^p."""
    return lambda x: -(x**p)


def logarithm(p: float) -> Profile:
    """-ln(1 + |x|^p)."""
    return lambda x: -np.log1p(x**p)


def gauss(r: float, p: float) -> Profile:
    """exp(-r |x|^p)."""
    return lambda x: np.exp(-r * x**p)


def cosines(x: np.ndarray, first: int = 0, width: int = 128) -> np.ndarray:
    """The sum of cosines that Sandwich is, the frequencies counted from 0 (the listing) or 1 (the equation)."""
    frequencies = 10_000.0 ** (-2 * np.arange(first, first + width // 2) / width)
    return np.cos(np.asarray(x)[..., None] * frequencies).sum(-1)


def sandwich(x: np.ndarray) -> np.ndarray:
    """The bias at h = 8, 0 at distance 0."""
    return (cosines(x) - 64) / 8


CPD: dict[str, Profile] = {
    "alibi": lambda x: -0.5 * x,
    **{f"power {p}": power(p) for p in (0.1, 0.5, 1.0, 1.5, 1.9, 2.0)},
    **{f"log {p}": logarithm(p) for p in (0.5, 1.0, 2.0)},
    **{f"gauss {p}": gauss(0.3, p) for p in (0.5, 1.0, 2.0)},
    "sandwich": sandwich,
}
NOT_CPD: dict[str, Profile] = {
    "power 2.5": power(2.5),
    "log 3": logarithm(3.0),
    "window": lambda x: np.where(x < 16, 0.0, -np.inf),
    "a finite window": lambda x: np.where(x < 16, 0.0, -9.0),
    "a random table": lambda x: np.random.Generator(np.random.SFC64(0)).normal(size=100)[x.astype(int)],
}


@pytest.mark.parametrize("name", CPD)
@pytest.mark.parametrize("points", [I, IRREGULAR], ids=["64 points", "irregular"])
def test_the_kernels_of_the_seeds_are_conditionally_positive_definite(name: str, points: list[float]):
    found = definiteness(gram(CPD[name], points))
    assert found.is_cpd
    assert found.is_pd == name.startswith("gauss")
    assert "not" not in found.verdict


@pytest.mark.parametrize("name", NOT_CPD)
def test_what_is_no_conditionally_positive_definite_kernel(name: str):
    found = definiteness(gram(NOT_CPD[name], I))
    assert not found.is_cpd
    assert not found.is_pd
    assert found.verdict.startswith("not conditionally positive definite on 64 points")
    assert smallest_shift(gram(NOT_CPD[name], I)) is None


def test_the_smallest_eigenvalues():
    assert definiteness(gram(power(2.5), I)).smallest_on_sum_zero == pytest.approx(-30_586.6, rel=1e-5)
    assert definiteness(gram(logarithm(3.0), I)).smallest_on_sum_zero == pytest.approx(-0.1515, rel=1e-3)
    assert definiteness(gram(NOT_CPD["window"], I)).smallest_on_sum_zero == -math.inf
    # A window of one key is the limit of a kernel.
    assert definiteness(gram(lambda x: np.where(x < 1, 0.0, -np.inf), I)).is_cpd
    assert definiteness(gram(power(1), [3.0])).is_pd
    assert smallest_shift(gram(power(1), [3.0])) == 0


@given(st.lists(st.integers(0, 10**4).map(float), min_size=2, max_size=12, unique=True), st.floats(0.05, 1.9))
def test_the_constant_is_the_smallest(points: list[float], p: float):
    K = gram(power(p), points)
    c = smallest_shift(K)
    assert c is not None
    tolerance = 1e-9 * np.abs(K).max()
    assert np.linalg.eigvalsh(c + tolerance + K).min() >= -tolerance
    assert np.linalg.eigvalsh(c - 1e-3 * abs(c) + K).min() < 0
    assert c == pytest.approx(-1 / np.linalg.solve(K, np.ones(len(K))).sum(), rel=1e-6)


def test_no_universal_constant_repairs_the_shift_lemma():
    """Lemma 3.1 wants one c for all points. On n points -|m - n| needs exactly (n - 1) / 2."""
    for n in (2, 3, 8, 32, 128):
        assert smallest_shift(gram(power(1), np.arange(n))) == pytest.approx((n - 1) / 2, abs=1e-9)
        assert least_universal_shift(power(1), n) == (n - 1) / 2
    for p, expected in {0.5: (1.545, 3.317, 6.742), 1.5: (11.9, 112.7, 937.3), 1.9: (99.09, 1755.1, 25824.8)}.items():
        shift = shift_by_length(power(p), (8, 32, 128))
        assert list(shift.smallest.values()) == pytest.approx(expected, rel=2e-3)
        assert shift.trend == "grows over these lengths"
    assert shift_by_length(logarithm(1), (8, 32, 128, 512)).trend == "grows over these lengths"


@given(st.floats(0.05, 2), st.integers(2, 60))
def test_two_points_bound_the_constant_from_below(p: float, n: int):
    c = smallest_shift(gram(power(p), np.arange(n)))
    assert c is None or c >= least_universal_shift(power(p), n) * (1 - 1e-9)


def test_a_bounded_kernel_has_one_constant_for_all_lengths():
    shifts = shift_by_length(sandwich, (8, 128, 512)).smallest.values()
    assert all(c is not None and c <= 64 / 8 for c in shifts)
    # Without its constant it is a Gram matrix.
    assert definiteness(gram(cosines, I)).is_pd
    assert Shift({64: smallest_shift(gram(cosines, I))}).trend == "is not needed"


@pytest.mark.parametrize("n", [3, 8, 32, 128])
def test_at_p_2_no_constant_works(n: int):
    """v = (1, -2, 1) sums to 0, v'Kv = 0 and Kv = -2 (1, 1, 1): v - t 1 makes the form negative, whatever c is."""
    assert smallest_shift(gram(power(2), np.arange(n))) is None
    K, v, one = gram(power(2), np.arange(3)), np.array([1.0, -2.0, 1.0]), np.ones(3)
    assert v @ K @ v == 0
    assert (K @ v).tolist() == [-2.0, -2.0, -2.0]
    for c in (1.0, 1e3, 1e6):
        w = v + one / c
        assert w @ (c + K) @ w < 0
    # Two points can be repaired; above p = 2 nothing can, as Proposition 3.1 says.
    assert smallest_shift(gram(power(2), [0.0, 1.0])) == 0.5
    assert all(smallest_shift(gram(power(p), I)) is None for p in (2.1, 2.5, 3.0))


def test_a_cpd_matrix_of_two_points_that_no_constant_repairs():
    """diag(1, -1) has the form 0 on (1, -1), so it is CPD; the determinant of c + K is -1 for every c."""
    K = np.diag([1.0, -1.0])
    assert definiteness(K).is_cpd
    assert smallest_shift(K) is None
    for c in (0.0, 1.0, 1e3):
        assert np.linalg.det(c + K) == pytest.approx(-1)
    # Step (iii) of the proof: full rank and v'Kv = 0 were to exclude each other. With eigenvalues of both signs not.
    v = np.array([1.0, -1.0])
    assert np.linalg.matrix_rank(K) == 2
    assert v @ K @ v == 0


def test_on_whole_numbers_a_gaussian_of_power_3_can_be_positive_definite():
    """Fact 3.5 speaks of all real points. Positions are whole: a steep exp(-r |x|^3) is PD on them, a flat one not."""
    assert definiteness(gram(gauss(1.0, 3), np.arange(512))).is_pd
    assert not definiteness(gram(gauss(1.0, 3), 0.25 * I)).is_pd
    assert not definiteness(gram(gauss(0.05, 3), I)).is_pd


def test_scalings_and_sums_of_cpd_kernels_are_cpd():
    for a, b in pairwise(CPD):
        assert definiteness(gram(lambda x, a=a, b=b: 2 * CPD[a](x) + CPD[b](x), I)).is_cpd


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20), st.floats(-1e3, 1e3))
def test_softmax_does_not_see_a_constant(bias: list[float], c: float):
    assert softmax_change(np.array(bias), c) < 1e-12
    assert softmax(np.array([[0.0, -np.inf], [1.0, 1.0]])).tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_shift_invariance_and_its_absence():
    assert shift_error(lambda m, n: -np.log1p(np.abs(m[:, None] - n[None, :])), 32) == 0
    # FIRE divides by the position of the query; a bias by the key's position alone is ALiBi, row by row.
    assert shift_error(lambda m, n: -(m[:, None] - n[None, :]) / (1 + m[:, None]), 32) > 0.01
    assert largest_difference(np.array([-np.inf]), np.array([-np.inf])) == 0


def test_what_cannot_be_a_kernel_is_refused():
    with pytest.raises(UserError, match="nan or infinite"):
        definiteness(np.array([[np.nan]]))
    with pytest.raises(UserError, match="between 1 and"):
        gram(power(1), np.zeros(MOST_POINTS + 1))


class Given(Encoding):
    """A bias that is given as a function of the positions of queries and keys."""

    def __init__(self, f: Callable, **sizes):
        super().__init__(**sizes)
        self.f = f

    def bias(self, q, k, at):
        return self.f(at.m[:, None], at.n[None, :]).expand(1, self.n_heads, -1, -1)


def test_a_bias_that_is_not_shift_invariant_says_so():
    report = of_encoding(Given(lambda m, n: -(m - n) / (1 + m), d_model=4, n_heads=2), "fire", 16)
    assert not report["shift_invariance"]["is_invariant"]
    assert report["shift_invariance"]["largest_difference"] > 0.01


def test_only_the_causal_half_counts():
    report = of_encoding(Given(lambda m, n: -(m - n).clamp(min=0) + 99 * (n > m), d_model=4, n_heads=1), "x", 8)
    assert report["heads"][0]["shift"]["smallest_c"]["8"] == 3.5


def test_every_built_in_bias_has_a_report_and_what_has_none_says_why():
    reports, reasons = {}, []
    for name in encodings.ENCODINGS:
        try:
            reports[name] = measured("kernels", name, heads=4, length=8).report
        except UserError as error:
            reasons.append(str(error))
    assert all("adds no bias" in reason or "depends on what is read" in reason for reason in reasons)
    assert "alibi" in reports
    for report in reports.values():
        assert len(report["heads"]) == len(report["bias"]) == 4
        assert report["softmax_ignores_a_constant"]
