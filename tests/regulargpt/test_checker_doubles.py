"""Balls in float64: every operation holds what it makes of any numbers in them, narrow or wide, real or complex."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from regulargpt.certificate.checker import balls
from regulargpt.certificate.checker.complex_doubles import ComplexDoubles
from regulargpt.certificate.checker.doubles import Doubles, ends, known, within
from regulargpt.certificate.checker.factors import Factor, powers
from regulargpt.certificate.checker.recurrences import Discs, box

N = 12
PLACES = np.linspace(-1, 1, 5)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What is not finite is known by nothing."""
    with np.errstate(all="ignore"):
        yield


@st.composite
def some(draw: Any, least: float = -1e3) -> Doubles:
    """Balls of many sizes and widths, above `least` in the middle."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    middle = random.normal(size=N) * 10.0 ** random.uniform(-6, 2, N)
    radius = random.choice([0, 1e-12, 1e-3, 0.3, 1, 20], N) * 10.0 ** random.uniform(-1, 0, N)
    return Doubles(np.maximum(middle, least), radius)


def points(x: Doubles) -> Iterator[list[arb]]:
    """Numbers of the balls, exactly: their ends and others."""
    for place in PLACES:
        yield [arb(float(m)) + arb(float(place)) * arb(float(r)) for m, r in zip(x.middle, x.radius, strict=True)]


def holds(found: Doubles, numbers: list[arb]) -> None:
    """Each number, known to some 200 bits, is in its ball; where a ball is of no number there is nothing to hold."""
    for m, r, number in zip(found.middle, found.radius, numbers, strict=True):
        if np.isfinite([m, r]).all():
            assert abs(number - arb(float(m))) <= arb(float(r)) + arb("1e-50"), (m, r, number)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[arb], arb]]] = {
    "exp": (balls.exp, arb.exp),
    "softplus": (balls.softplus, lambda x: x.exp().log1p()),
    "sigmoid": (balls.sigmoid, lambda x: 1 / (1 + (-x).exp())),
    "square": (balls.square, lambda x: x * x),
    "sqrt": (balls.sqrt, lambda x: x.max(arb(0)).sqrt()),
    "positive": (balls.positive, lambda x: x.max(arb(0))),
    "above": (lambda x: balls.above(x) - balls.above(x), lambda x: arb(0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(some())
def test_functions_hold_the_values_at_all_numbers_of_a_ball(name: str, x: Doubles):
    of_balls, of_number = FUNCTIONS[name]
    found = of_balls(x)
    with ctx.workprec(200):
        for numbers in points(x):
            holds(found, [of_number(number) for number in numbers])


@given(some(), some())
def test_two_balls_hold_the_sum_product_quotient_and_maximum_of_all_numbers(x: Doubles, y: Doubles):
    found = {"+": x + y, "-": x - y, "*": x * y, "/": x / y, "max": balls.maximum(x, y)}
    with ctx.workprec(200):
        for a in points(x):
            for b in points(y):
                pairs = list(zip(a, b, strict=True))
                holds(found["+"], [p + q for p, q in pairs])
                holds(found["-"], [p - q for p, q in pairs])
                holds(found["*"], [p * q for p, q in pairs])
                holds(found["max"], [p.max(q) for p, q in pairs])
                # No ball with 0 in it divides.
                assert not np.isfinite(found["/"].radius[abs(y.middle) <= y.radius]).any()
                holds(found["/"], [arb(0) if q == 0 else p / q for p, q in pairs])


@given(some(), some(), some(), some())
def test_complex_balls_hold_what_is_made_of_all_numbers(a: Doubles, b: Doubles, c: Doubles, d: Doubles):
    x, y = ComplexDoubles(a, b), ComplexDoubles(c, d)
    found = {"+": x + y, "1 -": 1 - x, "*": x * y, "/": x / y, "real *": x * c}
    size, square = x.largest(), box(x, known(np.full(N, 0.5)))
    with ctx.workprec(200):
        for re, im, re_2, im_2 in zip(*map(points, (a, b, c, d)), strict=True):
            p, q = ([acb(*z) for z in zip(*parts, strict=True)] for parts in ((re, im), (re_2, im_2)))
            made = {
                "+": [u + v for u, v in zip(p, q, strict=True)],
                "1 -": [1 - u for u in p],
                "*": [u * v for u, v in zip(p, q, strict=True)],
                "/": [u / v if v != 0 else acb(0) for u, v in zip(p, q, strict=True)],
                "real *": [u * v for u, v in zip(p, re_2, strict=True)],
            }
            for name, numbers in made.items():
                holds(found[name].real, [z.real for z in numbers])
                holds(found[name].imag, [z.imag for z in numbers])
            assert all(abs(z) <= arb(float(m)) for z, m in zip(p, size.middle, strict=True))
            for turn in (acb(0.5), acb(0, -0.5), acb(0.3, 0.4)):
                holds(square.real, [(z + turn).real for z in p])
                holds(square.imag, [(z + turn).imag for z in p])


@given(some(), st.integers(0, 1 << 62))
def test_powers_of_shares_hold_the_true_ones(x: Doubles, n: int):
    share = known(np.tanh(abs(x.middle)) * (1 - 2.0**-40))
    found = powers(share, n)
    with ctx.workprec(200):
        holds(found, [arb(float(p)) ** n for p in share.middle])


@given(some(), some())
def test_discs_hold_where_numbers_of_balls_may_be_moved(x: Doubles, v: Doubles):
    """a x + v, real and complex, with |a| <= 0.9."""
    a = np.exp(1j * v.middle) * 0.9
    for numbers, centre, far in (
        (known(a.real), known(x.middle), v),
        (ComplexDoubles(known(a.real), known(a.imag)), ComplexDoubles(known(x.middle), known(v.middle)), v),
    ):
        disc = Discs(centre, known(x.radius)).moved(Factor(numbers, known(np.full(N, 0.9000001))), far)
        is_complex = isinstance(numbers, ComplexDoubles)
        with ctx.workprec(200):
            for angle in (0.0, 1.0, 2.5):
                for i in range(N):
                    step = arb(float(x.radius[i])) * (acb(arb(angle).cos(), arb(angle).sin()) if is_complex else 1)
                    start = acb(float(x.middle[i]), float(v.middle[i])) if is_complex else arb(float(x.middle[i]))
                    factor = acb(float(a[i].real), float(a[i].imag)) if is_complex else arb(float(a[i].real))
                    moved = factor * (start + step) + arb(float(v.middle[i])) + arb(float(v.radius[i]))
                    parts = (disc.centre.real, disc.centre.imag) if is_complex else (disc.centre,)
                    to = (acb if is_complex else arb)(*(float(part.middle[i]) for part in parts))
                    assert abs(moved - to) <= arb(float(disc.radius.middle[i]))


@pytest.mark.parametrize("name", ["exp", "softplus", "sigmoid", "sqrt"])
def test_a_wide_ball_is_hardly_wider_than_the_values_at_its_ends(name: str):
    x = Doubles(np.array([0.0, -12.0, 3.0, 40.0]), np.array([30.0, 11.5, 2.9, 1.0]))
    low, high = ends(FUNCTIONS[name][0](x))
    least, most = ([FUNCTIONS[name][1](arb(float(end))) for end in of] for of in ends(x))
    assert all(abs(float(a) - b) <= 1e-8 * (1 + abs(float(c))) for a, b, c in zip(least, low, most, strict=True))
    assert all(abs(float(a) - b) <= 1e-8 * (1 + abs(float(a))) for a, b in zip(most, high, strict=True))


def test_what_lies_within_two_numbers_is_known_to_where_nothing_else_is():
    x = Doubles(np.array([0.0, -12.0, 1.0, np.nan, np.inf]), np.array([30.0, 11.5, 1e-9, 0.0, np.inf]))
    low, high = ends(within(x, -2.0, 2.0))
    assert np.allclose(low, [-2, -2, 1, -2, -2])
    assert np.allclose(high, [2, -0.5, 1, 2, 2])
    assert low[0] <= -2
    assert high[1] >= -0.5


def test_a_quotient_of_wide_balls_is_between_those_of_their_ends():
    low, high = ends(Doubles(np.array([-0.5]), np.array([0.1])) / Doubles(np.array([0.48]), np.array([0.12])))
    assert low[0] == pytest.approx(-0.6 / 0.36, rel=1e-6)
    assert high[0] == pytest.approx(-0.4 / 0.6, rel=1e-6)


def test_a_quotient_of_balls_that_nearly_reach_0_or_are_hardly_numbers_is_held_or_not_known():
    """Their ends are rounded outwards, and may be on both sides of 0 where 0 is not in the ball."""
    n, s = float.fromhex("0x1.a30febcfd9c28p+0"), float.fromhex("0x1.a30febc94d82dp+0")
    wide = Doubles(np.array([n, 1.6369616873214543, 2.0**-1000, -n]), np.array([s, 1.6369616827478353, 2.0**-1001, s]))
    with ctx.workprec(2400):
        for numbers in points(wide):
            holds(known(np.ones(4)) / wide, [1 / y for y in numbers])


@given(st.floats(1, 2), st.integers(-40, 40), st.sampled_from([-1, 1]))
def test_a_quotient_holds_those_at_the_ends_however_near_0_they_are(n: float, steps: int, sign: int):
    s = n * (1 - 2.0**-30)
    s += steps * np.spacing(s)
    found = known(np.ones(1)) / Doubles(np.array([sign * n]), np.array([s]))
    with ctx.workprec(200):
        for y in (arb(n) - arb(s), arb(n) + arb(s)):
            if y > 0:
                holds(found, [1 / (sign * y)])
