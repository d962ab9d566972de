"""The quantised network: the state of every node above the symbols is brought to the nearest of finitely many points.

What is left of the network is a finite table: the prototype after each window of symbols or prototypes, and the answer
at each prototype.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.finite.float64_network import ROWS, Float64Network
from regulargpt.finite.levels import TooManyWindows
from regulargpt.models.tree.shape import Side

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class Entries:
    """A part of the table: the windows (n, C) that occurred, in ascending order of their keys, and what they gave.

    `base` bounds the entries of a window. `images` (n,) count from 1; `margins` (n,) say how much nearer the nearest
    prototype is than the second.

    >>> entries = Entries(3, lambda windows: (windows.sum(1), windows[:, 0] / 2))
    >>> entries(np.array([[2, 1], [1, 0], [2, 1]])).tolist(), entries.windows(2).tolist()
    ([3, 1, 3], [[1, 0], [2, 1]])
    """

    base: int
    compute: Callable[[Ints], tuple[Ints, Floats]] = field(repr=False)
    keys: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    images: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    margins: Floats = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.keys)

    def __call__(self, windows: Ints) -> Ints:
        """The images (n,) of windows (n, C), computed where they are new."""
        C = windows.shape[1]
        if self.base**C >= 2**62:
            number = f"{self.base - 1} prototypes in chunks of {C} are too many to number"
            raise TooManyWindows(f"{number}; certify a run with a smaller chunk size")
        # A window is a number to the base of its entries, so that a sorted array of numbers is the whole index.
        keys = windows @ self.base ** np.arange(C - 1, -1, -1)  # (n,)
        at = np.searchsorted(self.keys, keys)  # (n,)
        known = np.append(self.keys, -1)[at] == keys
        if known.all():
            return self.images[at]
        new = np.unique(keys[~known])
        images, margins = self.compute(self._windows(new, C))
        between = np.searchsorted(self.keys, new)
        self.images = np.insert(self.images, between, images)
        self.margins = np.insert(self.margins, between, margins)
        self.keys = np.insert(self.keys, between, new)
        return self.images[np.searchsorted(self.keys, keys)]

    def windows(self, chunk_size: int) -> Ints:
        """The windows (n, C) that occurred."""
        return self._windows(self.keys, chunk_size)

    def _windows(self, keys: Ints, chunk_size: int) -> Ints:
        return keys[:, None] // self.base ** np.arange(chunk_size - 1, -1, -1) % self.base  # (n, C): the digits


class QuantisedTable:
    """The quantised network, computed entry by entry in float64 as the entries are needed."""

    def __init__(self, network: Float64Network, prototypes: Float[Tensor, "K d_model"]):
        self.network = network
        self.prototypes = prototypes.to(torch.float64)
        self.chunk_size = network.chunk_size
        self.aligned: Side = network.aligned
        self.leaves = Entries(len(network.symbols), lambda w: self.quantise(network.over_symbols(w)))
        n_rows = len(prototypes) + len(network.beside)
        self.nodes = Entries(1 + n_rows, lambda w: self.quantise(network.over(self.prototypes, w)))

    def image(self, level: int, windows: Ints) -> Ints:
        """The prototypes (n,), from 1, after windows (n, C) of symbols (level 0) or of prototypes; 0 is the pad.

        With brackets both stand side by side: windows are of rows, prototypes from 1, then the symbols.
        """
        return image_of(self.leaves, self.nodes, self.before_symbols, level, windows)

    @property
    def before_symbols(self) -> int:
        """How many rows stand before those of symbols: 0 without brackets, where symbols are counted apart."""
        return len(self.prototypes) if len(self.network.beside) else 0

    def quantise(self, states: Float[Tensor, "n d_model"]) -> tuple[Ints, Floats]:
        """The nearest prototype of each state, from 1, and how much farther the second nearest is."""
        images, margins = [], []
        for batch in states.split(ROWS):
            distances, numbers = nearest_two(batch, self.prototypes)
            images.append(1 + numbers[:, 0])
            margins.append(distances[:, 1] - distances[:, 0])
        return torch.cat(images).numpy(), torch.cat(margins).numpy()

    def answers(self) -> tuple[Ints, Floats]:
        """The answer (K,) at each prototype, and the margin of its logit over the next."""
        two = self.network.readout(self.prototypes).topk(2)
        return two.indices[:, 0].numpy(), (two.values[:, 0] - two.values[:, 1]).numpy()


def image_of(leaves: Entries, nodes: Entries, before_symbols: int, level: int, windows: Ints) -> Ints:
    """What windows (n, C) give. Leaves are those of level 0, of rows those of symbols alone, counted from 1 there."""
    if not before_symbols:
        return (nodes if level else leaves)(windows)
    are_leaves = ((windows == 0) | (windows > before_symbols)).all(1)
    found = np.empty(len(windows), dtype=np.int64)
    found[are_leaves] = leaves(np.maximum(windows[are_leaves] - before_symbols, 0))
    found[~are_leaves] = nodes(windows[~are_leaves])
    return found


def nearest_two(
    states: Float[Tensor, "n d_model"], prototypes: Float[Tensor, "K d_model"]
) -> tuple[Float[Tensor, "n 2"], Int[Tensor, "n 2"]]:
    """How far the two nearest prototypes are from each state, and their numbers; a single one has an infinite rival.

    |x|^2 - 2xp + |p|^2 finds them fast, but loses the digits of small distances: these two are computed anew.

    >>> nearest_two(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0], [6.0, 8.0]]))
    (tensor([[1., 5.]]), tensor([[1, 0]]))
    """
    every = torch.cdist(states, prototypes, compute_mode="use_mm_for_euclid_dist")  # (n, K)
    numbers = every.topk(min(2, len(prototypes)), largest=False).indices.sort(1).values  # of equals the first
    distances = (states.unsqueeze(1) - prototypes[numbers]).square().sum(-1).sqrt()  # (n, 2)
    if len(prototypes) == 1:
        distances, numbers = F.pad(distances, (0, 1), value=torch.inf), F.pad(numbers, (0, 1))
    distances, order = distances.sort(dim=1, stable=True)
    return distances, numbers.gather(1, order)
