"""Words that tell a machine from all others of so many states: the W-method.

Two words are in one class of a language if whatever follows both has the same answer: classes are what a minimal
machine has states for. Let n be the number of states that non-empty words lead to, u_q such a word for
each of them, and W suffixes, the empty suffix among them, of which for any two of the states one leads to different
answers. Let P be all symbols, all u_q, and all u_q with one symbol more; and Z all words of at most k symbols, each
before a suffix of W. A language with at most n + k classes that answers the words P Z as the machine does is the
machine's:

1. By W the u_q are in n different classes. Suffixes with one symbol more in front tell at least another class apart,
   as long as not all are: so Z tells all n + k apart.
2. If q goes to r by a, then u_q a and u_r have the same answers before all of Z: they are in one class. So has a symbol
   a and u_r, if a leads to r. By induction every word is in the class of u_q, q the state that it leads to.

Sources: Vasilevskii, Failure diagnosis of automata, 1973; Chow, Testing software design modeled by finite-state
machines, 1978.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine, operations
from regulargpt.finite.nonempty import Context, Word, with_fresh_start

Ints = npt.NDArray[np.int64]
# x -> left x right, and where it leads from each state or element, NONE where there is no such word.
Step = tuple[Word, Word, npt.NDArray[np.integer[Any]]]
ABSENT = -3  # the answer where there is no such word
NAMES = 1 << 32  # more than there are answers: two numbers as one

# Symbols are added in front of the suffixes while there are at most so many words; and so many are queried at most.
USUAL, MOST_WORDS = 1 << 14, 1 << 17


@dataclass(frozen=True)
class Suite:
    """Words, batches (n, T) of equal length each: a language with at most `classes` that answers all of them as the
    machine does is the machine's. No words where they would be too many or too long."""

    words: list[Ints]
    classes: int


def suite(machine: MooreMachine, longest: int, usual: int | None = None) -> Suite:
    """The words of a minimal machine, at most `longest` symbols each, for as many classes as `usual` words are enough.

    `USUAL` words, if that is not given.

    >>> parity = MooreMachine(("even", "odd"), "01", ((0, 1), (1, 0)), "even", (0, 1), ("even", "odd"))
    >>> [suite(parity, longest).classes for longest in (1, 2, 3, 40)]
    [0, 2, 3, 12]
    """
    # No word leads back to the new start: behind it are the states that non-empty words lead to.
    table, colours = with_fresh_start(machine.table, machine.initial_index, machine.output_table)
    tree = operations.search(table, 0)
    states, access = tree.nodes[1:], [tuple(tree.word(i).tolist()) for i in range(1, len(tree.nodes))]
    symbols: list[Word] = [(a,) for a in range(table.shape[1])]
    first = list(dict.fromkeys([*symbols, *access, *(u + a for u in access for a in symbols)]))  # P
    suffixes = distinguishing_words(table, colours, states)  # W, then Z
    words, k = set[Word](), 0
    while len(first) * len(suffixes) <= (MOST_WORDS if k == 0 else USUAL if usual is None else usual):
        queries = {u + z for u in first for z in suffixes}
        if max(map(len, queries)) > longest:
            break
        words, k = queries, k + 1
        suffixes = list(dict.fromkeys([*suffixes, *(a + z for a in symbols for z in suffixes)]))
    return Suite(batches(words), len(states) + k - 1 if words else 0)


def distinguishing_words(table: Ints, colours: Ints, states: npt.NDArray[np.integer[Any]]) -> list[Word]:
    """Suffixes, the empty suffix first, of which for any two of these states of a minimal machine one leads to
    different colours.

    >>> distinguishing_words(np.array([[1, 2], [2, 2], [2, 2]]), np.array([0, 0, 1]), np.arange(3))
    [(), (0,)]
    """
    steps: list[Step] = [((), (a,), to) for a, to in enumerate(table.T)]
    return [word for _, word in distinguishing(colours, np.zeros_like(states), steps, states)[0]]


def distinguishing(
    answers: Ints,
    kinds: npt.NDArray[np.integer[Any]],
    steps: Sequence[Step],
    states: npt.NDArray[np.integer[Any]] | slice = slice(None),
) -> dict[int, list[Context]]:
    """For each kind of these states contexts, the empty one first: for any two of a kind one has different answers."""
    every = np.unique(kinds)
    contexts: dict[int, list[Context]] = {int(kind): [((), ())] for kind in every}
    _, classes = np.unique(kinds * NAMES + answers[states], return_inverse=True)
    queue: list[Step] = [((), (), np.append(answers, ABSENT))]
    # Moore's refinement: each step inside each context that told some apart, those that come to the list included.
    for u, v, given in queue:
        for left, right, to in steps:
            after = given[to]  # (Q,); NONE is the last
            _, finer = np.unique(classes * NAMES + after[states], return_inverse=True)
            if finer.max() == classes.max():
                continue
            context = u + left, right + v
            for kind in every:
                if len(every) == 1 or count(finer[kinds == kind]) > count(classes[kinds == kind]):
                    contexts[int(kind)].append(context)
            classes = finer
            queue.append((*context, np.append(after, ABSENT)))
    return contexts


def count(classes: Ints) -> int:
    """How many there are."""
    return len(np.unique(classes))


def batches(words: set[Word]) -> list[Ints]:
    """The words by length, each batch in the alphabet's order."""
    by_length: dict[int, list[Word]] = defaultdict(list)
    for word in sorted(words):
        by_length[len(word)].append(word)
    return [np.array(by_length[length], dtype=np.int64) for length in sorted(by_length)]
