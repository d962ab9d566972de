"""A bias beside a network's own encoding: in a file, which `lengthen` writes and tests read with `--bias FILE`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError
from regulargpt.config.schema import RunConfig, network_of_test
from regulargpt.encodings.options import ADDED
from regulargpt.evaluation.temperature import number, read_for
from regulargpt.storage import atomic

if TYPE_CHECKING:
    from regulargpt.models.base import Model

Tables = Mapping[str, tuple[tuple[float, ...], ...]]


@dataclass(frozen=True)
class Bias:
    """A kernel with its numbers, a table (sets, n_heads) a parameter: one set for all layers, or one for each.

    `changes` are the options of the network that it was trained with, by their keys within `model`, and is tested with.
    `weights` is the digest of the weights that it was trained for; `length` that of its training segments.
    """

    kernel: str
    numbers: Tables
    changes: Mapping[str, Any] = field(default_factory=dict)
    train_len: int = 0
    length: int = 0
    steps: int = 0
    text: str = ""
    weights: str = ""

    @classmethod
    def start(cls, kernel: str, sets: int, n_heads: int, **facts: Any) -> Bias:
        """That before the first step, which is 0 everywhere.

        >>> Bias.start("kerple_log", 1, 2).numbers
        {'r1': ((0.0, 0.0),), 'r2': ((1.0, 1.0),)}
        """
        return cls(
            kernel, {name: ((begin,) * n_heads,) * sets for name, (begin, _, _) in ADDED[kernel].items()}, **facts
        )

    def set_on(self, model: Model) -> None:
        """Add it to what a model attends by, from now on; UserError for a model that has no such attention."""
        from regulargpt.encodings.added import Added
        from regulargpt.models.transformer.model import Transformer

        if not isinstance(model, Transformer):
            raise UserError(
                f"{type(model).__name__} has no encoding that a bias could be added to; choose a Transformer"
            )
        model.encoding = Added(model.encoding, self.kernel, self.numbers)

    def __str__(self) -> str:
        count = sum(len(row) for table in self.numbers.values() for row in table)
        return f"{self.kernel}, {count} numbers trained on segments of {self.length:,} symbols"


def write(path: Path, bias: Bias) -> None:
    atomic.write_json(path, asdict(bias))


def read(path: Path, config: RunConfig, weights: str) -> Bias:
    """The bias in a file, for the network of this config with the weights of this digest.

    Raises UserError as `read_for` does, and for options of its training that this network does not have.
    """
    sizes = [getattr(config.model, key, 0) for key in ("n_layers", "n_heads")]

    def made(values: Mapping[str, Any]) -> Bias:
        tables = {name: tuple(tuple(map(number, row)) for row in table) for name, table in values["numbers"].items()}
        bias = Bias(**{**values, "numbers": tables, "changes": dict(values["changes"].items())})
        if bias.weights == weights and not is_whole(bias, *sizes):
            raise TypeError
        return bias

    bias = read_for(path, weights, made, "bias", "lengthen")
    changes = {f"model.{key}": value for key, value in bias.changes.items()}
    network_of_test(config.replaced(changes), changes)
    return bias


def is_whole(bias: Bias, n_layers: int, n_heads: int) -> bool:
    """Whether it has all numbers of its kernel, each where it may be, for a network of this shape.

    >>> bias = Bias.start("kerple_log", 1, 2)
    >>> is_whole(bias, 4, 2), is_whole(bias, 4, 3), is_whole(Bias("kerple_log", {"r1": ((-1.0,),)}), 1, 1)
    (True, False, False)
    """
    bounds, sets = ADDED.get(bias.kernel, {}), {len(table) for table in bias.numbers.values()}
    if not bounds or set(bias.numbers) != set(bounds) or sets not in ({1}, {n_layers}):
        return False
    return all(
        len(row) == n_heads and all(bounds[name][1] <= x <= bounds[name][2] and x < math.inf for x in row)
        for name, table in bias.numbers.items()
        for row in table
    )
