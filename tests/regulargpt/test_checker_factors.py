"""How numbers move to other places: against matrices, and against what they come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from regulargpt.certificate.checker.balls import as_complex, exact, finite, imaginary, real
from regulargpt.certificate.checker.doubles import known
from regulargpt.certificate.checker.factors import Routed, floats
from regulargpt.certificate.checker.recurrences import Discs, settled

ARITHMETIC = pytest.mark.parametrize("of", [exact, known], ids=["FLINT", "float64"])
BY_ROWS = pytest.mark.parametrize("by_rows", [False, True], ids=["columns", "rows"])
N = 4
PLACES = arrays(np.int64, N, elements=st.integers(0, N - 1))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What is not finite is known by nothing."""
    with np.errstate(all="ignore"):
        yield


def routed(of: Any, a: npt.NDArray[Any], places: npt.NDArray[Any], by_rows: bool) -> Routed:
    """Of exact numbers; the bounds of their sizes are a little above them."""
    return Routed(of_complex(of, a), of(abs(a) * (1 + 1e-14)), places, by_rows)


def matrix(a: npt.NDArray[Any], places: npt.NDArray[Any], by_rows: bool) -> npt.NDArray[Any]:
    """The same, written down number by number."""
    found = np.zeros((N, N), complex)
    for i in range(N):
        found[(i, places[i]) if by_rows else (places[i], i)] += a[i]
    return found


def of_complex(of: Any, z: npt.NDArray[Any]) -> Any:
    """The same numbers in balls."""
    return as_complex(of(np.real(z)), of(np.imag(z)))


def numbers(random: np.random.Generator, most: float) -> npt.NDArray[Any]:
    """Complex ones, none larger."""
    return random.uniform(0, most, N) * np.exp(1j * random.uniform(0, 7, N))


@ARITHMETIC
@BY_ROWS
@given(first=PLACES, second=PLACES, seed=st.integers(0, 99))
def test_one_symbol_after_another_is_the_product_of_their_matrices(of, by_rows, first, second, seed):
    random = np.random.default_rng(seed)
    a, b, x = (numbers(random, 1) for _ in range(3))
    one, other = routed(of, a, first, by_rows), routed(of, b, second, by_rows)
    A, B = matrix(a, first, by_rows), matrix(b, second, by_rows)
    point = of_complex(of, x)
    assert np.allclose(floats(one.on(point)), A @ x)
    assert np.allclose(floats(other.after(one).on(point)), B @ A @ x)
    assert np.allclose(floats(other.after(one).of_sizes(of(abs(x)))), abs(B) @ abs(A) @ abs(x))
    for n in (0, 1, 6):
        bound = abs(floats(one.from_on(n, of(abs(x)))))
        sizes = [np.linalg.matrix_power(abs(A), m) @ abs(x) for m in range(n, n + 2 * N)]
        assert (bound >= np.max(sizes, 0) - 1e-15).all()
        assert (bound <= sizes[0].sum() + 1e-9).all()


@ARITHMETIC
@BY_ROWS
@given(places=PLACES, seed=st.integers(0, 99), gap=st.sampled_from([0.5, 1e-3, 1e-9]))
def test_what_is_added_for_ever_comes_to_a_fixed_point_and_stays_below_a_bound(of, by_rows, places, seed, gap):
    random = np.random.default_rng(seed)
    a, b = numbers(random, 1), numbers(random, 3)
    a *= (1 - gap) / abs(a).max()
    factor, A = routed(of, a, places, by_rows), matrix(a, places, by_rows)
    s = factor.fixed(of_complex(of, b))
    assert np.allclose(floats(s), np.linalg.solve(np.eye(N) - A, b), rtol=1e-6)
    bound = abs(floats(factor.summed(of(abs(b)))))
    least = np.linalg.solve(np.eye(N) - abs(A), abs(b))
    assert (bound >= least * (1 - 1e-6)).all()
    assert (bound <= 3 * least + 1e-9).all()


@ARITHMETIC
@BY_ROWS
@pytest.mark.parametrize("most", [1.0, 1.5, 4.0])
def test_what_may_grow_for_ever_has_no_bound(of, by_rows, most):
    """Also where solving the equation gives numbers: they are not those of a sum, but negative ones."""
    places = np.array([1, 0, 3, 3])
    a = np.array([most, 1.0, 0.5, 0.5], complex)
    bound = routed(of, a, places, by_rows).summed(of(np.ones(N)))
    assert not finite(bound)[:2].any()
    assert finite(bound)[2:].all()


@ARITHMETIC
@BY_ROWS
def test_what_comes_from_where_nothing_is_known_is_not_known(of, by_rows):
    """Along a way of three by rows, though the inequality holds of its last number, with what was solved. By columns a
    number goes to one place only: none leaves a cycle."""
    if by_rows:
        a, places, right = [1.5, 1e-16, 1e-16, 0.5], [0, 0, 1, 3], [False, False, False, True]
    else:
        a, places, right = [1e-16, 1e-16, 1.5, 0.5], [0, 0, 2, 3], [True, True, False, True]
    bound = routed(of, np.array(a, complex), np.array(places), by_rows).summed(of(np.ones(N)))
    assert finite(bound).astype(bool).tolist() == right


@ARITHMETIC
@BY_ROWS
@pytest.mark.parametrize("blocks", [0, 1, 4])
def test_what_moves_round_is_still_there_later(of, by_rows, blocks):
    """A number that goes round a cycle for long is in one place at a time; that is for all later times."""
    places, a = np.array([1, 2, 3, 0]), np.full(N, 1 - 1e-6, complex)
    factor = Routed(of_complex(of, a[None]), of(abs(a)[None]), places[None], by_rows)
    nothing = of_complex(of, np.zeros((1, N)))
    start = np.array([1.0, 0, 0, 0])
    disc = settled(Discs(of_complex(of, start), of(np.zeros(N))), factor, nothing, blocks)
    centre, radius = floats(disc.centre), abs(floats(disc.radius))
    for n in range(blocks, blocks + 2 * N):
        x = np.linalg.matrix_power(matrix(a, places, by_rows), n) @ start
        assert (abs(x - centre) <= radius + 1e-12).all()


@ARITHMETIC
@BY_ROWS
def test_numbers_that_change_places_are_where_they_are_said_to_be(of, by_rows):
    """Three blocks of two symbols, from any start of the discs; added is any number of boxes, another one each time."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        a, places = np.stack([numbers(random, 0.9) for _ in range(2)]), random.integers(0, N, (2, N))
        v, spread = np.stack([numbers(random, 1) for _ in range(2)]), 0.1
        factor = Routed(of_complex(of, a), of(abs(a) + 1e-14), places, by_rows)
        added = as_complex(*(of(part) + arb(0, spread) for part in (np.real(v), np.imag(v))))
        centre, radius = numbers(random, 2), random.uniform(0, 1, N)
        start = Discs(of_complex(of, centre), of(radius))
        for blocks in (0, 1, 5):
            disc = settled(start, factor, added, blocks)
            middle, far = floats(disc.centre), abs(floats(disc.radius))
            for _ in range(20):
                x = centre + radius * np.exp(1j * random.uniform(0, 7, N))
                for block in range(12):
                    assert block < blocks or (abs(x - middle) <= far + 1e-9).all()
                    for row in range(2):
                        off = spread * (random.choice([-1, 1], N) + 1j * random.choice([-1, 1], N))
                        x = matrix(a[row], places[row], by_rows) @ x + v[row] + off


@ARITHMETIC
@BY_ROWS
@pytest.mark.parametrize("is_first", [True, False])
def test_after_places_that_are_not_certain_nothing_is_known_of_any_number(of, by_rows, is_first):
    """Also of those to which no number goes, as the places are said to be."""
    places = np.zeros(N, dtype=np.int64)
    open_, other = (routed(of, np.full(N, z, complex), places, by_rows) for z in (np.nan, 0.5))
    both = other.after(open_) if is_first else open_.after(other)
    x = as_complex(of(np.ones(N)), of(np.ones(N)))
    for factor in (open_, both):
        assert not finite(factor.on(x)).any()
        assert not finite(factor.of_sizes(of(np.ones(N)))).any()
        assert not finite(factor.from_on(3, of(np.ones(N)))).any()
        assert not finite(factor.summed(of(np.ones(N)))).any()


def test_both_kinds_of_complex_numbers_are_told():
    assert floats(np.array([acb(1, 2), arb(3)])).tolist() == [1 + 2j, 3]
    z = as_complex(known(np.ones(2)), known(np.zeros(2)))
    assert (floats(z) == 1).all()
    assert (floats(real(z)) == 1).all()
    assert (floats(imaginary(z)) == 0).all()
