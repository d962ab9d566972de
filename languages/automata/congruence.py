"""Which states of a machine show the same colours after every word: the coarsest congruence."""

from typing import Any

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.integer[Any]]  # (Q, Sigma)
Colours = npt.NDArray[np.integer[Any]]  # (Q,): what can be seen of each state
Classes = npt.NDArray[np.intp]  # (Q,)

MAX_ROUNDS = 16


def coarsest_congruence(table: Table, colours: Colours) -> Classes:
    """The classes (Q,) of states that show the same colours after every word.

    Rounds over all states at once settle most machines. One that needs many, such as a long chain, is
    finished by Hopcroft's algorithm, which looks again only at what a split touches.

    >>> coarsest_congruence(np.array([[1, 0], [0, 1], [1, 2]]), np.array([0, 1, 0])).tolist()
    [0, 1, 0]
    """
    classes, settled = refine(table, colours, MAX_ROUNDS)
    return classes if settled else hopcroft(table, classes)


def refine(table: Table, colours: Colours, rounds: int) -> tuple[Classes, bool]:
    """The classes of states that show the same colours after words of up to `rounds` symbols, and whether of all words.

    Each round splits the classes whose members go to different classes. Source: Moore, Gedanken-experiments
    on sequential machines, 1956.
    """
    _, classes = np.unique(colours, return_inverse=True)
    count = int(classes.max()) + 1
    for _ in range(rounds):
        finer = classes
        for symbol in range(table.shape[1]):
            # Two numbers in a single number: the class so far, and the class that the symbol leads to.
            _, finer = np.unique(finer * len(table) + classes[table[:, symbol]], return_inverse=True)
        finer_count = int(finer.max()) + 1
        if finer_count == count:
            return classes, True
        classes, count = finer, finer_count
    return classes, False


def hopcroft(table: Table, classes: Classes) -> Classes:
    """The classes split until each symbol leads each class into one class.

    A split is followed up by the smaller part only. Source: Hopcroft, An n log n algorithm for minimizing states in
    a finite automaton, 1971.
    """
    class_of: list[int] = classes.tolist()
    members: list[set[int]] = [set() for _ in range(max(class_of) + 1)]
    for state, own in enumerate(class_of):
        members[own].add(state)
    before = [predecessors(table[:, symbol]) for symbol in range(table.shape[1])]
    todo = list(range(len(members)))
    while todo:
        splitter = list(members[todo.pop()])
        for sources in before:
            reaching: dict[int, set[int]] = {}
            for target in splitter:
                for state in sources.get(target, ()):
                    reaching.setdefault(class_of[state], set()).add(state)
            for own, part in reaching.items():
                if len(part) == len(members[own]):
                    continue
                # The larger part keeps its number. If that is still to do, both parts are.
                smaller = part if 2 * len(part) <= len(members[own]) else members[own] - part
                members[own] -= smaller
                for state in smaller:
                    class_of[state] = len(members)
                todo.append(len(members))
                members.append(smaller)
    return np.array(class_of, dtype=np.intp)


def predecessors(targets: npt.NDArray[np.integer[Any]]) -> dict[int, list[int]]:
    """The states that lead to each target."""
    sources: dict[int, list[int]] = {}
    for state, target in enumerate(targets.tolist()):
        sources.setdefault(target, []).append(state)
    return sources
