"""The map of states: the plane in which a page draws a network's states, found in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from languages.automata.pushdown import NO_MOVE
from languages.errors import UserError
from languages.randomness import rng
from languages.tasks import TreeTask
from regulargpt.classroom.live.numbers import encoded
from regulargpt.classroom.live.states import Prototypes
from regulargpt.classroom.nested import Machine
from regulargpt.measurements.plane import principal_axes

if TYPE_CHECKING:
    from regulargpt.classroom.live.crowd import Crowd
    from regulargpt.models.base import Model

Floats = npt.NDArray[np.floating]
Kind = Literal["nodes", "prefixes"]
Source = Literal["states", "prototypes"]

WORDS, PREFIXES = 64, 16  # words that are read, and lengths to which each is read


@dataclass(frozen=True)
class StateMap:
    """A plane: `axes` (2, width) through `mean` (width,). `explained` are the shares of variance along the axes.

    `anchors` (anchors, width) are the states that the map names: prototypes or mean states of monoid elements, or, of a
    network without those, the mean state after the prefixes that lead to each state of the automaton. `numbers` are
    theirs: prototypes from 1, states of the automaton from 0. `low` and `high` (2,) hold all that the plane was found
    from: `source` says what that is. `kind` says which points the page draws: a word's nodes, or its prefixes.
    Behind them may stand a `crowd`.
    """

    kind: Kind
    mean: Floats
    axes: Floats
    explained: tuple[float, float]
    anchors: Floats
    numbers: tuple[int, ...]
    low: Floats
    high: Floats
    source: Source = "states"
    crowd: Crowd | None = None

    @classmethod
    def from_states(
        cls, kind: Kind, states: Floats, anchors: Floats, numbers: Sequence[int], source: Source = "states"
    ) -> StateMap:
        """The plane of the first two principal components of states (rows, width)."""
        mean, axes, explained = principal_axes(states)
        seen = (np.concatenate([states, anchors]) - mean) @ axes.T  # (rows + anchors, 2)
        return cls(kind, mean, axes, explained, anchors, tuple(numbers), seen.min(0), seen.max(0), source)

    def seen(self, states: Floats) -> Floats:
        """Where states (rows, width) lie in the plane (rows, 2)."""
        return (states.astype(float) - self.mean) @ self.axes.T

    def data(self) -> dict[str, Any]:
        """JSON values for the script: the mean and the axes as they are, the anchors as places in the plane."""
        rows = np.concatenate([self.mean[None], self.axes])  # (3, width)
        return {
            "kind": self.kind,
            "shape": list(rows.shape),
            "rows": encoded(rows),
            "explained": [round(share, 4) for share in self.explained],
            "source": self.source,
            "anchors": [[float(f"{value:.6g}") for value in place] for place in self.seen(self.anchors)],
            "numbers": list(self.numbers),
            "crowd": self.crowd and self.crowd.data(),
            "box": [[float(f"{value:.6g}") for value in corner] for corner in (self.low, self.high)],
        }


def node_map(prototypes: Prototypes) -> StateMap:
    """The map of a tree's nodes: from the states that were drawn to find their means, or the certificate's prototypes.

    >>> found = node_map(Prototypes(np.array([[0.0, 1.0], [2.0, 1.0]]), [[0], [1]]))
    >>> found.explained, found.data()["anchors"]
    ((1.0, 0.0), [[-1.0, 0.0], [1.0, 0.0]])
    """
    numbers = range(1, 1 + len(prototypes.points))
    if prototypes.drawn is None:
        return StateMap.from_states("nodes", prototypes.points, prototypes.points, numbers, "prototypes")
    return StateMap.from_states("nodes", prototypes.drawn, prototypes.points, numbers)


def prefix_map(
    model: Model,
    machine: Machine,
    task: TreeTask,
    train_len: int,
    seed: int,
    token: int | None,
) -> StateMap | None:
    """The map of a network without a tree of prototypes: from the states at which it answers to prefixes of words.

    The words are of the longest training length that there is, drawn by the seed. None where the network has no state
    of a prefix, or none that is finite.
    """
    longest = next((length for length in range(train_len, 0, -1) if task.has_length(length)), None)
    if longest is None:
        return None
    words = task.sample(rng(seed, "prefix states"), longest, WORDS)
    lengths = np.unique(np.geomspace(1, longest, PREFIXES).round().astype(int)).tolist()
    try:
        states = np.concatenate([last_states(model, words[:, :length], token) for length in lengths])
    except UserError:
        return None
    reached = machine.run(words, every=True)  # (words, longest)
    after = np.concatenate([reached[:, length - 1] for length in lengths])
    after = np.where(after == NO_MOVE, machine.n_states, after)
    finite = np.isfinite(states).all(1)
    states, after = states[finite], after[finite]
    if not len(states):
        return None
    occurring = np.unique(after)
    means = np.stack([states[after == state].mean(0) for state in occurring])
    return StateMap.from_states("prefixes", states, means, occurring.tolist())


def last_states(model: Model, words: npt.NDArray[Any], token: int | None) -> Floats:
    """The state at which each word's answer is read (words, width): at its last symbol, or at the token after it."""
    import torch

    from regulargpt.measurements.layers import layers
    from regulargpt.models.tree.base import Tree
    from regulargpt.models.tree.nested import root_of

    symbols = words if token is None else np.pad(words, [(0, 0), (0, 1)], constant_values=token)
    with torch.no_grad():
        if isinstance(model, Tree) and model.direction is not None:
            return root_of(model, torch.from_numpy(symbols.astype(np.int64))).numpy()
        return layers(model, symbols, all_positions=False)[-1].states[:, -1]
