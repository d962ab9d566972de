"""The machine behind a network's answers to short words: no state is looked at, no automaton is known.

L* asks the network about words of at most the training length, and proposes a machine. The proposal is held against
fresh labelled words of those lengths. A word that it answers wrongly, and the network rightly, shows L* a state that
was missing. A proposal that is right on all of them, on fresh ones, and on those that tell it from all other machines
of so many states (conformance.py), is accepted. A network with which L* comes to nothing can be taught: membership
queries give the language's answers to words that L* asked the network about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress, groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from languages.automata import Dfa, MooreMachine
from languages.automata.moore import UNDEFINED
from languages.randomness import rng
from languages.task import Task
from regulargpt.data.base import Words
from regulargpt.data.language import LanguageData
from regulargpt.finite.conformance import suite
from regulargpt.finite.learn import short_words
from regulargpt.finite.lstar import Learner, Query, Unbounded, by_length
from regulargpt.finite.nonempty import Word, machine, smallest_machine
from regulargpt.models.tree.ragged import may_be_ragged, ragged_logits

Ints = npt.NDArray[np.int64]

# A network that is wrong on short words makes L* split states without end: then it is left alone.
MOST_STATES = 400
MOST_REFINEMENTS = 64
# Symbols of the words that go through a network at once.
MOST_SYMBOLS = 1 << 18
# Held-out words of all lengths together; and all words of the lengths that have at most so many.
HELD_OUT, SHORT = 4096, 512
# Membership queries at once, and wrong words that are kept.
MOST_QUERIES = 2048


@dataclass(frozen=True)
class Answers:
    """A network asked for its answers, up to a length; words outside the domain are not asked, and have none."""

    model: nn.Module
    longest: int
    domain: Dfa | None = None

    def __call__(self, words: Ints) -> Ints:
        """The answers (n,) to words (n, T), -1 outside the domain. Raises Unbounded for words that are too long."""
        if words.shape[1] > self.longest:
            raise Unbounded
        found = np.full(len(words), UNDEFINED, dtype=np.int64)
        asked = np.ones(len(words), dtype=bool) if self.domain is None else self.domain.accepts(words)
        if asked.any():
            found[asked] = answers_of(self.model, words[asked])
        return found

    def of(self, words: Sequence[Word]) -> list[int]:
        """The answers to words of any lengths, each a word once. Raises Unbounded as above."""
        if max(map(len, words)) > self.longest:
            raise Unbounded
        asked = words if self.domain is None else list(compress(words, by_length(self.domain.accepts, words)))
        found = dict(zip(asked, ragged_answers(self.model, asked), strict=True))
        return [found.get(word, UNDEFINED) for word in words]


def ragged_answers(model: nn.Module, words: Sequence[Word]) -> list[int]:
    """A network's answers to words of any lengths: a tree reads them at once, others a length at a time."""
    if not may_be_ragged(model):
        return by_length(partial(answers_of, model), words)
    # The longest first: words of one length stand together.
    device = next(model.parameters()).device
    order = sorted(range(len(words)), key=lambda i: -len(words[i]))
    found = np.empty(len(words), dtype=np.int64)
    with torch.no_grad():
        while order:
            at_once = max(1, MOST_SYMBOLS // len(words[order[0]]))
            part, order = order[:at_once], order[at_once:]
            asked = [torch.from_numpy(alike).to(device) for alike in batches(words[i] for i in part)]
            found[part] = ragged_logits(model, asked).argmax(1).cpu().numpy()
    return found.tolist()


def answers_of(model: nn.Module, words: Ints) -> Ints:
    """A network's answers (n,) to words (n, T), on the device that it is on."""
    device = next(model.parameters()).device
    parts = np.array_split(words, -(-words.size // MOST_SYMBOLS)) if words.size else [words]
    with torch.no_grad():
        return np.concatenate([model(torch.from_numpy(part).to(device)).argmax(1).cpu().numpy() for part in parts])


@dataclass(frozen=True)
class HeldOut:
    """Words, batches (n, T) of one length each, and their answers."""

    words: Sequence[Ints]
    answers: Sequence[Ints]

    @classmethod
    def draw(cls, data: LanguageData, seed: int, number: int) -> HeldOut:
        """Words of all lengths of the training, drawn as there."""
        lengths, each = plan(data)
        drawn = [data.batch(seed, "held out", number * len(lengths) + i, [T], each) for i, T in enumerate(lengths)]
        return cls.of(data.finite, drawn)

    @classmethod
    def short(cls, data: LanguageData) -> HeldOut:
        """All words of the shortest lengths that are questions: what is drawn hardly has them all."""
        task, longest = data.finite, data.options.train_len
        every = [words for words in short_words(task.n_symbols, SHORT) if words.shape[1] <= longest]
        asked = every if task.domain is None else [words[task.domain.accepts(words)] for words in every]
        return cls.of(task, [words for words in asked if len(words)])

    @classmethod
    def of(cls, task: Task, words: Sequence[Words]) -> HeldOut:
        """These words with their answers, none outside the domain."""
        batches = [batch.astype(np.int64) for batch in words]
        return cls(batches, [labels(task, batch) for batch in batches])

    def __add__(self, other: HeldOut) -> HeldOut:
        return HeldOut([*self.words, *other.words], [*self.answers, *other.answers])

    @property
    def count(self) -> int:
        """How many answers it tells: that a word is no question is known."""
        return sum(int((right != UNDEFINED).sum()) for right in self.answers)

    def wrong(self, answers: Query) -> list[Word]:
        """The words that a network or machine answers otherwise, batch by batch."""
        return [
            tuple(words[i].tolist())
            for words, right in zip(self.words, self.answers, strict=True)
            for i in np.flatnonzero(answers(words) != right)
        ]


def labels(task: Task, words: Ints) -> Ints:
    """The answers (n,) to words (n, T), -1 outside the domain."""
    found = task.labels(words).astype(np.int64)
    return found if task.domain is None else np.where(task.domain.accepts(words), found, UNDEFINED)


def plan(data: LanguageData) -> tuple[list[int], int]:
    """The lengths of held-out words, and how many words each has."""
    lengths = data.lengths(data.options.train_len)
    return lengths, -(-HELD_OUT // len(lengths))


@dataclass(frozen=True)
class LearnedMachine:
    """A machine that was accepted: it is that of any language with at most `classes` classes that gave the labels."""

    machine: MooreMachine
    classes: int


class AnswerLearner:
    """Learns machines from the answers of a network in training, and counts the labels that it uses.

    Proposals are refined on one set of labelled words, the same every time, and accepted on a fresh one and on those
    that tell them from other machines. `counterexamples` are words of the latter that showed a proposal to be wrong.
    `wrong` are words that the network has wrong: the last counterexample, if it has that wrong, too, and those of the
    membership queries that it got wrong.
    """

    def __init__(self, data: LanguageData, seed: int):
        self.data, self.seed, self.fresh, self.compared, self.queried = data, seed, 0, 0, 0
        self.counterexamples: list[Word] = []
        self.wrong: list[Word] = []
        self.asking: Learner | None = None

    @cached_property
    def first(self) -> HeldOut:
        """The words on which proposals are refined: the shortest ones, all of them, before others."""
        return HeldOut.short(self.data) + HeldOut.draw(self.data, self.seed, 0)

    @property
    def labels_used(self) -> int:
        """How many labels it has used."""
        lengths, each = plan(self.data)
        return self.first.count + self.fresh * each * len(lengths) + self.compared + self.queried

    def learned(self, model: nn.Module) -> LearnedMachine | None:
        """The minimal machine of the network's answers, if it is right on all words it is held against; else None."""
        task, training = self.data.finite, model.training
        network = Answers(model.eval(), self.data.options.train_len, task.domain)
        try:
            return self.accepted(network)
        except Unbounded:
            return None
        finally:
            model.train(training)

    def accepted(self, network: Answers) -> LearnedMachine | None:
        """As `learned`. Raises Unbounded where the network's answers need too many states."""
        task = self.data.finite
        self.wrong = HeldOut.of(task, batches(sorted(self.wrong, key=len))).wrong(network)
        while True:
            known = HeldOut.of(task, batches(self.counterexamples))
            self.asking = Learner(task.n_symbols, network.of, MOST_STATES)
            found = propose(self.asking, task.alphabet, task.output_names, self.first + known)
            if found is None:
                return None
            self.fresh += 1
            if HeldOut.draw(self.data, self.seed, self.fresh).wrong(found.answers):
                return None
            compared, classes = self.ruling_out(found)
            self.compared += compared.count
            if not (wrong := compared.wrong(found.answers)):
                return LearnedMachine(found, classes)
            better = first_parting(network, found, wrong)
            self.counterexamples.append(wrong[0] if better is None else better)
            self.wrong = [wrong[0]] if better is None else []
            if better is None:
                return None

    def query_language(self) -> None:
        """Query the language on up to 2,048 of L*'s words; keep those that the network got wrong."""
        assert self.asking is not None, "call `learned` first"
        asked = [word for word in self.asking.known if word]
        chosen = rng(self.seed, "looked up", self.queried).permutation(len(asked))[:MOST_QUERIES]
        labelled = HeldOut.of(self.data.finite, batches(sorted((asked[i] for i in chosen), key=len)))
        self.queried += labelled.count
        self.wrong = list(dict.fromkeys([*labelled.wrong(self.asking.batch), *self.wrong]))[:MOST_QUERIES]

    def recalled(self, machine: MooreMachine, model: nn.Module | None = None) -> LearnedMachine | None:
        """A machine that was accepted before, if it is right on the words that rule out others; None if it is not.

        None, too, for one that is not minimal: those words rule out less than they seem to then. Of a machine from a
        file that anyone may have put there, the `model` is asked as well: it must answer these words as the machine
        does, and those that proposals are refined on.
        """
        task = self.data.finite
        if (machine.alphabet, machine.output_names) != (task.alphabet, task.output_names):
            return None
        if machine.minimise().n_states < machine.n_states:
            return None
        compared, classes = self.ruling_out(machine)
        if compared.wrong(machine.answers):
            return None
        if model is not None:
            network, known = Answers(model.eval(), self.data.options.train_len, task.domain), compared + self.first
            if known.wrong(machine.answers) or known.wrong(network):
                return None
        return LearnedMachine(machine, classes)

    def ruling_out(self, machine: MooreMachine) -> tuple[HeldOut, int]:
        """The words that tell the machine from all others of so many classes."""
        telling = suite(machine, self.data.options.train_len)
        return HeldOut.of(self.data.finite, telling.words), telling.classes

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        words = {"counterexamples": self.counterexamples, "wrong": self.wrong}
        return {"fresh": self.fresh, "compared": self.compared, "queried": self.queried, **words}

    def load(self, state: Mapping[str, Any]) -> None:
        """From a checkpoint."""
        self.fresh, self.compared, self.queried = state["fresh"], state["compared"], state["queried"]
        self.counterexamples = [tuple(word) for word in state["counterexamples"]]
        self.wrong = [tuple(word) for word in state["wrong"]]


def batches(words: Iterable[Word]) -> list[Ints]:
    """The words in their order, neighbours of one length together: batches (n, T)."""
    return [np.array(list(alike)) for _, alike in groupby(words, key=len)]


def propose(
    learner: Learner, alphabet: tuple[str, ...], output_names: tuple[str, ...], held_out: HeldOut
) -> MooreMachine | None:
    """L* until no held-out word is wrong, or none is left on which the network knows better.

    Raises Unbounded where the network's answers need too many states.
    """
    for _ in range(MOST_REFINEMENTS):
        table, colours = learner.hypothesis()
        proposed = machine(table, colours, alphabet, output_names)
        if not (wrong := held_out.wrong(proposed.answers)):
            return smallest_machine(table, colours, alphabet, output_names)
        better = first_parting(learner.batch, proposed, wrong)
        if better is None:
            return None
        learner.refine(table, better)
    return None


def first_parting(network: Query, proposed: MooreMachine, wrong: Sequence[Word]) -> Word | None:
    """The first of these words that the network answers otherwise than the machine; None if there is none."""
    for batch in batches(wrong):
        at = np.flatnonzero(network(batch) != proposed.answers(batch))
        if len(at):
            return tuple(batch[at[0]].tolist())
    return None
