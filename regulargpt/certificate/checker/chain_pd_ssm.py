"""PD-SSM (Terzic et al. 2025), a step of it.

h is N = `d_state` complex numbers, d_model for 0. With K = `dictionary` matrices M_k (N, N), s(x) = 1 / (1 + e^-x), and
mlp(x) = down gelu(up x), with a bias each,

    e = softmax(select x);  M = sum_k e_k M_k
    P has a 1 in each column, where that column of M is largest                  (variant = column)
    P has a 1 in each row, where that row of M is largest                        (variant = row)
    P has a 1 in each column, where that column of M_k is largest, for the k of the largest e_k;
        of equal numbers of M_k the first counts                                 (variant = bank)
    d = s(magnitude(x)) exp(2 pi i s(phase(x)))
    h' = P (d * h) + b x,  of a row: d * (P h) + b x
    mixer(x) = out (h' as pairs) + skip * x

x is what the block reads: h = embedding[symbol] and then h = LN(mixer(h)); if `mlp` = swiglu, h = LN'(h + mlp(h)). LN
has a gain and a bias, and epsilon 10^-5. The logits are W h + b. A block carries h as pairs (N, 2), which starts with
the number 1, then zeros.

P jumps where two numbers are equal. Which is the largest has to be proven.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from flint import arb

from regulargpt.certificate.checker.balls import (
    above,
    as_complex,
    constant,
    cos,
    exp,
    joined,
    less,
    middle,
    product,
    sin,
)
from regulargpt.certificate.checker.boxes import ends
from regulargpt.certificate.checker.chain_diagonal import Diagonal
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.factors import Routed
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected
from regulargpt.certificate.checker.network import COST, Ints, Shapes, gelu, linear_shapes, norm_shapes, sigmoid


class PdSsm(Diagonal):
    """A complex state that a matrix with a 1 in each column, or row, moves."""

    SIZES = (*Diagonal.SIZES, "dictionary", "d_state")
    CHOICES: ClassVar = {**Diagonal.CHOICES, "variant": ("column", "row", "bank")}
    UNREAD = ("gate_bias",)
    routes = True

    def measure(self) -> None:
        self.N, self.count, self.kind = self.model["d_state"] or self.d, self.model["dictionary"], self.model["variant"]
        if min(self.N, self.count) < 1:
            raise Malformed("config.json: the sizes are not those of a network")
        super().measure()

    def work(self) -> int:
        """Each number of the matrices, and of their shares, is one more to compute or compare."""
        return super().work() + self.choosing()

    def widest(self) -> int:
        return max(super().widest(), 4 * max(self.N**2, self.count))

    def first_state(self) -> Floats:
        return np.concatenate([self.first(layer).ravel() for layer in range(self.layers)])

    def first(self, layer: int) -> Floats:
        state = np.zeros((self.N, 2))
        state[0, 0] = 1
        return state

    def head_shapes(self) -> Shapes:
        return {}

    def head(self, h: Any) -> Any:
        return h

    def norms(self, names: list[str]) -> Shapes:
        return norm_shapes(names, self.d)

    def mixer_shapes(self, layer: int) -> Shapes:
        d, N = self.d, self.N
        shapes = linear_shapes("select", self.count, d, bias=False) | {"dictionary": (self.count, N, N), "skip": (d,)}
        for name in ("magnitude", "phase"):
            shapes |= linear_shapes(f"{name}.up", 2 * N, d) | linear_shapes(f"{name}.down", N, 2 * N)
        return shapes | linear_shapes("b", 2 * N, d, bias=False) | linear_shapes("out", d, 2 * N)

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.N, 2)]

    def entered(self, layer: int, h: Any) -> Any:
        return h

    def onward(self, layer: int, h: Any, more: Any) -> Any:
        block = f"blocks.{layer}."
        h = self.norm(f"{block}norm", more)
        return self.norm(f"{block}mlp_norm", h + self.mlp(block, h)) if self.model["mlp"] == "swiglu" else h

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        name, (h,) = self.place(layer), carried
        a, v, rest = self.moving(name, x, self.places(name, x, is_certain=not isinstance(x, Doubles)))
        h = self.of_numbers(self.as_factor(name, a, rest).on(self.numbers(h)) + self.numbers(v))
        return self.made(name, h, rest), [h]

    def brings(self, name: str, own: Any, old: list[Any]) -> tuple[Any, Any, Any]:
        return self.moving(name, own, self.places(name, own))

    def moving(self, name: str, x: Any, places: tuple[Ints, npt.NDArray[np.bool_]]) -> tuple[Any, Any, Any]:
        """As `brings`. Where the places are not certain, nothing is known of d."""
        size, angle = self.sigmoids(f"{name}magnitude", x), 2 * arb.pi() * self.sigmoids(f"{name}phase", x)
        size = size * constant(np.where(places[1], 1, np.nan)[:, None], size)  # (n, N)
        v = self.linear(f"{name}b", x).reshape(len(x), self.N, 2)  # (n, N, 2)
        return (size * cos(angle), size * sin(angle)), v, (x, size, places[0])

    def as_factor(self, name: str, a: Any, rest: Any) -> Routed:
        _, size, places = rest
        return Routed(as_complex(*a), above(size), places, self.kind == "row")

    def choosing(self) -> int:
        return COST * self.layers * (self.N**2 + self.count)

    def made(self, name: str, S: Any, rest: Any) -> Any:
        flat: Any = S.reshape(len(S), 2 * self.N)  # (n, 2 N)
        return self.linear(f"{name}out", flat) + self.w[f"{name}skip"] * rest[0]

    def pairs(self, S: Any) -> tuple[Any, Any]:
        return S[..., 0], S[..., 1]

    def unpaired(self, re: Any, im: Any) -> Any:
        return joined([re[..., None], im[..., None]], -1)

    def sigmoids(self, name: str, x: Any) -> Any:
        """s(down gelu(up x)), (n, N)."""
        return sigmoid(self.linear(f"{name}.down", gelu(self.linear(f"{name}.up", x))))

    def places(self, name: str, x: Any, is_certain: bool = False) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Where the 1 is in each column, or row, (n, N), and whether that is certain, (n,)."""
        logits, axis = self.linear(f"{name}select", x), 2 if self.kind == "row" else 1
        if self.kind == "bank":
            which, certain = largest(logits, 1, is_certain)
            return self.raw[f"{name}dictionary"].argmax(axis)[which], certain  # of (K, N)
        # Softmax divides all of a row by one positive number.
        mixtures = product(exp(logits), self.w[f"{name}dictionary"].reshape(self.count, -1))  # (n, N^2)
        return largest(mixtures.reshape(len(x), self.N, self.N), axis, is_certain)  # (n, N, N)


def largest(values: Any, axis: int, is_certain: bool = False) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Where the largest number along an axis is, and whether that is certain for all of a row (n,).

    If it has to be, of balls of FLINT, what is not raises Undecided, or Rejected for two that are equal.
    """
    quick = isinstance(values, Doubles)
    middles = np.nan_to_num(values.middle, nan=-np.inf) if quick else middle(values)
    best = np.expand_dims(middles.argmax(axis), axis)
    low, high = ends(values) if quick else (values, values.copy())
    own = np.take_along_axis(low, best, axis)
    nowhere: Any = -np.inf if quick else arb("-inf")
    np.put_along_axis(high, best, nowhere, axis)  # it is no rival of its own
    below = less(high, own) if is_certain else (high < own).astype(bool)
    certain = np.asarray(below.reshape(len(below), -1).all(1))  # (n,)
    if is_certain and not certain.all():
        raise Rejected("two of the numbers of which a 1 marks the largest are equal")
    return best.squeeze(axis), certain
