"""What the states of nodes should say: a transition function, a state of the automaton, a symbol, a depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from languages.automata.monoid import TransitionMonoid
from languages.automata.moore import MooreMachine
from regulargpt.data.base import Words
from regulargpt.measurements.states import NodeStates

Labels = npt.NDArray[np.int64]  # (rows,)


@dataclass(frozen=True)
class ClassMoves:
    """What each symbol makes of each class: row m of `table` (classes, symbols) lists where m goes to."""

    alphabet: Sequence[str]
    table: npt.NDArray[np.integer]

    def from_class(self, start: int) -> dict[int, list[str]]:
        """Where the symbols move a class to, and which of them do.

        >>> import languages
        >>> machine = languages.get("cycle-navigation").machine
        >>> ClassMoves(machine.alphabet, machine.table).from_class(1)
        {1: ['0'], 2: ['1'], 0: ['2']}
        """
        moved: dict[int, list[str]] = {}
        for symbol, end in zip(self.alphabet, self.table[start].tolist(), strict=True):
            moved.setdefault(end, []).append(symbol)
        return moved


@dataclass(frozen=True)
class Sought:
    """What nodes can stand for: the classes of a kind, by name, those that a node can have, how they are called
    together, and, where a symbol moves a state to the next, how."""

    kind: str
    size: int
    names: Sequence[str]
    possible: Sequence[int]
    noun: str
    moves: ClassMoves | None = None


def of_monoid(monoid: TransitionMonoid) -> Sought:
    """The elements by their shortlex least words, the empty word as ε."""
    names = [word or "ε" for word in monoid.words]
    moves = ClassMoves(monoid.alphabet, monoid.right)
    return Sought("monoid", monoid.size, names, range(monoid.size), "monoid elements", moves)


def of_states(machine: MooreMachine) -> Sought:
    """The states of an automaton."""
    n = machine.n_states
    return Sought("automaton", n, machine.states, range(n), "states", ClassMoves(machine.alphabet, machine.table))


@dataclass(frozen=True)
class Sub:
    """Nodes of words, and the automaton that the words are run through: what their classes are read from."""

    nodes: NodeStates
    words: Words  # (batch, length)
    machine: MooreMachine
    monoid: TransitionMonoid

    def state(self) -> tuple[Sought, Labels]:
        """The state to which the sub-word moves the initial state."""
        images = self.monoid.elements[self.nodes.elements, self.machine.initial_index]  # (rows,)
        return of_states(self.machine), images.astype(np.int64)

    def prefix(self) -> tuple[Sought, Labels]:
        """The state after the word up to the end of the sub-word."""
        states = np.full((len(self.words), self.words.shape[1] + 1), self.machine.initial_index, dtype=np.int64)
        for t, symbols in enumerate(self.words.T):
            states[:, t + 1] = self.machine.table[states[:, t], symbols]
        return of_states(self.machine), states[self.nodes.words, self.nodes.ends]

    def symbol(self) -> tuple[Sought, Labels]:
        """The last symbol."""
        alphabet = self.machine.alphabet
        last = self.words[self.nodes.words, self.nodes.ends - 1].astype(np.int64)
        return Sought("alphabet", len(alphabet), alphabet, range(len(alphabet)), "symbols"), last

    def depth(self) -> tuple[Sought, Labels]:
        """The depth, from 1."""
        most = int(self.nodes.depths.max())
        names = [f"depth {depth}" for depth in range(most + 1)]
        return Sought("depths", most, names, range(1, most + 1), "depths"), self.nodes.depths

    def transition(self) -> tuple[Sought, Labels]:
        """The function that the sub-word is on the automaton's states."""
        return of_monoid(self.monoid), self.nodes.elements


CLASSES: Mapping[str, Callable[[Sub], tuple[Sought, Labels]]] = {
    "transition": Sub.transition,
    "state": Sub.state,
    "symbol": Sub.symbol,
    "depth": Sub.depth,
    "prefix": Sub.prefix,
}


def classed(sub: Sub, by: str) -> tuple[Sought, NodeStates]:
    """The nodes with what they should say in place of their monoid elements, and what there is to say.

    >>> import languages
    >>> from languages.randomness import rng
    >>> machine = languages.get("parity").machine
    >>> row = np.array([0])
    >>> node = NodeStates(np.zeros((1, 2), np.float32), row + 1, row + 1, row, row + 1, row + 3, row + 1)
    >>> sub = Sub(node, np.array([[1, 0, 1]]), machine, TransitionMonoid.from_machine(machine))
    >>> for by in CLASSES:
    ...     sought, nodes = classed(sub, by)
    ...     print(by, "is", sought.names[nodes.elements[0]])
    transition is 1
    state is odd
    symbol is 1
    depth is depth 1
    prefix is even
    """
    sought, labels = CLASSES[by](sub)
    return sought, replace(sub.nodes, elements=labels)
