"""What every network of the proof shares, in balls: how it is read, strictly, and the layers and the readout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from flint import arb

from regulargpt.certificate.checker.balls import (
    Balls,
    erf,
    exact,
    positive,
    product,
    sigmoid,
    sqrt,
    square,
    within_root,
)
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.files import Floats, Malformed, Rejected, fields
from regulargpt.certificate.checker.forests import Side

Ints = npt.NDArray[np.int64]
Kinds = dict[str, type | tuple[type, ...]]
Shapes = dict[str, tuple[int, ...]]

NETWORK: Kinds = {"model": dict, "n_symbols": int, "n_outputs": int, "alphabet": list, "output_names": list}
NETWORK |= {"supervision": str}
DIRECTION: Kinds = {"direction": list}  # of a tree that follows brackets: 1 of a call, -1 of a return, else 0
MAX_CHUNK = 64
EPS = "1e-5"
MAX_NUMBERS = 1 << 20  # of an array of balls: several of them take a gigabyte
COST = 512  # so many multiplications in a matrix product take as long as a step on one number


class Layers:
    """Weights and config.json, read strictly, and the layers that all networks have.

    Raises Malformed or Rejected if the network is not of the proof's kind.
    """

    # The options of the model in config.json, and no others: sizes, one of some names, yes or no, numbers that are
    # read, what has to have one value, and numbers that say nothing about what the network computes.
    SIZES: ClassVar[tuple[str, ...]]
    CHOICES: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    SWITCHES: ClassVar[tuple[str, ...]] = ()
    NUMBERS: ClassVar[tuple[str, ...]] = ()
    FIXED: ClassVar[Mapping[str, Any]] = {}
    UNREAD: ClassVar[tuple[str, ...]] = ()
    SUPERVISIONS: ClassVar[tuple[str, ...]] = ("last",)  # what it may be trained to answer

    d: int

    def __init__(self, weights: Mapping[str, Floats], record: Any, of: Callable[[Floats], Any] = exact):
        record = whole(record)
        self.model, self.direction = self.options(record["model"]), record.get("direction")
        if record["supervision"] not in self.SUPERVISIONS:
            raise Rejected(f"the network was trained to answer {record['supervision']!r}, not the word at its end")
        self.alphabet, self.output_names = record["alphabet"], record["output_names"]
        if (record["n_symbols"], record["n_outputs"]) != (len(self.alphabet), len(self.output_names)):
            raise Malformed("config.json counts other symbols or answers than it lists")
        if self.direction is not None and not are_directions(self.direction, len(self.alphabet)):
            raise Malformed("'direction' in config.json is not 1, -1 or 0 for each symbol")
        self.d = self.model["d_model"]
        self.measure()
        if {name: w.shape for name, w in weights.items()} != self.shapes():
            raise Malformed("the weights are not the tensors that config.json describes")
        finite = self.finite(weights)
        if not all(np.isfinite(w).all() for w in finite.values()):
            raise Malformed("the weights hold a number that is not finite")
        self.w: dict[str, Any] = {name: of(w) for name, w in finite.items()}

    def options(self, record: Any) -> dict[str, Any]:
        """The model's options, each known and of its kind."""
        kinds: Kinds = {"name": str, **dict.fromkeys(self.SIZES, int), **dict.fromkeys(self.CHOICES, str)}
        kinds |= dict.fromkeys(self.SWITCHES, bool) | dict.fromkeys((*self.NUMBERS, *self.UNREAD), (int, float))
        kinds |= {name: type(usual) for name, usual in self.FIXED.items()}
        model = fields(record, "the model in config.json", kinds)
        for name, choices in self.CHOICES.items():
            if model[name] not in choices:
                raise Malformed(f"config.json: {name} {model[name]!r:.40} is not known, only {' and '.join(choices)}")
        for name, usual in self.FIXED.items():
            if model[name] != usual:
                raise Rejected(f"{name} = {model[name]!r:.40}: the proof is about networks with {name} = {usual!r}")
        return model

    def measure(self) -> None:
        """Set what depends on the options alone, and raise Malformed for sizes of no network."""
        raise NotImplementedError

    def shapes(self) -> Shapes:
        raise NotImplementedError

    def finite(self, weights: Mapping[str, Floats]) -> Mapping[str, Floats]:
        """The weights, of which all numbers have to be finite."""
        return weights

    def norm(self, name: str, x: Balls) -> Balls:
        """LayerNorm with gain and bias; epsilon is 10^-5."""
        centred = x - x.sum(-1, keepdims=True) / self.d
        normed = within_root(centred / root_mean_square(centred), self.d)
        return normed * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def linear(self, name: str, x: Balls) -> Balls:
        return product(x, self.w[f"{name}.weight"].T) + self.w.get(f"{name}.bias", arb(0))

    def ffn(self, block: str, x: Balls, activation: str) -> Balls:
        """The two-layer network of a block, without a residual."""
        return self.linear(f"{block}ff_out", ACTIVATIONS[activation](self.linear(f"{block}ff_in", x)))

    def readout(self, x: Balls) -> Balls:
        return self.linear("readout", x)


class Network(Layers):
    """The function that weights and config.json define: a map of windows of C rows to states, used at every level of
    the tree of any word, whose windows are counted from the side `aligned`. `direction` (n_symbols,) says which symbols
    are the brackets that the tree follows, None where it follows none.

    `absent` (1, d) stands in row 0, for a place without a node; `symbols` (1 + n_symbols, d), row 0 first, are the
    states of the leaves.
    """

    C: int
    hidden: int  # the width of the widest layer
    widest: int  # the most numbers that a step makes of a window
    aligned: ClassVar[Side]
    absent: Balls
    symbols: Balls

    def __init__(self, weights: Mapping[str, Floats], record: Any):
        super().__init__(weights, record)
        if (self.direction is not None) != (self.model["tree"] == "nested"):
            raise Malformed("config.json has a 'direction' if its tree is 'nested', and only then")
        if max(4 * self.d * len(self.alphabet), self.widest) > MAX_NUMBERS:
            raise Rejected(f"a step of the network makes more than {MAX_NUMBERS:,} numbers at once")

    def work(self) -> int:
        """About how many multiplications the map over a window takes, at most; exp or erf are two steps."""
        return self.C * sum(w.size for w in self.w.values()) + 2 * COST * self.widest

    def in_doubles(self) -> Self:
        """The same in float64, whose balls are wider and quicker: for what they decide."""
        quick = copy(self)
        vars(quick).update({name: Doubles.from_value(x) for name, x in vars(self).items() if isinstance(x, np.ndarray)})
        quick.w = {name: Doubles.from_value(w) for name, w in self.w.items()}  # type: ignore[misc]
        return quick

    def project(self, rows: Balls) -> Any:
        """What the map reads of rows (n, d), row 0 first, computed once for all windows."""
        raise NotImplementedError

    def merge(self, projected: Any, windows: Ints) -> Balls:
        """The states (n, d) over windows (n, C) of rows by offset; 0 only at places after the last node's."""
        raise NotImplementedError


def whole(record: Any) -> dict[str, Any]:
    """What config.json says, each of its kind."""
    nested = isinstance(record, dict) and "direction" in record
    return fields(record, "config.json", NETWORK | (DIRECTION if nested else {}))


def are_directions(directions: list[Any], count: int) -> bool:
    """Whether these are 1 of a call, -1 of a return or 0, of so many symbols."""
    return len(directions) == count and all(type(i) is int and i in (1, -1, 0) for i in directions)


def gelu(x: Any) -> Any:
    """x Phi(x), Phi the normal distribution function."""
    return x * (1 + erf(x / arb(2).sqrt())) / 2


def silu(x: Any) -> Any:
    return x * sigmoid(x)


def root_mean_square(x: Any, eps: str | float | arb = EPS) -> Any:
    """sqrt(mean x^2 + eps) along the last axis, which stays, (n, .., 1)."""
    return sqrt(square(x).sum(-1, keepdims=True) / x.shape[-1] + arb(eps))


def tanh(x: Any) -> Any:
    return 2 * sigmoid(2 * x) - 1


ACTIVATIONS = {"gelu": gelu, "relu": positive, "sigmoid": sigmoid, "tanh": tanh}


def linear_shapes(name: str, n_out: int, n_in: int, bias: bool = True) -> Shapes:
    """The tensors of a linear layer.

    >>> linear_shapes("readout", 2, 8)
    {'readout.weight': (2, 8), 'readout.bias': (2,)}
    """
    return {f"{name}.weight": (n_out, n_in)} | ({f"{name}.bias": (n_out,)} if bias else {})


def norm_shapes(names: Sequence[str], d: int) -> Shapes:
    """The tensors of LayerNorms: gain and bias of each."""
    return {f"{name}.{part}": (d,) for name in names for part in ("weight", "bias")}
