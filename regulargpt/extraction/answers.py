"""The machine of any network's answers. It uses nothing else of the network, and no label.

L* queries the network on words of at most a given length, and proposes machines. The network is the teacher, too: its
answers are compared with a proposal's on all short words, on words drawn as in training, and on those that tell the
proposal from all other machines of so many states (finite/conformance.py; with brackets, of so many elements of an
algebra). A word on which they differ shows L* what is missing. So a machine that is left gives the network's answer to
each of these words, and no other machine of that size does. Of a network that is a larger machine, or none, that says
nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.context_free.nested import NestedTask
from languages.convert.machines import AnyMachine
from languages.errors import UserError
from languages.task import Task
from languages.tasks import AnyTask
from regulargpt.extraction.queries import QueriesSpent
from regulargpt.finite.from_answers import MOST_ELEMENTS, LStar, first_parting, lstar, suite_of
from regulargpt.finite.held_out import batches, with_members
from regulargpt.finite.learn import MAX_STATES, short_words
from regulargpt.finite.lstar import Ask, TooLong, Unbounded
from regulargpt.finite.nested_lstar import NestedLearner
from regulargpt.finite.nonempty import Word, answer_to_empty_word

Ints = npt.NDArray[np.int64]

# All words of the lengths that have at most so many are queries; with brackets fewer: L* makes more of each word.
SHORT, SHORT_NESTED = 4000, 400


@dataclass(frozen=True)
class FromAnswers:
    """The machine that gives all answers of a network, or why there is none.

    No other machine of at most `classes` states (elements of an algebra, with brackets) gives all of them; 0: nothing
    is ruled out. `answers` are those to all queries, -1 to no questions; all words of up to `every` symbols are among
    them. Where there is no machine, the last proposal had the size `so_far`, 0 for none, and gave a share `agreement`
    of the answers to the words that were drawn.
    """

    machine: AnyMachine | None
    classes: int
    answers: Mapping[Word, int] = field(repr=False)
    every: int
    reason: str = ""
    so_far: int = 0
    agreement: float = 0.0

    @property
    def queries(self) -> int:
        """How many words the network has answered."""
        return sum(answer >= 0 for word, answer in self.answers.items() if word)


def learn_from_answers(
    task: AnyTask, ask: Ask, words: Sequence[Ints], longest: int, most_states: int = MAX_STATES
) -> FromAnswers:
    """The machine of a network, from its answers to words of at most `longest` symbols, which `ask` gives.

    `words` are batches of words on which every proposal is compared with it.

    >>> import languages
    >>> task = languages.get("parity")
    >>> found = learn_from_answers(task, lambda words: [word.count(1) % 2 for word in words], every_short(task, 12), 12)
    >>> found.machine.delta, found.machine.outputs, found.classes, found.queries, found.every
    (((0, 1), (1, 0)), (0, 1), 12, 8190, 11)
    """
    learner = lstar(task, ask, most_states, answer_to_empty_word(task) if isinstance(task, Task) else None)
    every, proposal, is_wrong, reason, classes = 0, None, True, "", 0
    try:
        for batch in words:
            learner.batch(batch)
        every = whole_lengths(task.n_symbols, words)
        while True:
            word = first_parting(learner.batch, learner.proposed, chain(words, known(learner)))
            proposal, is_wrong = copy.copy(learner), word is not None
            if word is None:
                # These words are many: only a proposal that is right so far is worth them.
                telling = suite_of(learner.machine(task.alphabet, task.output_names), longest)
                word = first_parting(learner.batch, learner.proposed, telling.words)
                is_wrong = word is not None
                if word is None:
                    classes = telling.classes
                    break
            learner.refine(shrunk(learner, word))  # at least one state more, so this ends
    except QueriesSpent as error:
        reason = f"{error}"
    except TooLong:
        reason = f"words of more than {longest:,} symbols would have to tell its states apart"
    except Unbounded:
        nested = f"an algebra of more than {MOST_ELEMENTS} elements"
        reason = f"its answers need {nested if isinstance(task, NestedTask) else f'more than {most_states} states'}"
    except UserError as error:  # a machine with a stack that is too large
        is_wrong, reason = True, f"{error}"
    learned = FromAnswers(None, classes, learner.known, every, reason)
    if proposal is None:
        return learned
    if is_wrong:
        return replace(learned, so_far=size(proposal, task), agreement=agreement(proposal, learner, words))
    return replace(learned, machine=proposal.machine(task.alphabet, task.output_names))


def known(learner: LStar) -> Iterator[Ints]:
    """All words that have come up, of one symbol or more; nothing is sorted before it is wanted."""
    yield from batches(sorted((word for word in learner.known if word), key=len))


def shrunk(learner: LStar, word: Word) -> Word:
    """A word that is answered otherwise than proposed, with symbols left out as long as it is.

    Shorter words make shorter suffixes, so L* seldom asks for words that are too long.
    """
    out = len(word) // 2
    while out:
        starts = range(0, len(word) - out + 1, out)
        shorter = np.array([word[:i] + word[i + out :] for i in starts], dtype=np.int64)  # (starts, T - out)
        still = first_parting(learner.batch, learner.proposed, [shorter])
        word = word if still is None else still
        out = out // 2 if still is None else min(out, len(word) // 2)
    return word


def size(proposal: LStar, task: AnyTask) -> int:
    """How many states a proposal has, or elements of its algebra."""
    if isinstance(proposal, NestedLearner):
        return len(proposal.hypothesis.answers)
    return proposal.machine(task.alphabet, task.output_names).n_states


def agreement(proposal: LStar, learner: LStar, words: Sequence[Ints]) -> float:
    """The share of these words, as far as they are questions, that a proposal answers as the network does."""
    given = np.concatenate([learner.batch(batch) for batch in words])
    proposed = np.concatenate([proposal.proposed(batch) for batch in words])
    right = (given == proposed)[given != UNDEFINED]
    return float(right.mean()) if len(right) else 0.0


def every_short(task: AnyTask, longest: int) -> list[Ints]:
    """All words of 1, 2, .. symbols while they are few, batches (n, T); with brackets all members of longer ones, too.

    >>> import languages
    >>> [len(words) for words in every_short(languages.get("parity"), 4)]
    [2, 4, 8, 16]
    """
    most = SHORT_NESTED if isinstance(task, NestedTask) else SHORT
    every = [words for words in short_words(task.n_symbols, most) if words.shape[1] <= longest]
    return list(with_members(task, every, longest)) if isinstance(task, NestedTask) else every


def whole_lengths(n_symbols: int, words: Sequence[Ints]) -> int:
    """Up to which length all words are among these batches, of which each has no word twice."""
    counts = {batch.shape[1]: len(batch) for batch in reversed(words)}
    length = 0
    while counts.get(length + 1) == n_symbols ** (length + 1):
        length += 1
    return length
