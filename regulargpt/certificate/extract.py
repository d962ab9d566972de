"""The machine that a snapped network implements, learned from it alone and proven equal to it.

L* asks the snapped network for words and proposes machines; `prove` decides at every length whether a proposal is the
network's language, or gives the shortest word on which it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from languages import operations
from languages.automata import Dfa, MooreMachine
from languages.errors import UserError
from languages.monoid import TransitionMonoid
from languages.task import CLASSES
from regulargpt.certificate.levels import Image
from regulargpt.certificate.lstar import EMPTY, Learner, Unbounded, Word
from regulargpt.certificate.machine import Question
from regulargpt.certificate.proof import prove
from regulargpt.certificate.trees import answers_to

Ints = npt.NDArray[np.int64]

MOST_STATES = 256
# Elements of a proposal's transition monoid for which a proof is tried, and words it must get right before.
MOST_ELEMENTS = 2000
FIRST_WORDS = 4000


@dataclass(frozen=True)
class Extracted:
    """The minimal machine, without an answer outside the domain; proven, or why not.

    `machine` is None if no machine of the allowed size is the language.
    """

    machine: MooreMachine | None
    proven: bool
    reason: str = ""


@dataclass(frozen=True)
class Teacher:
    """A snapped network that answers questions: for words, and whether a proposed machine is its language."""

    alphabet: tuple[str, ...]
    output_names: tuple[str, ...]
    chunk_size: int
    image: Image
    at_prototypes: Ints
    domain: Dfa | None = None

    def answers(self, words: Ints) -> Ints:
        """The answers (n,) to words (n, T); -1 outside the domain."""
        found = answers_to(self.chunk_size, self.image, self.at_prototypes, words)
        return found if self.domain is None else np.where(self.domain.accepts(words), found, -1)

    def mistake(self, table: Ints, colours: Ints, first: Sequence[tuple[Ints, Ints]]) -> Word | None:
        """A word that the proposed machine answers otherwise, None if there is none.

        `first` are (words, answers) to be looked at before. Raises UserError where the proof would be too large.
        """
        proposed = machine(table, colours, self.alphabet, self.output_names)
        for words, right in first:
            wrong = np.flatnonzero(proposed.answers(words) != right)
            if len(wrong):
                return _word(words[wrong[0]])
        if (outside := self._outside(table, colours)) is not None:
            return outside
        monoid = TransitionMonoid.of(proposed, MOST_ELEMENTS)
        question = Question(proposed, monoid, monoid, np.arange(monoid.size))
        return prove(question, self.chunk_size, self.image, self.at_prototypes).wrong

    def _outside(self, table: Ints, colours: Ints) -> Word | None:
        """The shortest word of the domain that the machine has no answer to, or the other way round."""
        inside = np.ones(1, dtype=bool) if self.domain is None else self.domain.is_accepting
        steps = np.zeros((1, len(self.alphabet)), np.int64) if self.domain is None else self.domain.table
        start = 0 if self.domain is None else self.domain.initial_index
        mine = _unlike_empty(table, 0, np.where(colours >= 0, 1, 0))
        word = operations.counter_example(mine, _unlike_empty(steps, start, inside.astype(np.int64)))
        return None if word is None else _word(word)


def learn(
    teacher: Teacher, words: Sequence[Ints] = (), most_states: int = MOST_STATES, empty: int | None = None
) -> Extracted:
    """The language of the teacher's snapped network, from batches of sample words (n, T) and its own questions.

    No network answers the empty word: it gets the answer with which the machine is smallest, `empty` if that is one.

    >>> ones = lambda level, windows: 1 + np.where(windows > 0, windows - 1, 0).sum(1) % 2
    >>> found = learn(Teacher(("0", "1"), ("even", "odd"), 2, ones, np.array([0, 1])))
    >>> found.proven, found.machine.delta, found.machine.outputs
    (True, ((0, 1), (1, 0)), (0, 1))
    """
    first = [(batch, teacher.answers(batch)) for batch in (*short_words(len(teacher.alphabet)), *words)]
    learner = Learner(len(teacher.alphabet), teacher.answers, most_states)
    reason = ""
    try:
        table, colours = learner.hypothesis()
        while (word := teacher.mistake(table, colours, first)) is not None:
            learner.refine(table, word)
            table, colours = learner.hypothesis()
    except Unbounded:
        return Extracted(None, False, f"no machine of at most {most_states} states is the snapped network's language")
    except UserError as error:
        reason = f"right on every word that was looked at, but not proven: {error}"
    return Extracted(
        smallest(table, colours, teacher.alphabet, teacher.output_names, empty), not reason, reason
    )


def short_words(n_symbols: int, most: int = FIRST_WORDS) -> list[Ints]:
    """All words, length by length, while a length has at most `most`.

    >>> [len(words) for words in short_words(2, 8)]
    [2, 4, 8]
    """
    lengths = range(1, 1 + max(T for T in range(1, 64) if T == 1 or n_symbols**T <= most))
    return [np.array(list(product(range(n_symbols), repeat=T)), dtype=np.int64) for T in lengths]


def smallest(
    table: Ints, colours: Ints, alphabet: tuple[str, ...], output_names: tuple[str, ...], empty: int | None = None
) -> MooreMachine:
    """The minimal machine, the empty word's answer (EMPTY: not known) chosen so that it has the fewest states."""
    if colours[0] != EMPTY:
        return machine(table, colours, alphabet, output_names).minimise()
    choices = [*([] if empty is None else [empty]), *range(len(output_names))]
    found = [
        machine(table, np.append(choice, colours[1:]), alphabet, output_names).minimise()
        for choice in dict.fromkeys(choices)
    ]
    return min(found, key=lambda each: each.n_states)


def machine(table: Ints, colours: Ints, alphabet: tuple[str, ...], output_names: tuple[str, ...]) -> MooreMachine:
    """The machine from state 0; where no answer is known there is none."""
    names = tuple(f"q{i}" for i in range(len(table)))
    return MooreMachine(names, alphabet, table, "q0", tuple(np.maximum(colours, -1).tolist()), output_names)


def difference(found: MooreMachine, true: MooreMachine) -> Word | None:
    """The shortest word, not the empty one, that two machines over the same symbols and outputs answer differently."""
    word = operations.counter_example(*(_unlike_empty(m.table, m.initial_index, m.output_table) for m in (found, true)))
    return None if word is None else _word(word)


def as_dfa(found: MooreMachine) -> Dfa | MooreMachine:
    """A machine that rejects or accepts every word, as an automaton; any other as it is."""
    if found.output_names != CLASSES or -1 in found.outputs:
        return found
    accepting = {state for state, output in zip(found.states, found.outputs, strict=True) if output == 1}
    return Dfa(found.states, found.alphabet, found.delta, found.initial, accepting)


def _unlike_empty(table: npt.NDArray[np.integer], start: int, colours: Ints) -> operations.Coloured:
    """The machine with a new initial state, to which only the empty word leads, of a colour of its own."""
    return np.vstack([table[start], table]) + np.array([[1]]), 0, np.append(EMPTY, colours)


def _word(symbols: npt.NDArray[np.integer]) -> Word:
    return tuple(int(symbol) for symbol in symbols)
