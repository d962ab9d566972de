"""A network as the page computes it: the options and weights of a run, and which scripts read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from regulargpt.classroom.live.numbers import encoded
from regulargpt.classroom.live.twins import PageScript, twin
from regulargpt.models import MODELS
from regulargpt.models.options import ModelOptions
from regulargpt.options import Options, as_mapping, registries
from regulargpt.options.registry import Row, registry

MOST_MEGABYTES = 4.0
"""Of weights: a page must open on a phone, and weights are a third larger in it."""

Weights = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class LiveNetwork:
    """A network that the page computes. Logits are read as `reading` says, with `token` after the word if it is one."""

    options: ModelOptions
    n_symbols: int
    n_outputs: int
    weights: Weights
    reading: str = "largest"
    token: int | None = None
    direction: Sequence[int] | None = None  # of each symbol 1 of a call, -1 of a return, else 0; where there are any

    @property
    def twins(self) -> list[PageScript]:
        """The scripts of its parts."""
        return [twin for _, twin in parts(self.options) if twin is not None]

    def data(self) -> dict[str, Any]:
        """JSON values for the script; the weights are float32, little end first, in base64."""
        return {
            "options": described(self.options, MODELS[self.options.name]),
            "n_symbols": self.n_symbols,
            "n_outputs": self.n_outputs,
            "reading": self.reading,
            "token": self.token,
            "direction": self.direction,
            "weights": {
                "shapes": {name: list(tensor.shape) for name, tensor in self.weights.items()},
                "numbers": encoded(*self.weights.values()),
            },
        }


def described(options: Options, row: Row) -> dict[str, Any]:
    """The options as they stand in config.json, and in each part where its script has its class."""
    script, values = twin(row.place), as_mapping(options)
    for field, place in registries(type(options)).items():
        part = getattr(options, field)
        values[field] = described(part, registry(place)[part.name])
    return values | {"class": None if script is None else [script.file, script.name]}


def parts(options: Options, row: Row | None = None) -> Iterator[tuple[str, PageScript | None]]:
    """The names of the model and of the parts chosen in its options, each with its script.

    >>> from regulargpt.models.options import TransformerOptions
    >>> [name for name, _ in parts(TransformerOptions("transformer"))]
    ['transformer', 'none']
    """
    name = str(getattr(options, "name", ""))
    yield name, twin((row or MODELS[name]).place)
    for field, place in registries(type(options)).items():
        part = getattr(options, field)
        yield from parts(part, registry(place)[part.name])


def not_computed(options: ModelOptions, weights: Weights) -> str | None:
    """Why a page does not compute this network, as a sentence; None if it does.

    >>> import numpy as np
    >>> from regulargpt.models.options import RecurrentOptions
    >>> not_computed(RecurrentOptions("gru"), {"a": np.zeros((2000, 1000))})
    'This page does not compute the network: it has 8.0 MB of weights, and a page takes at most 4 MB.'
    """
    without = [name for name, script in parts(options) if script is None]
    if without:
        return f"This page does not compute the network: no script lies beside {', '.join(without)}."
    megabytes = sum(4 * tensor.size for tensor in weights.values()) / 1e6
    if megabytes > MOST_MEGABYTES:
        return (
            f"This page does not compute the network: it has {megabytes:.1f} MB of weights, "
            f"and a page takes at most {MOST_MEGABYTES:g} MB."
        )
    return None
