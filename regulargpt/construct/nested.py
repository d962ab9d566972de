"""Trees that follow brackets: what nodes stand for as one-hot vectors, a path for each window that words need.

A node stands for a label (`Labels`): an element of the language's algebra, which acts on states as Lemma 6.1 has it, or
with C = 2 a call with what follows it. What a pair of brackets makes of an element is another entry of the table.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from languages.automata.pushdown import PushdownTransducer
from regulargpt.certificate.search.nested_labels import Labels
from regulargpt.construct.representation import Representation, answers
from regulargpt.finite.levels import Ints, TooManyWindows
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.finite.proof import prove

# More paths than this need more memory than a construction may.
MAX_PATHS = 1 << 14


@lru_cache(maxsize=8)
def one_hot(machine: PushdownTransducer, chunk_size: int) -> Representation:
    """OneHot of each label and of each symbol; the pad is that of the empty word.

    Raises TooManyWindows for more than `MAX_PATHS`, or AutomatonError for a machine whose brackets are not visible.

    >>> from languages.context_free.brackets import brackets
    >>> found = one_hot(brackets(1).machine, 2)
    >>> found.size, len(found.writes), found.symbols.argmax(1).tolist()
    (7, 27, [5, 6])
    """
    specification = NestedSpecification.of_machine(machine)
    labels = Labels(specification, chunk_size, "right")
    symbols = 1 + labels.count + np.arange(machine.n_symbols)  # their rows, behind those of the labels
    seen = WindowsRead(chunk_size)

    def image(_: int, windows: Ints) -> Ints:
        return labels.image(seen.noted(windows))

    prove(specification, chunk_size, image, labels.answers, before_symbols=labels.count)
    reads, writes = seen.windows, labels.image(seen.windows)
    # Most labels stand for what no word needs: only those that occur become numbers of a state.
    used, number = np.unique(np.concatenate([[1, *symbols], reads.ravel(), writes]), return_inverse=True)
    ends = [1 + len(symbols), 1 + len(symbols) + reads.size]
    alone, read, written = np.split(number.reshape(-1), ends)  # of one axis (rows + windows,)
    vectors, outputs = np.eye(len(used)), np.append(labels.answers, np.full(len(symbols), -1))
    return Representation(
        ones=1,
        identity=vectors[alone[0]],
        symbols=vectors[alone[1:]],
        reads=read.reshape(reads.shape),  # (paths, C), from (paths * C,)
        writes=written,
        readout=answers(outputs[used - 1], len(machine.output_names)),
    )


class WindowsRead:
    """The windows of rows that were looked at, each once; the pad, 0, is the empty word's label, 1."""

    def __init__(self, chunk_size: int) -> None:
        self.windows = np.zeros((0, chunk_size), dtype=np.int64)

    def noted(self, windows: Ints) -> Ints:
        noted = np.maximum(windows, 1)
        self.windows = np.unique(np.concatenate([self.windows, np.unique(noted, axis=0)]), axis=0)
        if len(self.windows) > MAX_PATHS:
            raise TooManyWindows(f"the construction has more than {MAX_PATHS:,} paths")
        return noted


def sizes(machine: PushdownTransducer, chunk_size: int) -> tuple[int, int]:
    """Its numbers and paths; of too many paths to count, at least so many."""
    try:
        network = one_hot(machine, chunk_size)
    except TooManyWindows:
        return len(NestedSpecification.of_machine(machine).words), MAX_PATHS
    return network.size, len(network.writes)
