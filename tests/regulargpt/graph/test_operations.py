"""One law for each operation and each kind of number: what it makes of a box holds what it makes of each point in it.

The oracle computes with 300 bits (mpmath), on arrays of its numbers: it shares nothing with the checker.
"""

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from regulargpt.certificate.checker.balls import exact
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.files import Malformed, Rejected
from regulargpt.certificate.checker.operations import OPERATIONS, Value
from regulargpt.certificate.checker.slopes import Sloped

mp.prec = 300
EPSILON = 1e-5


def each(function):
    """A function of each number."""
    made = np.frompyfunc(function, 1, 1)
    return lambda x, **options: made(x)


def mean(x):
    return x.sum(-1, keepdims=True) / x.shape[-1]


def roots(x):
    return each(mp.sqrt)(x)


def softmax(x):
    shares = each(mp.exp)(x)
    return shares / shares.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


# Of arrays with an axis of rows in front; options are those of the graph.
ORACLES = {
    "reshape": lambda x, shape: x.reshape(len(x), *shape),
    "permute": lambda x, axes: x.transpose(0, *(axis % x.ndim for axis in axes)),
    "slice": lambda x, axis, start, end: x.take(range(start, end), axis),
    "concatenate": lambda x, y, axis: np.concatenate([x, y], axis),
    "broadcast": lambda x, shape: np.broadcast_to(x[:, None], (len(x), *shape)),
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "maximum": lambda x, y: np.maximum(x, y),
    "minimum": lambda x, y: np.minimum(x, y),
    "negate": lambda x: -x,
    "absolute": each(abs),
    "square": lambda x: x * x,
    "root": lambda x: roots(x),
    "exp": each(mp.exp),
    "sin": each(mp.sin),
    "cos": each(mp.cos),
    "erf": each(mp.erf),
    "sigmoid": each(sigmoid),
    "tanh": each(mp.tanh),
    "softplus": each(lambda x: mp.log1p(mp.exp(x))),
    "relu": each(lambda x: max(x, mpf(0))),
    "silu": each(lambda x: x * sigmoid(x)),
    "gelu": each(lambda x: x * mp.ncdf(x)),
    "sum": lambda x, axis: x.sum(axis, keepdims=True),
    "product": lambda x, y: np.array([a.dot(b) for a, b in zip(x, y, strict=True)]),
    "layer_norm": lambda x, epsilon: (x - mean(x)) / roots(mean((x - mean(x)) ** 2) + mpf(epsilon)),
    "rms_norm": lambda x, epsilon: x / roots(mean(x * x) + mpf(epsilon)),
    "softmax": softmax,
}
OPTIONS = {
    "reshape": {"shape": [3, 2]},
    "permute": {"axes": [-1, -2]},
    "slice": {"axis": -1, "start": 1, "end": 3},
    "concatenate": {"axis": -2},
    "broadcast": {"shape": [4, 2, 3]},
    "sum": {"axis": -2},
    "layer_norm": {"epsilon": EPSILON},
    "rms_norm": {"epsilon": EPSILON},
}
POSITIVE = {"root", "divide"}  # of what is at least 1/2, as the last value of each
SHAPE, ROWS = (2, 3), 2


def shapes_of(name):
    """The shapes of the values."""
    count = OPERATIONS[name][0] or 2
    return [SHAPE, (3, 2)] if name == "product" else [SHAPE] * count


def draw(name, seed, rows, radius):
    """Boxes of values: centres and radii."""
    random = np.random.default_rng(seed)
    found = []
    for i, shape in enumerate(shapes_of(name)):
        centre = random.normal(size=(rows, *shape)) * random.choice([0.1, 1.0, 4.0])
        if name in POSITIVE and i == len(shapes_of(name)) - 1:
            centre = abs(centre) + 0.5 + radius
        found.append((centre, radius * random.uniform(0, 1, centre.shape)))
    return found, random


def points_in(boxes, random):
    """A point of each box, as often at a corner as not."""
    shares = [random.choice([-1.0, 0.0, 0.5, 1.0], size=centre.shape) for centre, _ in boxes]
    return [as_real(c) + as_real(r) * as_real(s) for (c, r), s in zip(boxes, shares, strict=True)]


as_real = np.frompyfunc(mpf, 1, 1)


def real(x: arb) -> mpf:
    return mpf(x.mid().str(90, radius=False)) if x.mid() else mpf(0)


def holds(found, right):
    """Whether balls hold these numbers, to the last of 80 digits."""
    assert found.shape == right.shape
    for ball, number in zip(found.ravel(), right.ravel(), strict=True):
        middle, radius = (real(ball), mpf(float(ball.rad().upper()))) if isinstance(ball, arb) else ball
        assert abs(number - middle) <= radius * (1 + mpf(2) ** -52) + mpf(10) ** -80, (number, middle, radius)


def pairs(found: Doubles) -> np.ndarray:
    both = np.empty(found.shape, dtype=object)
    for at in np.ndindex(found.shape):
        both[at] = mpf(float(found.middle[at])), mpf(float(found.radius[at]))
    return both


def test_each_operation_has_an_oracle():
    assert set(ORACLES) == set(OPERATIONS)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("kind", ["doubles", "flint"])
@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32), radius=st.sampled_from([0.0, 1e-9, 1e-3, 0.3]))
def test_a_box_holds_each_point(name: str, kind: str, seed: int, radius: float):
    boxes, random = draw(name, seed, ROWS, radius)
    if kind == "doubles":
        values = [Value(Doubles(centre, far), True) for centre, far in boxes]
    else:
        ball = np.frompyfunc(lambda c, r: arb(float(c), float(r)), 2, 1)
        values = [Value(ball(centre, far), True) for centre, far in boxes]
    options = OPTIONS.get(name, {})
    found = OPERATIONS[name][2](*values, **options)
    assert found.is_live
    right = ORACLES[name](*points_in(boxes, random), **options)
    holds(pairs(found.numbers) if kind == "doubles" else found.numbers, right)


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32), radius=st.sampled_from([0.0, 1e-6, 1e-2]))
def test_slopes_hold_each_move_from_the_centre(name: str, seed: int, radius: float):
    """f(y) - f(c) is a sum of (y_j - c_j) times numbers in the slopes of j."""
    boxes, random = draw(name, seed, 1, radius)
    sizes = [centre.size for centre, _ in boxes]
    centre, far = (np.concatenate([box[i].ravel() for box in boxes]) for i in range(2))
    state, at, values = Sloped.numbers(Doubles(centre, far)), 0, []
    for shape, size in zip(shapes_of(name), sizes, strict=True):
        part = state.map(lambda x, at=at, size=size: x.map(lambda y: y[:, at : at + size]))
        values.append(Value(part, True).reshaped(shape))
        at += size
    options = OPTIONS.get(name, {})
    found = OPERATIONS[name][2](*values, **options).numbers
    points = points_in(boxes, random)
    moved = ORACLES[name](*points, **options) - ORACLES[name](*[as_real(c) for c, _ in boxes], **options)
    step = np.concatenate([(p - as_real(c)).ravel() for p, (c, _) in zip(points, boxes, strict=True)])
    middle, radius_of = as_real(found.slopes.middle), as_real(found.slopes.radius)
    expected = np.tensordot(step, middle, 1)[None]
    room = np.tensordot(abs(step), radius_of, 1)[None]
    assert (abs(moved - expected) <= room + mpf(10) ** -80).all()
    holds(pairs(found.values), ORACLES[name](*points, **options))


@pytest.mark.parametrize("name", ["add", "multiply", "concatenate", "product", "divide"])
def test_constants_stand_beside_values_of_rows(name: str):
    """A constant on either side is as the same numbers in each row."""
    boxes, _ = draw(name, 7, ROWS, 0.0)
    first, second = (Doubles(centre, far) for centre, far in boxes)
    options = OPTIONS.get(name, {})
    for is_left in (True, False):
        values = [Value(first, True), Value(second, True)]
        constant = first if is_left else second
        at = 0 if is_left else 1
        values[at] = Value(constant.map(lambda x: x[0]), False)
        repeated = [*values]
        repeated[at] = Value(constant.map(lambda x: np.repeat(x[:1], ROWS, 0)), True)
        one, other = (OPERATIONS[name][2](*some, **options).numbers for some in (values, repeated))
        assert (abs(one.middle - other.middle) <= one.radius + other.radius).all()


REFUSED = [
    ("reshape", [SHAPE], {"shape": [4]}, "6 numbers have no shape"),
    ("reshape", [SHAPE], {"shape": []}, "6 numbers have no shape"),
    ("permute", [SHAPE], {"axes": [-1, -1]}, "is no order of 2 axes"),
    ("slice", [SHAPE], {"axis": -1, "start": 2, "end": 5}, "places 2 to 5 of an axis of 3"),
    ("slice", [SHAPE], {"axis": 0, "start": 0, "end": 1}, "axis 0 of a value of 2 axes"),
    ("sum", [SHAPE], {"axis": -3}, "axis -3 of a value of 2 axes"),
    ("product", [SHAPE, SHAPE], {}, "no matrix product of shapes"),
    ("layer_norm", [SHAPE], {"epsilon": 0.0}, "the epsilon of a norm is above 0"),
    ("broadcast", [SHAPE], {"shape": [1 << 20, 2, 3]}, "a value of 6,291,456 numbers"),
]


@pytest.mark.parametrize(("name", "shapes", "options", "message"), REFUSED)
def test_what_no_operation_takes_is_refused(name, shapes, options, message: str):
    values = [Value(exact(np.ones((1, *shape))), True) for shape in shapes]
    with pytest.raises((Malformed, Rejected), match=message):
        OPERATIONS[name][2](*values, **options)
