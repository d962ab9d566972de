"""PD-SSM (Terzic et al. 2025), one step of it.

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

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from flint import arb

from regulargpt.certificate.checker.balls import cos, exp, less, product, sin
from regulargpt.certificate.checker.boxes import ends
from regulargpt.certificate.checker.chain_mixing import Mixing, complex_product
from regulargpt.certificate.checker.doubles import Doubles, U, up
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected
from regulargpt.certificate.checker.network import COST, Ints, Shapes, gelu, linear_shapes, norm_shapes, sigmoid
from regulargpt.certificate.checker.slopes import Sloped

middle: Any = np.frompyfunc(lambda x: x.mid(), 1, 1)
NOTHING = Doubles(np.array(np.nan), np.array(np.nan))  # is known


class PdSsm(Mixing):
    """A complex state that a matrix with a 1 in each column, or row, moves."""

    SIZES = (*Mixing.SIZES, "dictionary", "d_state")
    CHOICES: ClassVar = {**Mixing.CHOICES, "variant": ("column", "row", "bank")}
    UNREAD = ("gate_bias",)

    def measure(self) -> None:
        self.N, self.count, self.kind = self.model["d_state"] or self.d, self.model["dictionary"], self.model["variant"]
        if min(self.N, self.count) < 1:
            raise Malformed("config.json: the sizes are not those of a network")
        super().measure()

    def work(self) -> int:
        """Each number of the matrices is compared, too."""
        return super().work() + COST * self.layers * self.N**2

    def widest(self) -> int:
        return max(super().widest(), 4 * self.N**2)

    def first_state(self) -> Floats:
        found = np.zeros((self.layers, self.N, 2))
        found[:, 0, 0] = 1
        return found.ravel()

    def head_shapes(self) -> Shapes:
        return {}

    def head(self, h: Any) -> Any:
        return h

    def norms(self, names: list[str]) -> Shapes:
        return norm_shapes(names, self.d)

    def mixer_shapes(self, layer: int) -> Shapes:
        d, N = self.d, self.N
        found = linear_shapes("select", self.count, d, bias=False) | {"dictionary": (self.count, N, N), "skip": (d,)}
        for name in ("magnitude", "phase"):
            found |= linear_shapes(f"{name}.up", 2 * N, d) | linear_shapes(f"{name}.down", N, 2 * N)
        return found | linear_shapes("b", 2 * N, d, bias=False) | linear_shapes("out", d, 2 * N)

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        return [(self.N, 2)]

    def block(self, layer: int, h: Any, carried: list[Any], shown: dict[str, Any]) -> tuple[Any, list[Any]]:
        block = f"blocks.{layer}."
        h, carried = self.mixed(layer, h, carried)
        h = self.norm(f"{block}norm", h)
        return self.norm(f"{block}mlp_norm", h + self.mlp(block, h)) if self.model["mlp"] == "swiglu" else h, carried

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        name, (h,) = f"blocks.{layer}.mixer.", carried
        places, certain = self.places(name, x)  # (n, N), (n,)
        size, angle = self.sigmoids(f"{name}magnitude", x), 2 * arb.pi() * self.sigmoids(f"{name}phase", x)
        re, im, by_rows = size * cos(angle), size * sin(angle), self.kind == "row"
        h = complex_product(re, im, in_rows(fetched, h, places) if by_rows else h)
        h = h if by_rows else in_rows(gathered, h, places)
        h = h + self.linear(f"{name}b", x).reshape(len(x), self.N, 2)  # (n, N, 2)
        if isinstance(h, Doubles | Sloped):
            h = in_rows(lambda x, _: x.where(certain[:, None, None], NOTHING), h, places)
        pairs: Any = h.reshape(len(x), 2 * self.N)  # (n, 2 N)
        return self.linear(f"{name}out", pairs) + self.w[f"{name}skip"] * x, [h]

    def sigmoids(self, name: str, x: Any) -> Any:
        """s(down gelu(up x)), (n, N)."""
        return sigmoid(self.linear(f"{name}.down", gelu(self.linear(f"{name}.up", x))))

    def places(self, name: str, x: Any) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Where the 1 is in each column, or row, (n, N), and whether that is certain, (n,)."""
        x = Sloped(x.values) if isinstance(x, Sloped) else x  # a choice that is certain has no slopes
        logits, axis = self.linear(f"{name}select", x), 2 if self.kind == "row" else 1
        if self.kind == "bank":
            which, certain = largest(logits, 1)
            return self.raw[f"{name}dictionary"].argmax(axis)[which], certain  # of (K, N)
        # Softmax divides all of a row by one positive number.
        mixtures = product(exp(logits), self.w[f"{name}dictionary"].reshape(self.count, -1))  # (n, N^2)
        return largest(mixtures.reshape(len(x), self.N, self.N), axis)  # (n, N, N)


def in_rows(f: Callable[[Any, Ints], Any], h: Any, places: Ints) -> Any:
    """What f makes of h (n, N, 2) and places (n, N), of which slopes have the same in each row."""
    return h.map(lambda x: f(x, places.repeat(len(x), 0))) if isinstance(h, Sloped) else f(h, places)


def fetched(h: Any, places: Ints) -> Any:
    """The numbers of h (n, N, 2) at the places (n, N)."""
    return h[np.arange(len(places))[:, None], places]


def gathered(h: Any, places: Ints) -> Any:
    """Sums of those numbers of h (n, N, 2) that go to the same one of the places (n, N)."""

    def sums(x: Any, nothing: Any) -> Any:
        found = np.full(x.shape, nothing)
        np.add.at(found, (np.arange(len(x))[:, None], places), x)
        return found

    if not isinstance(h, Doubles):
        return sums(h, arb(0))
    # Of at most N terms each, in some order.
    rounding = U * h.shape[1] * sums(abs(h.middle), 0.0)
    return Doubles(sums(h.middle, 0.0), up(sums(h.radius, 0.0) + rounding))


def largest(values: Any, axis: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Where the largest number along an axis is, and whether that is certain for all of a row (n,).

    In balls of FLINT it is always certain: else it raises Undecided, or Rejected for two that are equal.
    """
    values = values.values if isinstance(values, Sloped) else values
    quick = isinstance(values, Doubles)
    middles = np.nan_to_num(values.middle, nan=-np.inf) if quick else middle(values)
    best = np.expand_dims(middles.argmax(axis), axis)
    low, high = ends(values) if quick else (values, values.copy())
    own = np.take_along_axis(low, best, axis)
    nowhere: Any = -np.inf if quick else arb("-inf")
    np.put_along_axis(high, best, nowhere, axis)  # it is no rival of its own
    below = high < own if quick else less(high, own)
    certain = np.asarray(below.reshape(len(below), -1).all(1))  # (n,)
    if not quick and not certain.all():
        raise Rejected("two of the numbers of which a 1 marks the largest are equal")
    return best.squeeze(axis), certain
