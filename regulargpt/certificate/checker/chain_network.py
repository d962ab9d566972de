"""Networks that carry a state of fixed size from symbol to symbol: one step of each, and how the state is laid out.

rnn, gru and lstm are the layers of torch.nn, one on the other: W_ih.l, W_hh.l, b_ih.l, b_hh.l are `rnn.weight_ih_l{l}`
and so on, whose rows are those of the gates, one gate after the other. x_0 is the column of W_ih.0 for the symbol, with
b_ih.0; x_l = W_ih.l h_(l-1)' + b_ih.l for the layer below. With u = W_hh.l h + b_hh.l, * number by number:

    rnn    h' = f(x + u), f = max(., 0) or tanh (`activation`)
    gru    r = s(x_r + u_r), z = s(x_z + u_z), n = tanh(x_n + r * u_n), h' = (1 - z) * n + z * h,  in the order r, z, n
    lstm   i, f, o = s(x + u), g = tanh(x + u), c' = f * c + i * g, h' = o * tanh(c'),  in the order i, f, g, o

where s(x) = 1 / (1 + e^-x). The logits are W max(h', 0) + b for h' of the last layer. The state is h of the first
layer, h of the second, ..., and of an LSTM then c of the first, ...; D = parts * layers * d. It starts with zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from regulargpt.certificate.checker.balls import exact, joined, positive, product
from regulargpt.certificate.checker.boxes import Box, State, apart, between, column, ends
from regulargpt.certificate.checker.claims import NETWORK
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected
from regulargpt.certificate.checker.network import (
    ACTIVATIONS,
    COST,
    Ints,
    Layers,
    Shapes,
    linear_shapes,
)

MAX_LAYERS = 1 << 10
OF_BOXES = {"sigmoid": Box.sigmoid, "tanh": Box.tanh, "relu": Box.positive}


class ChainNetwork(Layers):
    """A network that carries `D` numbers along: in balls of FLINT where weights are made such `of` doubles, or in
    float64 where they become `known`.

    Raises Malformed or Rejected if it is not of the proof's kind.
    """

    SIZES = ("d_model", "n_layers")
    SUPERVISIONS = ("last", "prefixes")
    LAYOUT: ClassVar[str]  # of a state, for messages
    CALLED: ClassVar[str] = NETWORK  # in claims
    D: int

    def __init__(self, weights: Mapping[str, Floats], record: Any, of: Callable[[Floats], Any] = exact):
        super().__init__(weights, record, of)
        self.raw, self.of = weights, of

    def measure(self) -> None:
        self.layers = self.model["n_layers"]
        if min(self.d, self.layers) < 1:
            raise Malformed("config.json: the sizes are not those of a network")
        if self.layers > MAX_LAYERS:
            raise Rejected(f"networks of at most {MAX_LAYERS:,} layers are checked")
        self.D = self.width()

    def width(self) -> int:
        """The numbers of a state."""
        raise NotImplementedError

    def first_state(self) -> Floats:
        """The state (D,) before the first symbol."""
        return np.zeros(self.D)

    def layout(self) -> str:
        return f"{self.LAYOUT} of {self.layers} layer{'s' * (self.layers > 1)}, {self.d} numbers wide"

    def work(self) -> int:
        """About how many multiplications a step takes."""
        return sum(math.prod(w.shape) for w in self.w.values()) + 16 * COST * self.D

    def widest(self) -> int:
        """The most numbers that a step makes of a state at once."""
        return 4 * self.D

    def step(self, states: Any, symbols: Ints) -> tuple[Any, Any]:
        """The logits (n, outputs) and the states (n, D) after another symbol, (n,), from states (n, D)."""
        raise NotImplementedError


class Bounded(ChainNetwork):
    """A network for which all states of a box can be followed as it is."""

    GATES: ClassVar[int]  # sums of a layer, for each of its d units
    ANSWERS_BEFORE: ClassVar[bool] = False  # whether `margin` is of a box before the symbol, not of one after it

    def why_no_boxes(self) -> str | None:
        """Why its options leave no bounds; None if they do."""
        return None

    def image(self, point: Floats, radii: Floats, symbol: int, alone: bool = True) -> Doubles:
        """Intervals (D,) of the state after a symbol, from all states in a box; layers may be bounded `alone`."""
        raise NotImplementedError

    def margin(self, point: Floats, radii: Floats, answer: int, symbol: int) -> float:
        """At most the least difference of the logit `answer` and another, for all states in a box after a symbol, or
        before it."""
        raise NotImplementedError


class Stacked(Bounded):
    """Layers of torch.nn, with a state in balls or a `Box`."""

    PARTS: ClassVar[int] = 1
    LAYOUT = "h"

    def width(self) -> int:
        return self.PARTS * self.layers * self.d

    def shapes(self) -> Shapes:
        rows, shapes = self.GATES * self.d, linear_shapes("readout", len(self.output_names), self.d)
        for layer in range(self.layers):
            below = self.d if layer else len(self.alphabet)
            shapes |= {f"rnn.weight_ih_l{layer}": (rows, below), f"rnn.weight_hh_l{layer}": (rows, self.d)}
            shapes |= {f"rnn.bias_{part}_l{layer}": (rows,) for part in ("ih", "hh")}
        return shapes

    def step(self, states: Any, symbols: Ints) -> tuple[Any, Any]:
        after = self.moved(states, self.w["rnn.weight_ih_l0"].T[symbols] + self.w["rnn.bias_ih_l0"])
        top = after[self.layers - 1]
        return self.linear("readout", positive(top)), joined(after, -1)

    def image(self, point: Floats, radii: Floats, symbol: int, alone: bool = True) -> Doubles:
        """Intervals (D,) of the state after a symbol, from all states in a box; `alone` is as in `moved`."""
        x = self.w["rnn.weight_ih_l0"].T[symbol] + self.w["rnn.bias_ih_l0"]
        return joined([part.values for part in self.moved(State(point, radii), x, alone)], -1)

    def moved(self, states: Any, x: Any, alone: bool = False) -> list[Any]:
        """The parts of the state after a symbol, which adds x to the first layer's gates.

        Of boxes each layer may be bounded `alone`, whatever the layers below have to do with what it carries.
        """
        parts = [cut(states, at, at + self.d) for at in range(0, self.D, self.d)]
        after: list[Any] = []
        for layer in range(self.layers):
            read = [*([after[-1][0]] if layer else []), *parts[layer :: self.layers]]
            read = apart(read) if alone else read
            if layer:
                x = self.layer("ih", layer, read.pop(0))
            after.append(self.cell(x, self.layer("hh", layer, read[0]), read))
        return [of_layer[part] for part in range(self.PARTS) for of_layer in after]

    def layer(self, name: str, layer: int, x: Any) -> Any:
        weight, bias = self.w[f"rnn.weight_{name}_l{layer}"], self.w[f"rnn.bias_{name}_l{layer}"]
        return x.linear(weight, bias) if isinstance(x, Box) else product(x, weight.T) + bias

    def cell(self, x: Any, u: Any, before: list[Any]) -> list[Any]:
        """The parts of a layer after a symbol, from what comes from below, (n, gates * d), and from `before`."""
        raise NotImplementedError

    def gates(self, *vectors: Any) -> list[Any]:
        """These vectors, each cut into its gates."""
        cuts = range(0, self.GATES * self.d, self.d)
        return [[cut(x, at, at + self.d) for at in cuts] for x in vectors]

    def margin(self, point: Floats, radii: Floats, answer: int, symbol: int) -> float:
        """The logits are read of the state alone."""
        top = slice((self.layers - 1) * self.d, self.layers * self.d)
        low, high = (np.maximum(end, 0) for end in ends(Doubles(point[top], radii[top])))
        weight, bias = self.w["readout.weight"], self.w["readout.bias"]
        others = np.delete(np.arange(len(self.output_names)), answer)
        gaps = column((weight[[answer]] - weight[others]).product(between(low, high).reshape(-1, 1)))  # (d, 1)
        gaps = gaps + (bias[[answer]] - bias[others])
        return float(np.min(ends(gaps)[0], initial=np.inf))


class Rnn(Stacked):
    """The Elman RNN."""

    GATES = 1
    CHOICES: ClassVar = {"activation": ("relu", "tanh")}

    def options(self, record: Any) -> dict[str, Any]:
        """The activation is ReLU where none is named."""
        return super().options({"activation": "relu", **record} if isinstance(record, dict) else record)

    def cell(self, x: Any, u: Any, before: list[Any]) -> list[Any]:
        return [applied(self.model["activation"], u + x)]


class Gru(Stacked):
    """The gated recurrent unit, whose reset gate stands behind the product."""

    GATES = 3

    def cell(self, x: Any, u: Any, before: list[Any]) -> list[Any]:
        (x_r, x_z, x_n), (u_r, u_z, u_n) = self.gates(x, u)
        r, z = applied("sigmoid", u_r + x_r), applied("sigmoid", u_z + x_z)
        n, h = applied("tanh", r * u_n + x_n), before[0]
        return [n.mixed(h, z) if isinstance(n, Box) else n + z * (h - n)]


class Lstm(Stacked):
    """The LSTM, which carries h and c."""

    GATES, PARTS = 4, 2
    LAYOUT = "h, then c,"

    def cell(self, x: Any, u: Any, before: list[Any]) -> list[Any]:
        [(i, f, g, o)] = self.gates(u + x)
        c = applied("sigmoid", f) * before[1] + applied("sigmoid", i) * applied("tanh", g)
        return [applied("sigmoid", o) * applied("tanh", c), c]


def cut(x: Any, start: int, end: int) -> Any:
    """Some of the numbers of a vector, or of each of some."""
    return x.part(start, end) if isinstance(x, Box | State) else x[..., start:end]


def applied(name: str, x: Any) -> Any:
    return OF_BOXES[name](x) if isinstance(x, Box) else ACTIVATIONS[name](x)
