"""Networks whose states move number by number, x' = a x + v with |a| < 1, while they read a word again and again.

Of some networks a x then goes to other places. Numbers are in discs of the complex plane, or in intervals, the discs of
real ones. A box that turns grows by up to the root of 2 at every step, as its corners do; a disc shrinks by |a|
whatever it turns by. a and v may depend on the symbols, and in all layers but the first on where the layers below are:
then they are only known to lie in boxes.

A block v maps x to P x + B, |P| at most the product p of the |a|. With any s, x - s becomes P (x - s) + (P s + B - s),
so after n blocks |x - s| is at most p^n |x_0 - s| + r / (1 - p), r the largest |P s + B - s|. In a layer above others P
and B are only known in balls. First they hold from the start on: they are wide, and so is where the layer is. From then
on each layer is given its share of n, once the one below is near its limit, and its convolution has read v alone. Where
the wide balls leave 1 - p no sign, the layer is known by its growth until then: no |a| is above 1, so each v adds at
most the sum of its |b|.

Where numbers also change places, P has one number a column, or a row, and |P| is multiplied out with its places. These
have to be certain; until they are, each number grows by no more than all that is added. In place of r / (1 - p) stands
any y >= 0 with |P| y + r <= y, and in place of p^n |x_0 - s|, of which another number may have its share later, the sum
of all numbers of |P|^n |x_0 - s|.

All is done in balls of FLINT, or in balls in float64, which are quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from flint import acb, arb

from regulargpt.certificate.checker.balls import (
    Balls,
    above,
    constant,
    exact,
    finite,
    joined,
    middle,
    of_flint,
    stacked,
    where,
)
from regulargpt.certificate.checker.chain_diagonal import Diagonal
from regulargpt.certificate.checker.chain_mixing import one_later
from regulargpt.certificate.checker.chain_mlstm import Mlstm
from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.complex_doubles import ComplexDoubles
from regulargpt.certificate.checker.doubles import Doubles, up
from regulargpt.certificate.checker.factors import Factor, together
from regulargpt.certificate.checker.files import Floats, Rejected
from regulargpt.certificate.checker.network import whole

STEP = 300  # so many multiplications take as long as what else is done with a number of a layer
CALLS = 1 << 15  # in float64 so many as what is done in a layer, however few its numbers are
ROWS = 1 << 18  # numbers of the states that are read at once


def around_disc(centre: Any, radius: arb) -> Any:
    """The square around a disc, or all of an interval."""
    side = arb(0, radius)
    return centre + (acb(side, side) if isinstance(centre, acb) else side)


_box: Any = np.frompyfunc(around_disc, 2, 1)


def box(centre: Any, radius: Any) -> Any:
    """Each disc in a square."""
    if isinstance(centre, ComplexDoubles):
        return centre.map(lambda part: box(part, radius))
    if isinstance(centre, Doubles):
        return Doubles(centre.middle, up(centre.radius + radius.largest().middle))
    return _box(centre, radius)


@dataclass(frozen=True)
class Discs:
    """Numbers (..., *shape) within `radius` of `centre`, which is exact."""

    centre: Any
    radius: Any

    @classmethod
    def around(cls, x: Any, radius: Any = 0) -> Discs:
        """All that is so far from numbers in these boxes."""
        centre = middle(x)
        return cls(centre, above(above(x - centre) + radius))

    def boxes(self) -> Any:
        """Each disc in a square."""
        return box(self.centre, self.radius)

    def rows(self, at: Any) -> Discs:
        return Discs(self.centre[at], self.radius[at])

    def grown(self, more: Balls, routes: bool) -> Discs:
        """All numbers whose size is larger by no more than that; if they change places, by no more than all of it."""
        size = above(above(self.centre) + self.radius + more)
        return Discs(0 * self.centre, together(size) if routes else size)

    def or_else(self, other: Discs) -> Discs:
        """These where something is known of them, else the others."""
        is_known = (finite(self.centre) & finite(self.radius)).astype(bool)
        return Discs(where(is_known, self.centre, other.centre), where(is_known, self.radius, other.radius))

    def moved(self, a: Factor, v: Any) -> Discs:
        """a x + v: the radius is that of x times |a|, and what a, v and rounding add."""
        return Discs.around(a.on(self.centre) + v, a.of_sizes(self.radius))


@dataclass(frozen=True)
class Carried:
    """What a layer carries: its numbers, and what it `kept` of old symbols, (.., as many, numbers); or of rows each."""

    x: Discs
    kept: list[Balls]


class LayerMoves(Protocol):
    """How the layers move along positions (n,): what was kept before each, and where the state is after it."""

    def before(self, layer: int, kept: Balls) -> Balls:
        """What was kept before each position (n, as many, numbers), from what is kept at each (n, numbers)."""
        ...

    def after(self, layer: int, a: Factor, v: Any) -> Any:
        """The numbers after each position (n, *shape), in boxes, from a and v (n, *shape)."""


class WordReading:
    """A word, symbol by symbol, from `start` on."""

    def __init__(self, start: Sequence[Carried]):
        self.start = start
        self.rows: list[Discs] = []
        self.kept: dict[int, Balls] = {}

    def before(self, layer: int, kept: Balls) -> Balls:
        [old] = self.start[layer].kept
        self.kept[layer] = windows(joined([old, kept], 0), len(old))  # (n + 1, as many, numbers)
        return self.kept[layer][:-1]

    def after(self, layer: int, a: Factor, v: Any) -> Any:
        x, states = self.start[layer].x, []
        for i, row in enumerate(v):
            x = x.moved(a.at(i), row)
            states.append(x)
        self.rows.append(Discs(stacked([x.centre for x in states]), stacked([x.radius for x in states])))
        return self.rows[-1].boxes()

    def states(self, ends: Any) -> list[Carried]:
        """What the layers carry after some symbols, of rows each; or after one."""
        later = np.asarray(ends, dtype=np.int64) + 1
        return [
            Carried(x.rows(ends), [self.kept[layer][later]] if layer in self.kept else [])
            for layer, x in enumerate(self.rows)
        ]


class Branching:
    """One symbol more, of rows (n,) each by itself."""

    def __init__(self, start: Sequence[Carried]):
        self.start = start
        self.states: list[Carried] = []
        self.kept: list[Balls] = []

    def before(self, layer: int, kept: Balls) -> Balls:
        [old] = self.start[layer].kept
        self.kept = [one_later(old, kept)]
        return old

    def after(self, layer: int, a: Factor, v: Any) -> Any:
        self.states.append(Carried(self.start[layer].x.moved(a, v), self.kept))
        return self.states[-1].x.boxes()


class Settled:
    """v w, from where the layers are after v has been read again and again.

    Each layer starts in `starts`, and then takes `blocks` times v, in each of which it is brought numbers of the same
    boxes.
    """

    def __init__(self, starts: Sequence[Discs], length: int, sizes: Sequence[int], blocks: int):
        self.starts, self.length, self.sizes, self.blocks = starts, length, sizes, blocks
        self.trail: list[Discs] = []
        self.growth: list[Balls] = []  # at least what one v adds to the size of each number

    def before(self, layer: int, kept: Balls) -> Balls:
        """Before the first v stands v."""
        size = self.sizes[layer]
        back = kept[[(i - size) % self.length for i in range(size)]]  # (size, numbers)
        return windows(joined([back, kept], 0), size)[:-1]

    def after(self, layer: int, a: Factor, v: Any) -> Any:
        x, rows = settled(self.starts[layer], a, v[: self.length], self.blocks), []
        self.trail.append(x)
        self.growth.append(above(above(v[: self.length]).sum(0)))
        for i, row in enumerate(v):
            x = x.moved(a.at(i), row)
            rows.append(x.boxes())
        return stacked(rows)


def windows(kept: Balls, size: int) -> Balls:
    """All that stand behind each other, (n - size + 1, size, numbers) of (n, numbers)."""
    return stacked([kept[i : i + size] for i in range(len(kept) - size + 1)])


def settled(start: Discs, a: Factor, v: Any, blocks: int) -> Discs:
    """Where x is from so many blocks on, each of the factors `a` and of what is added, `v` (L, *shape): any numbers of
    their boxes, others in each block; from `start` on.

    A block maps x to P x + b, |P| <= p. With any s, x - s becomes P (x - s) + (P s + b - s): where |P s + b - s| <= r,
    its size is at most p^n |x - s| + r + p r + p^2 r + .. after n blocks, and that falls, number by number, or of all
    together where they change places.
    """
    P, b = a.at(0), Discs.around(v[0])
    for i, row in enumerate(v[1:], 1):
        P, b = a.at(i).after(P), b.moved(a.at(i), row)
    s = P.fixed(b.centre)
    r = above(P.on(s) + b.centre - s) + b.radius
    far = above(start.centre - s) + start.radius
    return Discs.around(s, P.from_on(blocks, far) + P.summed(r))


class Recurrences:
    """A network of such layers, for words that go on and on; its weights are `of` balls of FLINT or in float64."""

    def __init__(self, weights: Mapping[str, Floats], record: Any, of: Callable[[Floats], Any] = exact):
        is_mlstm = whole(record)["model"].get("name") == "mlstm"
        network = Mlstm(weights, record, of) if is_mlstm else network_of(weights, record, of)
        if not isinstance(network, Diagonal):
            raise Rejected(f"{network.model['name']} does not move number by number")
        self.network, self.layers = network, network.layers
        self.is_quick = isinstance(network.w["readout.weight"], Doubles)
        self.alphabet, self.output_names = network.alphabet, network.output_names
        old = [shapes for _, *shapes in map(network.parts, range(self.layers))]
        # A convolution of one symbol keeps nothing, and is one.
        self.keeps, self.sizes = [bool(shapes) for shapes in old], [shapes[0][0] if shapes else 0 for shapes in old]
        self.piece = max(1, min(512, 4 * ROWS // network.widest()))  # positions that are read at once

    def beginning(self) -> list[Carried]:
        """What each layer carries before the first symbol."""
        states, like = [], self.network.w["readout.weight"]
        for layer in range(self.layers):
            _, *old = self.network.parts(layer)
            centre = self.network.numbers(constant(self.network.first(layer)[None], like))[0]
            radius = constant(np.zeros(centre.shape), like)
            states.append(Carried(Discs(centre, radius), [constant(np.zeros(shape), like) for shape in old]))
        return states

    def logits(self, symbols: Sequence[int], moves: LayerMoves, ends: Sequence[int]) -> Balls:
        """The logits (ends, n_outputs) at some of the symbols, between which the layers move so."""
        net = self.network
        h = net.w["embedding.weight"][list(symbols)]  # (n, d)
        for layer in range(self.layers):
            name = net.place(layer)
            own = net.into(name, net.entered(layer, h))
            old = [moves.before(layer, net.kept(own))] if self.keeps[layer] else []
            a, v, rest = net.brings(name, own, old)
            S = net.of_numbers(moves.after(layer, net.as_factor(name, a, rest), net.numbers(v)))
            h = net.onward(layer, h, net.made(name, S, rest))
        return of_flint(net.linear("readout", net.head(h[[*ends]])))

    def work_of_symbol(self) -> int:
        """About how many multiplications of FLINT a symbol takes, or as many of float64 as take an eighth of that."""
        multiplications = sum(prod(w.shape) for w in self.network.w.values()) + STEP * (self.layers + self.network.D)
        return multiplications + self.network.choosing() + CALLS * self.layers * self.is_quick

    def read(
        self, symbols: Sequence[int], start: Sequence[Carried], ends: Sequence[int]
    ) -> tuple[Balls, list[Carried], list[Carried]]:
        """The logits (ends, n_outputs) and what each layer carries after some symbols of a word, and after all."""
        moves = WordReading(start)
        logits = self.logits(symbols, moves, ends)
        return logits, moves.states([*ends]), moves.states(len(symbols) - 1)

    def one_more(self, states: Sequence[Carried], symbol: int) -> tuple[Balls, list[Carried]]:
        """The logits (n, n_outputs) and what is carried after another symbol, from n states of each layer."""
        moves = Branching(states)
        n = len(states[0].x.centre)
        return self.logits([symbol] * n, moves, range(n)), moves.states

    def filling(self, v: Sequence[int]) -> int:
        """How many v fill what is kept of old symbols."""
        return -(-max(self.sizes) // len(v))

    def on_the_way(self, v: Sequence[int], w: Sequence[int]) -> int:
        """The symbols that `toward` reads, and one comparison."""
        return (self.layers * self.filling(v) + 1) * len(v) + len(w)

    def toward(self, after: Sequence[Carried], v: Sequence[int], w: Sequence[int], read: int = 0) -> WordSettling:
        """Where u v^n w leads, from after u and the v that have been `read`."""
        filling = self.filling(v)
        starts, state = [], after
        for layer in range(self.layers):
            for _ in range(filling):
                state = self.read(v, state, [])[2]
            starts.append(state[layer].x)
        moves = self.settle(starts, v, w)[1]
        return WordSettling(self, starts, moves.trail, moves.growth, v, w, read, filling)

    def settle(
        self, starts: Sequence[Discs], v: Sequence[int], w: Sequence[int], blocks: int = 0
    ) -> tuple[Balls, Settled]:
        """Where the layers are while the network reads v again and again, and the logits (n_outputs,) after v w from
        there.

        Layer i holds what is brought to it in one v for all later ones once the layer below does, and `filling` more v
        have filled what it keeps. Without `blocks`, `starts` is where it is then at the earliest, and what is given
        holds from there on. Else `starts` is where each layer is once the layer below is where it is given, and what is
        given holds from `blocks` later on.
        """
        moves = Settled(starts, len(v), self.sizes, blocks)
        return self.logits([*v, *w], moves, [-1])[0], moves


@dataclass(frozen=True)
class WordSettling:
    """Where a network goes while it reads v again and again, and then w.

    Layer i is in `starts` after u v^n, n = `read` + (i + 1) `filling`, and `everywhere` from there on. Where no such
    bound is known, its numbers grow in each v by no more than its `growth`, for no |a| is above 1: each by its own, or,
    where they change places, each by no more than all of it.
    """

    network: Recurrences
    starts: Sequence[Discs]
    everywhere: Sequence[Discs]
    growth: Sequence[Balls]
    v: Sequence[int]
    w: Sequence[int]
    read: int
    filling: int

    @property
    def first(self) -> int:
        """The least n of which something is known."""
        return 1 + self.read + self.network.layers * self.filling

    def all(self, n: int) -> Balls:
        """The logits (n_outputs,) after u v^m w for all m >= n, n >= 1; all numbers where n is too small."""
        # Before the last v stand n - 1 or more, of which some are read. Of the others each layer has its share, from
        # when the layer below has settled.
        blocks = (n - 1 - self.read) // self.network.layers - self.filling
        if blocks < 0:
            return np.full(len(self.network.output_names), arb(0, np.inf))
        routes = self.network.network.routes
        before = [
            x.or_else(y.grown(n * more, routes))
            for x, y, more in zip(self.everywhere, self.starts, self.growth, strict=True)
        ]
        return self.network.settle(before, self.v, self.w, blocks)[0]
