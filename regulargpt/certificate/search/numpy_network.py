"""What the networks share in numpy and float64: what the search for invariant balls expands."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class NumpyNetwork(ABC):
    """A map of windows of rows to states, and a readout. Row 0 is `absent`; of `symbols` too, the leaves."""

    absent: Floats
    symbols: Floats

    def __init__(self, weights: Mapping[str, Floats], model: Mapping[str, Any]):
        self.w, self.model = weights, model

    @abstractmethod
    def merge(self, rows: Floats, windows: Ints) -> Floats:
        """The new states (n, d) over windows (n, C) of rows by offset."""

    def ffn(self, block: str, x: Floats, activation: str) -> Floats:
        """The two-layer network of a block, without a residual."""
        return self.linear(f"{block}ff_out", ACTIVATIONS[activation](self.linear(f"{block}ff_in", x)))

    def norm(self, name: str, x: Floats) -> Floats:
        """LayerNorm with gain and bias."""
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-5)
        return scaled * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def linear(self, name: str, x: Floats) -> Floats:
        """x W^T + b."""
        bias = self.w.get(f"{name}.bias")
        product = x @ self.w[f"{name}.weight"].T
        return product if bias is None else product + bias

    def readout(self, x: Floats) -> Floats:
        """The logits."""
        return self.linear("readout", x)


def gelu(x: Floats) -> Floats:
    """x Phi(x)."""
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def relu(x: Floats) -> Floats:
    """max(x, 0)."""
    return np.maximum(x, 0)


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + exp(-x)).

    >>> sigmoid(np.array([-1e4, 0.0, 1e4])).tolist()
    [0.0, 0.5, 1.0]
    """
    return 0.5 * (1 + np.tanh(x / 2))


def erf(x: Floats) -> Floats:
    """The error function.

    >>> erf(np.array([0.0, 9.0])).tolist()
    [0.0, 1.0]
    """
    return torch.erf(torch.from_numpy(np.asarray(x, dtype=np.float64))).numpy()


ACTIVATIONS = {"gelu": gelu, "relu": relu, "sigmoid": sigmoid}
