"""Controllers: the state after a symbol, from the sums that its units get of symbol, tops and the state before."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from regulargpt.models.stack_rnn.signs import Binary, Hardness, signs

Vector = Float[Tensor, "batch d_model"]


class Controller(NamedTuple):
    """`move` gives the state, and what is carried beside it (or None), from the sums u and what was carried."""

    gates: int
    move: Callable[[Float[Tensor, "batch gates*d_model"], Vector | None, Hardness | None], tuple[Vector, Vector | None]]
    carries: bool = False


def binary(u: Tensor, carried: Vector | None, hardness: Hardness | None) -> tuple[Vector, Vector | None]:
    """h = sign(u), and nearly so in training."""
    return (signs(u) if hardness is None else Binary.apply(u, hardness)), None  # pyright: ignore[reportReturnType]


def relu(u: Tensor, carried: Vector | None, hardness: Hardness | None) -> tuple[Vector, Vector | None]:
    """h = max(0, u)."""
    return u.relu(), None


def tanh(u: Tensor, carried: Vector | None, hardness: Hardness | None) -> tuple[Vector, Vector | None]:
    """h = tanh(u)."""
    return u.tanh(), None


def lstm(u: Tensor, carried: Vector | None, hardness: Hardness | None) -> tuple[Vector, Vector | None]:
    """Gates i, f, o and new content g: c = f c + i g, h = o tanh(c)."""
    assert carried is not None
    i, f, g, o = u.chunk(4, -1)  # each (batch, d_model), as torch orders them
    c = f.sigmoid() * carried + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


CONTROLLERS = {
    "binary": Controller(1, binary),
    "elman-relu": Controller(1, relu),
    "tanh": Controller(1, tanh),
    "lstm": Controller(4, lstm, carries=True),
}
