"""The machine that a quantised network implements, learned from it alone and proven equal to it.

L* asks the quantised network for words and proposes machines; `prove` decides at every length whether a proposal is the
network's language, or gives the shortest word on which it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata import Dfa, MooreMachine
from languages.convert.machines import AnyMachine
from languages.errors import UserError
from languages.task import all_words
from regulargpt.finite.levels import Image
from regulargpt.finite.lstar import Learner, ObservationTable, Unbounded, by_length
from regulargpt.finite.nested_specification import AnySpecification
from regulargpt.finite.nonempty import Word, counterexample, machine
from regulargpt.finite.proof import Proof, prove
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

    machine: AnyMachine | None
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
        answers = self.at_prototypes[roots(self.chunk_size, self.image, words, self.aligned) - 1]
        return answers if self.domain is None else np.where(self.domain.accepts(words), answers, -1)

    def proof(self, specification: AnySpecification) -> Proof:
        """Whether the quantised network answers as a machine does. UserError where that is too large to decide."""
        return prove(specification, self.chunk_size, self.image, self.at_prototypes, self.aligned)

    def find_counterexample(self, proposed: MooreMachine) -> Word | None:
        """A word that the proposed machine answers otherwise, None if there is none.

        Raises UserError where the proof would be too large.
        """
        # Cheap first: the domain, and the proof for what survives.
        if (outside := self._outside_domain(proposed)) is not None:
            return outside
        return self.proof(Specification.of_machine(proposed, MAX_ELEMENTS)).wrong

    def _outside_domain(self, proposed: MooreMachine) -> Word | None:
        """The shortest word of the domain that the machine has no answer to, or the other way round."""
        domain = (self.domain or all_words(self.alphabet)).as_moore()
        answered = np.where(proposed.output_table >= 0, 1, 0)
        return counterexample(machine(proposed.table, answered, self.alphabet, domain.output_names), domain)


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
    learner = Learner(len(teacher.alphabet), partial(by_length, teacher.answers), most_states, empty)
    first = (*short_words(len(teacher.alphabet)), *words)
    answered = [(batch, teacher.answers(batch)) for batch in first if len(batch)]
    too_many = f"no machine of at most {most_states} states is the quantised network's language"
    return learned(learner, answered, teacher.find_counterexample, (teacher.alphabet, teacher.output_names), too_many)


def learned(
    learner: ObservationTable[Any],
    answered: Sequence[tuple[Ints, Ints]],
    find_counterexample: Callable[[Any], Word | None],
    names: tuple[tuple[str, ...], tuple[str, ...]],
    too_many: str,
) -> Extracted:
    """What a learner proposes once nothing speaks against it: words with their answers, then `find_counterexample`.

    `names` are the alphabet and those of the answers; `too_many` says why there is none where it is too large.
    """
    reason = ""
    while True:
        try:
            while (word := first_wrong(learner, answered)) is not None:
                learner.refine(word)  # at least one class more, so this ends
            proposal = learner.proposal(*names)
        except Unbounded:
            return Extracted(None, False, too_many)
        except UserError as error:
            return Extracted(None, False, f"the machine of an algebra of {len(learner.words)} elements: {error}")
        try:
            word = find_counterexample(proposal)
        except UserError as error:
            reason = f"right on every word that was looked at, but not proven: {error}"
            break
        if word is None:
            break
        learner.refine(word)
    return Extracted(learner.smallest(proposal), not reason, reason)


def first_wrong(learner: ObservationTable[Any], answered: Sequence[tuple[Ints, Ints]]) -> Word | None:
    """The first of these words, with their answers, that the guess answers otherwise; None if there is none."""
    for words, right in answered:
        if len(wrong := np.flatnonzero(learner.proposed(words) != right)):
            return tuple(words[wrong[0]].tolist())
    return None


def short_words(n_symbols: int, max_words: int = FIRST_WORDS) -> list[Ints]:
    """All words, length by length, while a length has at most `max_words`.

    >>> [len(words) for words in short_words(2, 8)]
    [2, 4, 8]
    """
    # Length 1 is always among them, or a large alphabet would have none.
    lengths = range(1, 1 + max(T for T in range(1, 64) if T == 1 or n_symbols**T <= max_words))
    return [np.array(list(product(range(n_symbols), repeat=T)), dtype=np.int64) for T in lengths]
