"""Where a network's states of each monoid element lie: what a page compares a node's state with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.automata.pushdown import PushdownTransducer
from languages.errors import AutomatonError
from languages.randomness import rng
from languages.tasks import TreeTask
from regulargpt.classroom.live.numbers import encoded
from regulargpt.classroom.nested import Elements

if TYPE_CHECKING:
    from regulargpt.models.tree.base import Tree

Floats = npt.NDArray[np.floating]

MOST_ELEMENTS = 400  # a mean of 64 numbers each: 140 kB
MOST_PROTOTYPES = 2000  # of a certificate, for which they have been found already
WORDS, SHARES = 64, (1.0, 0.75, 0.5)  # words of each length, and lengths as shares of the training length


@dataclass(frozen=True)
class Prototypes:
    """Points (prototypes, d_model), and the numbers of the elements that each stands for.

    Where they are means, `drawn` (rows, d_model) are the states from which they were found.
    """

    points: Floats
    elements: Sequence[Sequence[int]]
    drawn: Floats | None = None

    def data(self) -> dict[str, Any]:
        """JSON values for the script."""
        shape, elements = list(self.points.shape), list(map(list, self.elements))
        return {"shape": shape, "points": encoded(self.points), "elements": elements}


def nested_mean_states(
    model: Tree, machine: PushdownTransducer, task: TreeTask, train_len: int, seed: int
) -> Prototypes | None:
    """The same of the elements of a machine's algebra that occur in trees along the brackets of such words."""
    import torch

    from regulargpt.models.tree.nodes import NestedLevels

    if (elements := Elements.from_machine(machine)) is None:
        return None
    states_of: dict[int, list[Floats]] = {}
    for words in words_of_training(task, train_len, seed):
        nodes = NestedLevels.from_words(model, torch.from_numpy(words.astype(np.int64)))
        with torch.no_grad():
            states = nodes.states()
        for level in nodes.nodes:
            for node in level:
                element = elements.of_node(words[node.word], node)
                states_of.setdefault(element, []).append(states[node.level][node.number].numpy())
    if not states_of or len(states_of) > MOST_ELEMENTS:
        return None
    occurring = sorted(states_of)
    points = np.stack([np.mean(states_of[element], axis=0) for element in occurring])
    drawn = np.concatenate([states_of[element] for element in occurring])
    return Prototypes(points, [[element] for element in occurring], drawn)


def words_of_training(task: TreeTask, train_len: int, seed: int) -> list[npt.NDArray[np.integer]]:
    """Words of the training lengths, a pure function of the seed."""
    shares = {max(1, int(share * train_len)) for share in SHARES}
    lengths = [length for length in sorted(shares) if task.has_length(length)]
    return [task.sample(rng(seed, "mean states", length), length, WORDS) for length in lengths]


def mean_states(model: Tree, machine: MooreMachine, task: TreeTask, train_len: int, seed: int) -> Prototypes | None:
    """The mean state of each monoid element that occurs in trees over words of the training lengths.

    The words are a pure function of the seed. None where the monoid is too large, or no such word exists.
    """
    from regulargpt.measurements.states import NodeStates, node_states

    try:
        monoid = TransitionMonoid.from_machine(machine, MOST_ELEMENTS)
    except AutomatonError:
        return None
    if not (words := words_of_training(task, train_len, seed)):
        return None
    nodes = NodeStates.join([node_states(model, some, monoid, seed) for some in words])
    nodes = nodes.where(nodes.depths > 0)
    occurring = np.unique(nodes.elements)
    points = np.stack([nodes.states[nodes.elements == element].mean(0) for element in occurring])
    return Prototypes(points, [[element] for element in occurring.tolist()], nodes.states)
