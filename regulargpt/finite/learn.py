"""The machine that a quantised network implements, learned from it alone and proven equal to it.

L* asks the quantised network for words and proposes machines; `prove` decides at every length whether a proposal is the
network's language, or gives the shortest word on which it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import numpy.typing as npt

from languages.automata import Dfa, MooreMachine
from languages.automata.pushdown import PushdownTransducer
from languages.errors import UserError
from languages.task import all_words
from regulargpt.finite.levels import Image
from regulargpt.finite.lstar import Learner, Unbounded, by_length
from regulargpt.finite.nonempty import Word, counterexample, machine, smallest_machine
from regulargpt.finite.proof import prove
from regulargpt.finite.specification import Specification
from regulargpt.finite.trees import roots
from regulargpt.models.tree.shape import Side

Ints = npt.NDArray[np.int64]

MAX_STATES = 256
# Elements of a proposal's transition monoid for which a proof is tried, and words it must get right before.
MAX_ELEMENTS = 2000
FIRST_WORDS = 4000


@dataclass(frozen=True)
class Extracted:
    """The minimal machine, without an answer outside the domain; proven, or why not.

    `machine` is None if no machine of the allowed size is the language.
    """

    machine: MooreMachine | PushdownTransducer | None
    proven: bool
    reason: str = ""


@dataclass(frozen=True)
class Teacher:
    """A quantised network that answers questions: for words, and whether a proposed machine is its language."""

    alphabet: tuple[str, ...]
    output_names: tuple[str, ...]
    chunk_size: int
    image: Image
    at_prototypes: Ints
    domain: Dfa | None = None
    aligned: Side = "right"

    def answers(self, words: Ints) -> Ints:
        """The answers (n,) to words (n, T); -1 outside the domain."""
        found = self.at_prototypes[roots(self.chunk_size, self.image, words, self.aligned) - 1]
        return found if self.domain is None else np.where(self.domain.accepts(words), found, -1)

    def find_counterexample(self, table: Ints, colours: Ints, first: Sequence[tuple[Ints, Ints]]) -> Word | None:
        """A word that the proposed machine answers otherwise, None if there is none.

        `first` are (words, answers) to be looked at before. Raises UserError where the proof would be too large.
        """
        proposed = machine(table, colours, self.alphabet, self.output_names)
        # Cheap first: words whose answers are known, then the domain, and the proof for what survives.
        for words, right in first:
            wrong = np.flatnonzero(proposed.answers(words) != right)
            if len(wrong):
                return tuple(words[wrong[0]].tolist())
        if (outside := self._outside_domain(table, colours)) is not None:
            return outside
        specification = Specification.of_machine(proposed, MAX_ELEMENTS)
        return prove(specification, self.chunk_size, self.image, self.at_prototypes, self.aligned).wrong

    def _outside_domain(self, table: Ints, colours: Ints) -> Word | None:
        """The shortest word of the domain that the machine has no answer to, or the other way round."""
        domain = self.domain or all_words(self.alphabet)
        found = domain.as_moore()
        return counterexample(machine(table, np.where(colours >= 0, 1, 0), self.alphabet, found.output_names), found)


def learn(
    teacher: Teacher, words: Sequence[Ints] = (), most_states: int = MAX_STATES, empty: int | None = None
) -> Extracted:
    """The language of the teacher's quantised network, from batches of sample words (n, T) and its own questions.

    No network answers the empty word: it gets the answer with which the machine is smallest, `empty` if that is one.

    >>> ones = lambda level, windows: 1 + np.where(windows > 0, windows - 1, 0).sum(1) % 2
    >>> found = learn(Teacher(("0", "1"), ("even", "odd"), 2, ones, np.array([0, 1])))
    >>> found.proven, found.machine.delta, found.machine.outputs
    (True, ((0, 1), (1, 0)), (0, 1))
    """
    first = [(batch, teacher.answers(batch)) for batch in (*short_words(len(teacher.alphabet)), *words)]
    # Two teachers in one: the table answers words, the proof decides about machines.
    learner = Learner(len(teacher.alphabet), partial(by_length, teacher.answers), most_states)
    reason = ""
    while True:
        try:
            table, colours = learner.hypothesis
        except Unbounded:
            reason = f"no machine of at most {most_states} states is the quantised network's language"
            return Extracted(None, False, reason)
        try:
            word = teacher.find_counterexample(table, colours, first)
        except UserError as error:
            reason = f"right on every word that was looked at, but not proven: {error}"
            break
        if word is None:
            break
        learner.refine(word)  # at least one state more, so this ends
    found = smallest_machine(table, colours, teacher.alphabet, teacher.output_names, empty)
    return Extracted(found, not reason, reason)


def short_words(n_symbols: int, max_words: int = FIRST_WORDS) -> list[Ints]:
    """All words, length by length, while a length has at most `max_words`.

    >>> [len(words) for words in short_words(2, 8)]
    [2, 4, 8]
    """
    # Length 1 is always among them, or a large alphabet would have none.
    lengths = range(1, 1 + max(T for T in range(1, 64) if T == 1 or n_symbols**T <= max_words))
    return [np.array(list(product(range(n_symbols), repeat=T)), dtype=np.int64) for T in lengths]
