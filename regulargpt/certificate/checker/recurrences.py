"""The network of linear recurrences, x' = a x + v with |a| < 1 in every layer, while it reads a word again and again.

States are discs in the complex plane. A box that turns grows by up to the root of 2 at every step, as its corners do; a
disc shrinks by |a| whatever it turns by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import acb, arb

from regulargpt.certificate.checker.balls import Balls, positive, sqrt
from regulargpt.certificate.checker.chain_network import LinearRnn
from regulargpt.certificate.checker.files import Floats
from regulargpt.certificate.checker.network import gelu

# How a layer moves: from its number and what it adds at each position (n, d) to its states (n, d).
Advance = Callable[[int, npt.NDArray[np.object_]], npt.NDArray[np.object_]]

STEP = 300  # so many multiplications take as long as what else is done with a number of a layer
NARROW = 2.0**-10  # radii of balls for which the plain formulas lose little

middle: Any = np.frompyfunc(lambda x: x.mid(), 1, 1)
above: Any = np.frompyfunc(lambda x: abs(x).upper(), 1, 1)
real: Any = np.frompyfunc(lambda x: x.real, 1, 1)
imaginary: Any = np.frompyfunc(lambda x: x.imag, 1, 1)
as_complex: Any = np.frompyfunc(acb, 2, 1)
minus_expm1: Any = np.frompyfunc(lambda x: -x.expm1(), 1, 1)
exp: Any = np.frompyfunc(lambda x: x.exp(), 1, 1)
cosine: Any = np.frompyfunc(arb.cos, 1, 1)
sine: Any = np.frompyfunc(arb.sin, 1, 1)
# The square around a disc, from its centre and radius.
square: Any = np.frompyfunc(lambda c, r: c + acb(arb(0, r), arb(0, r)), 2, 1)


def _sigmoid(x: arb) -> arb:
    """It rises: in a wide ball it is between its values at the ends, which exp of a ball would not show."""
    if x.rad() < NARROW:
        return 1 / (1 + (-x).exp())
    low, high = (1 / (1 + (-end).exp()) for end in (x.lower(), x.upper()))
    return low.union(high)


sigmoid: Any = np.frompyfunc(_sigmoid, 1, 1)


def _within(x: arb, most: arb) -> arb:
    """The part of a ball in +-most; all of that if the ball is of no number."""
    if x.rad() < NARROW:
        return x
    whole = arb(0, most.upper())
    return x.intersection(whole) if x.is_finite() else whole


within: Any = np.frompyfunc(_within, 2, 1)


@dataclass(frozen=True)
class Discs:
    """Complex numbers (..., d) within `radius` of `centre`, which is exact."""

    centre: npt.NDArray[np.object_]
    radius: Balls

    @classmethod
    def around(cls, x: npt.NDArray[np.object_], radius: Any = 0) -> Discs:
        """All that is so far from numbers in these boxes."""
        centre = middle(x)
        return cls(centre, above(above(x - centre) + radius))

    @classmethod
    def zero(cls, *shape: int) -> Discs:
        """The state before the first symbol."""
        return cls(np.full(shape, acb(0)), np.full(shape, arb(0)))

    def boxes(self) -> npt.NDArray[np.object_]:
        """Each disc in a square."""
        return square(self.centre, self.radius)

    def rows(self, at: Any) -> Discs:
        """Some of them."""
        return Discs(self.centre[at], self.radius[at])


class Recurrence:
    """One layer: x' = a x + v with a = exp(-decay + i theta)."""

    def __init__(self, w: Mapping[str, Balls], name: str):
        self.decay, self.theta = exp(w[f"{name}nu"]), w[f"{name}theta"]
        self.a, self.size = self.power(1), self.sizes(1)
        self.gamma = sqrt(minus_expm1(-2 * self.decay))

    def power(self, n: int) -> npt.NDArray[np.object_]:
        """a^n (d,)."""
        return as_complex(self.sizes(n) * cosine(n * self.theta), self.sizes(n) * sine(n * self.theta))

    def sizes(self, n: int) -> Balls:
        """|a|^n (d,)."""
        return exp(-n * self.decay)

    def step(self, x: Discs, v: npt.NDArray[np.object_]) -> Discs:
        """a x + v: the radius is that of x times |a|, and what v and rounding add."""
        return Discs.around(self.a * x.centre + v, self.size * x.radius)

    def settled(self, start: Discs, v: npt.NDArray[np.object_], blocks: int) -> Discs:
        """Where x is from so many blocks on that each add `v` (L, d), one number in its box at a time, from `start` on.

        A block maps x to P x + b, P = a^L, with |b - m| <= r. With s = m / (1 - P), x - s becomes P (x - s) + (b - m):
        after n blocks its size is at most |P|^n |x - s| + r / (1 - |P|).
        """
        b = Discs.zero(v.shape[1])
        for row in v:
            b = self.step(b, row)
        L = len(v)
        s = b.centre / (1 - self.power(L))
        far = above(start.centre - s) + start.radius
        return Discs.around(s, self.sizes(blocks * L) * far + b.radius / minus_expm1(-L * self.decay))


class Recurrences(LinearRnn):
    """The network of chain_network.py as its recurrences: the same function, for words that go on and on."""

    def __init__(self, weights: Mapping[str, Floats], record: Any):
        super().__init__(weights, record)
        self.of_layers = [Recurrence(self.w, f"blocks.{layer}.lru.") for layer in range(self.layers)]

    def beginning(self) -> list[Discs]:
        """The state of each layer before the first symbol."""
        return [Discs.zero(self.d) for _ in self.of_layers]

    def logits(self, symbols: Sequence[int], advance: Advance) -> Balls:
        """The logits (n, n_outputs) at symbols (n,), whose states are what `advance` says."""
        h = self.w["embedding.weight"][list(symbols)]  # (n, d)
        for layer, recurrence in enumerate(self.of_layers):
            block = f"blocks.{layer}."
            u = self.norm(f"{block}ln", h)
            into = self.linear(f"{block}lru.b", u)  # (n, 2 d)
            x = advance(layer, as_complex(into[:, ::2], into[:, 1::2]) * recurrence.gamma)  # (n, d)
            pairs = np.stack([real(x), imaginary(x)], -1).reshape(len(u), 2 * self.d)  # (n, 2 d)
            y = self.linear(f"{block}lru.c", pairs) + self.w[f"{block}lru.d"] * u
            gated = self.linear(f"{block}glu", gelu(y))  # (n, 2 d)
            h = h + gated[:, : self.d] * sigmoid(gated[:, self.d :])
        return self.linear("readout", self.norm("ln_final", h))

    def norm(self, name: str, x: Balls) -> Balls:
        """LayerNorm with gain and bias; epsilon is 10^-5. |x_i| / sqrt(sum x_j^2 / d + epsilon) is below sqrt(d), which
        wide balls do not show."""
        centred = x - x.sum(-1, keepdims=True) / self.d
        scale = sqrt(positive(centred * centred).sum(-1, keepdims=True) / self.d + arb("1e-5"))
        return within(centred / scale, arb(self.d).sqrt()) * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def work_of_symbol(self) -> int:
        """About how many multiplications a symbol takes."""
        return sum(w.size for w in self.w.values()) + STEP * self.layers * (1 + self.d)

    def read(
        self, symbols: Sequence[int], start: Sequence[Discs], ends: Sequence[int]
    ) -> tuple[Balls, list[Discs], list[Discs]]:
        """The logits (ends, n_outputs) and states (ends, d) of each layer after some symbols of a word, and the states
        (d,) after all."""
        states: list[Discs] = []

        def advance(number: int, v: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
            x, found = start[number], []
            for row in v:
                x = self.of_layers[number].step(x, row)
                found.append(x)
            states.append(Discs(np.stack([x.centre for x in found]), np.stack([x.radius for x in found])))
            return states[-1].boxes()

        logits = self.logits(symbols, advance)
        return logits[[*ends]], [x.rows([*ends]) for x in states], [x.rows(-1) for x in states]

    def toward(self, after_u: Sequence[Discs], v: Sequence[int], w: Sequence[int]) -> Settling:
        """Where u v^n w leads."""
        return Settling(self, self.settle(after_u, v, w)[1], v, w)

    def one_more(self, states: Sequence[Discs], symbol: int) -> tuple[Balls, list[Discs]]:
        """The logits (n, n_outputs) and the states after one more symbol, from n states, (n, d) of each layer."""
        after: list[Discs] = []

        def advance(number: int, v: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
            after.append(self.of_layers[number].step(states[number], v))
            return after[-1].boxes()

        return self.logits([symbol] * len(states[0].centre), advance), after

    def settle(
        self, starts: Sequence[Discs], v: Sequence[int], w: Sequence[int], blocks: int = 0
    ) -> tuple[Balls, list[Discs]]:
        """Where the network is while it reads v again and again: the states of each layer (d,), and the logits
        (n_outputs,) after v w from there.

        Without `blocks`, `starts` is where it begins, and what is given holds from there on. Else `starts` holds from
        some v on, and what is given from `layers` times `blocks` later on: each layer takes so many blocks from when
        the one below has come so near.
        """
        found: list[Discs] = []

        def advance(number: int, inputs: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
            layer = self.of_layers[number]
            x, rows = layer.settled(starts[number], inputs[: len(v)], blocks), []
            found.append(x)
            for row in inputs:
                x = layer.step(x, row)
                rows.append(x.boxes())
            return np.stack(rows)

        return self.logits([*v, *w], advance)[-1], found


@dataclass(frozen=True)
class Settling:
    """Where a network goes while it reads v again and again, and then w; `everywhere` it is after u v^n."""

    network: Recurrences
    everywhere: Sequence[Discs]
    v: Sequence[int]
    w: Sequence[int]

    def all(self, n: int) -> Balls:
        """The logits (n_outputs,) after u v^m w for all m >= n, n >= 1."""
        # Before the last v stand n - 1 or more: a layer has its share of them from when the one below has settled.
        return self.network.settle(self.everywhere, self.v, self.w, (n - 1) // self.network.layers)[0]
