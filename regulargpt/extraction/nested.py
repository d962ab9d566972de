"""The machine with a stack that a quantised network implements, learned from it alone and proven equal to it.

As for trees of words (`regulargpt.finite.learn`): L* asks the quantised network and proposes the algebra, and the proof
along brackets decides at every length and every depth, or gives a word that tells them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.context_free.nested import NestedTask
from regulargpt.extraction.blind import every_nested_word, table_answers
from regulargpt.finite.held_out import labels
from regulargpt.finite.learn import Extracted, learned, short_words
from regulargpt.finite.lstar import by_length
from regulargpt.finite.nested_lstar import NestedLearner
from regulargpt.finite.nested_specification import AnySpecification, NestedSpecification
from regulargpt.finite.nonempty import Word
from regulargpt.finite.proof import Proof, prove
from regulargpt.finite.table import QuantisedTable

Ints = npt.NDArray[np.int64]

MAX_ELEMENTS = 400
FIRST_WORDS = 400


@dataclass(frozen=True)
class NestedTeacher:
    """A quantised network that answers questions of a task: for words, and whether a machine is its language.

    Of the task it knows which words are questions, and what is answered to the empty word, which no network reads.
    """

    task: NestedTask
    table: QuantisedTable

    def answers(self, words: Ints) -> Ints:
        """The answers (n,) to words (n, T); -1 to what is no question."""
        if not words.shape[1]:
            return labels(self.task, words)
        answers = np.full(len(words), UNDEFINED, dtype=np.int64)
        if (is_question := self.task.questions(words)).any():
            answers[is_question] = table_answers(self.table, words[is_question])
        return answers

    @cached_property
    def domain(self) -> VisiblyPushdown:
        return VisiblyPushdown.from_machine(every_nested_word(self.task.machine).machine)

    def proof(self, specification: AnySpecification) -> Proof:
        """Whether the quantised network answers as a machine does. UserError where that is too large to decide."""
        table = self.table
        answers = table.answers()[0]
        return prove(specification, table.chunk_size, table.image, answers, table.aligned, table.before_symbols)

    def find_counterexample(self, proposed: PushdownTransducer) -> Word | None:
        """A word that the proposed machine answers otherwise, None if there is none."""
        questions = VisiblyPushdown.from_machine(every_nested_word(proposed).machine)
        if (outside := questions.counterexample(self.domain)) is not None:
            return tuple(proposed.encode(outside).tolist())
        return self.proof(NestedSpecification.of_machine(proposed)).wrong


def learn_nested(teacher: NestedTeacher, words: Sequence[Ints] = (), most_elements: int = MAX_ELEMENTS) -> Extracted:
    """The language of the teacher's quantised network, from batches of sample words (n, T) and its own questions.

    >>> import languages
    >>> from regulargpt.certificate.search.certify import Certifier
    >>> from regulargpt.construct.plan import model_config
    >>> from regulargpt.construct.weights import constructed
    >>> task = languages.find("brackets-1")
    >>> model = constructed(model_config(task, 2, "one-hot"), task, "one-hot")
    >>> found = learn_nested(NestedTeacher(task, Certifier.for_task(task, 2).certify(model).table))
    >>> found.proven, VisiblyPushdown.from_machine(found.machine).counterexample(task.visibly)
    (True, None)
    """
    task = teacher.task
    learner = NestedLearner(task.visibly.direction, partial(by_length, teacher.answers), most_elements)
    first = (*short_words(task.n_symbols, FIRST_WORDS), *words)
    answered = [(batch, teacher.answers(batch)) for batch in first if len(batch)]
    too_many = f"no algebra of at most {most_elements} elements is that of the quantised network's language"
    return learned(learner, answered, teacher.find_counterexample, (task.alphabet, task.output_names), too_many)
