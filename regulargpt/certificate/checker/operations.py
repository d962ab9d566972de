"""The operations of graph.json, each once, on numbers of any kind: balls of FLINT, balls in float64, or with slopes.

A value that depends on the state or on the symbol has an axis of n rows before the axes of its shape: rows are computed
side by side, and no operation mixes them. A constant has only the axes of its shape. All axes are counted from the end,
so they are the same for both. docs/graph.md says what each operation is, in a line of mathematics.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from regulargpt.certificate.checker import balls
from regulargpt.certificate.checker.balls import positive, product, sqrt, square, within_root
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.files import Malformed, Rejected
from regulargpt.certificate.checker.network import MAX_NUMBERS, gelu, root_mean_square, silu, tanh
from regulargpt.certificate.checker.slopes import Sloped

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """Numbers of this shape; with an axis of rows before it if they are `live`."""

    numbers: Any
    is_live: bool

    @property
    def shape(self) -> Shape:
        return tuple(self.numbers.shape[self.is_live :])

    @property
    def size(self) -> int:
        return prod(self.shape)

    def moved(self, change: Callable[[Any], Any]) -> Value:
        """The same numbers in other places: `change` is of arrays, with the axis of rows if there is one."""
        return Value(placed(self.numbers, change), self.is_live)

    def reshaped(self, shape: Shape) -> Value:
        if prod(shape) != self.size or not shape:
            raise Malformed(f"graph: {self.size} numbers have no shape {list(shape)}")
        return self.moved(lambda x: x.reshape((len(x), *shape) if self.is_live else shape))  # (n, *shape) or (*shape)

    def to_rank(self, rank: int) -> Value:
        """With so many axes or more: rows stand before all of them."""
        return self.reshaped((1,) * (rank - len(self.shape)) + self.shape) if len(self.shape) < rank else self


def placed(numbers: Any, change: Callable[[Any], Any]) -> Any:
    """What a change of places makes of numbers of each kind."""
    if isinstance(numbers, Sloped):
        return numbers.map(lambda part: part.map(change))
    return numbers.map(change) if isinstance(numbers, Doubles) else change(numbers)


def bounded(size: int) -> None:
    """Raise Rejected for more numbers than one value may have."""
    if size > MAX_NUMBERS:
        raise Rejected(f"graph: a value of {size:,} numbers; at most {MAX_NUMBERS:,} are checked")


def together(operation: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Value]:
    """An operation on two values, number by number, the smaller one repeated along axes of length 1."""

    def of_values(x: Value, y: Value) -> Value:
        shape = np.broadcast_shapes(x.shape, y.shape)
        bounded(prod(shape))
        x, y = x.to_rank(len(shape)), y.to_rank(len(shape))
        return Value(operation(x.numbers, y.numbers), x.is_live or y.is_live)

    return of_values


def by_number(function: Callable[[Any], Any]) -> Callable[[Value], Value]:
    """A function of each number."""
    return lambda x: Value(function(x.numbers), x.is_live)


def axis_of(x: Value, axis: int) -> int:
    """An axis of a value, counted from the end. Raises Malformed if there is none."""
    if not -len(x.shape) <= axis < 0:
        raise Malformed(f"graph: axis {axis} of a value of {len(x.shape)} axes; they are counted from the end, -1 last")
    return axis


def reshape(x: Value, shape: Sequence[int]) -> Value:
    return x.reshaped(tuple(shape))


def permute(x: Value, axes: Sequence[int]) -> Value:
    """Axis i of the result is axis `axes[i]`, counted from the end."""
    if sorted(axes) != list(range(-len(x.shape), 0)):
        raise Malformed(f"graph: {list(axes)} is no order of {len(x.shape)} axes")
    first = (0,) if x.is_live else ()
    return x.moved(lambda array: array.transpose(*first, *(axis % array.ndim for axis in axes)))  # (n, in that order)


def cut(x: Value, axis: int, start: int, end: int) -> Value:
    """Places from `start` to before `end` along an axis."""
    if not 0 <= start < end <= x.shape[axis_of(x, axis)]:
        raise Malformed(f"graph: places {start} to {end} of an axis of {x.shape[axis]}")
    return x.moved(lambda array: array[..., start:end, *[slice(None)] * (-1 - axis)])


def concatenate(*parts: Value, axis: int) -> Value:
    """Values behind each other along an axis."""
    bounded(sum(part.size for part in parts))
    live = [part for part in parts if part.is_live]
    if live:
        rows = len(live[0].numbers)
        parts = tuple(part if part.is_live else repeated(part, rows) for part in parts)
    return Value(balls.joined([part.numbers for part in parts], axis_of(parts[0], axis)), bool(live))


def repeated(x: Value, rows: int) -> Value:
    """A constant in each of some rows."""
    return Value(placed(x.numbers, lambda array: np.broadcast_to(array, (rows, *array.shape))), True)  # (rows, *shape)


def broadcast(x: Value, shape: Sequence[int]) -> Value:
    bounded(prod(shape))
    return x.to_rank(len(shape)).moved(
        lambda array: np.broadcast_to(array, (len(array), *shape) if x.is_live else shape)  # (n, *shape) or (*shape)
    )


def total(x: Value, axis: int) -> Value:
    """The sum along an axis, which stays with length 1."""
    axis_of(x, axis)
    return Value(x.numbers.sum(axis, keepdims=True), x.is_live)


def matrix_product(x: Value, y: Value) -> Value:
    """(.., m, k) times (.., k, p) is (.., m, p): by one product where the right one is a constant matrix."""
    if min(len(x.shape), len(y.shape)) < 2 or x.shape[-1] != y.shape[-2]:
        raise Malformed(f"graph: no matrix product of shapes {list(x.shape)} and {list(y.shape)}")
    if len(y.shape) == 2 and not y.is_live:
        bounded(x.size // x.shape[-1] * y.shape[-1])
        return Value(by_matrix(x.numbers, y.numbers), x.is_live)
    left = x.reshaped((*x.shape, 1))  # (.., m, k, 1)
    right = y.reshaped((*y.shape[:-2], 1, *y.shape[-2:]))  # (.., 1, k, p)
    summed = total(together(operator.mul)(left, right), -2)  # (.., m, 1, p)
    return summed.reshaped((*summed.shape[:-2], summed.shape[-1]))  # (.., m, p)


def by_matrix(x: Any, weights: Any) -> Any:
    """Numbers (.., k) times weights (k, p)."""
    if isinstance(x, Sloped):
        return x.map(lambda part: by_matrix(part, weights.values))
    return product(x.reshape(-1, x.shape[-1]), weights).reshape(*x.shape[:-1], weights.shape[1])  # (rows, k), (.., p)


def layer_norm(x: Value, epsilon: float) -> Value:
    """(x - mean x) / sqrt(mean (x - mean x)^2 + epsilon) along the last axis."""
    return rms_norm(Value(x.numbers - x.numbers.sum(-1, keepdims=True) / x.shape[-1], x.is_live), epsilon)


def rms_norm(x: Value, epsilon: float) -> Value:
    """x / sqrt(mean x^2 + epsilon) along the last axis."""
    if not epsilon > 0:
        raise Malformed("graph: the epsilon of a norm is above 0")
    return Value(within_root(x.numbers / root_mean_square(x.numbers, epsilon), x.shape[-1]), x.is_live)


def softmax(x: Value) -> Value:
    """1 / sum_j exp(x_j - x_i) along the last axis: no number is far from its share of 1, however wide the balls."""
    bounded(x.size * x.shape[-1])
    apart = x.numbers[..., None, :] - x.numbers[..., :, None]  # (.., i, j): x_j - x_i
    return Value(1 / balls.exp(apart).sum(-1), x.is_live)


def minimum(x: Any, y: Any) -> Any:
    """The smaller of two, number by number."""
    return -balls.maximum(-x, -y)


Operation = Callable[..., Value]
INT, INTS, REAL = "whole number", "whole numbers", "number"
# Each operation: how many values it takes (None is one or more), what else, and the function.
OPERATIONS: dict[str, tuple[int | None, dict[str, str], Operation]] = {
    "reshape": (1, {"shape": INTS}, reshape),
    "permute": (1, {"axes": INTS}, permute),
    "slice": (1, {"axis": INT, "start": INT, "end": INT}, cut),
    "concatenate": (None, {"axis": INT}, concatenate),
    "broadcast": (1, {"shape": INTS}, broadcast),
    "add": (2, {}, together(operator.add)),
    "subtract": (2, {}, together(operator.sub)),
    "multiply": (2, {}, together(operator.mul)),
    "divide": (2, {}, together(operator.truediv)),
    "maximum": (2, {}, together(balls.maximum)),
    "minimum": (2, {}, together(minimum)),
    "negate": (1, {}, by_number(operator.neg)),
    "absolute": (1, {}, by_number(abs)),
    "square": (1, {}, by_number(square)),
    "root": (1, {}, by_number(sqrt)),
    "exp": (1, {}, by_number(balls.exp)),
    "sin": (1, {}, by_number(balls.sin)),
    "cos": (1, {}, by_number(balls.cos)),
    "erf": (1, {}, by_number(balls.erf)),
    "sigmoid": (1, {}, by_number(balls.sigmoid)),
    "tanh": (1, {}, by_number(tanh)),
    "softplus": (1, {}, by_number(balls.softplus)),
    "relu": (1, {}, by_number(positive)),
    "silu": (1, {}, by_number(silu)),
    "gelu": (1, {}, by_number(gelu)),
    "sum": (1, {"axis": INT}, total),
    "product": (2, {}, matrix_product),
    "layer_norm": (1, {"epsilon": REAL}, layer_norm),
    "rms_norm": (1, {"epsilon": REAL}, rms_norm),
    "softmax": (1, {}, softmax),
}
