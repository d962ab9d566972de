"""The machine behind a network's answers to short words: no state is looked at, no automaton is known.

L* asks the network about words of at most the training length, and proposes a machine. The proposal is held against
fresh labelled words of those lengths. A word that it answers wrongly, and the network rightly, shows L* a state that
was missing. A proposal that is right on all of them, on fresh ones, and on those that tell it from all other machines
of so many states (conformance.py; of so many classes, nested_conformance.py, where words have brackets), is accepted. A
network with which L* comes to nothing can be taught: membership queries give the language's answers to words that L*
asked the network about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from languages.automata import MooreMachine
from languages.automata.moore import UNDEFINED
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.context_free.nested import NestedTask
from languages.convert.machines import AnyMachine
from languages.errors import AutomatonError
from languages.randomness import rng
from languages.task import Task
from languages.tasks import AnyTask, TreeTask
from regulargpt.data.language import LanguageData
from regulargpt.finite.conformance import Suite, suite
from regulargpt.finite.held_out import HeldOut, batches, labels, plan
from regulargpt.finite.lstar import Ask, Learner, ObservationTable, Query, TooLong, Unbounded, by_length
from regulargpt.finite.nested_conformance import nested_suite
from regulargpt.finite.nested_lstar import NestedLearner
from regulargpt.finite.nonempty import Word
from regulargpt.models.base import device_of
from regulargpt.models.hooks import listened_to
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.nested import nested_logits
from regulargpt.models.tree.ragged import may_be_ragged, ragged_logits

Ints = npt.NDArray[np.int64]

# A network that is wrong on short words makes L* split states without end: then it is left alone.
MOST_STATES, MOST_ELEMENTS = 400, 400
MOST_REFINEMENTS = 64
# With brackets it is not asked at all while more than such a share of the words up to so many symbols are wrong.
MOST_MISSED, NEAR = 0.04, 12
# Symbols of the words that go through a network at once; of attention, pairs of positions.
MOST_SYMBOLS, MOST_PAIRS = 1 << 18, 1 << 22
# Membership queries at once, and wrong words that are kept.
MOST_QUERIES = 2048


LStar = ObservationTable[Any]


@dataclass(frozen=True)
class NetworkAnswers:
    """A network asked for its answers to a task, up to a length; words that are no questions are not asked."""

    model: nn.Module
    longest: int
    task: AnyTask

    def __call__(self, words: Ints) -> Ints:
        """The answers (n,) to words (n, T), -1 to no questions. Raises TooLong for words of more than `longest`.

        No network reads the empty word: its answer is the language's.
        """
        if words.shape[1] > self.longest:
            raise TooLong
        if not words.shape[1]:
            return labels(self.task, words)
        answers = np.full(len(words), UNDEFINED, dtype=np.int64)
        if (is_question := self.task.questions(words)).any():
            answers[is_question] = answers_of(self.model, words[is_question])
        return answers

    def to_words(self, words: Sequence[Word]) -> list[int]:
        """The answers to words of any lengths from 1, each a word once. Raises TooLong as above."""
        if max(map(len, words)) > self.longest:
            raise TooLong
        every = isinstance(self.task, Task) and self.task.domain is None
        questions = words if every else list(compress(words, by_length(self.task.questions, words)))
        answers = dict(zip(questions, ragged_answers(self.model, questions), strict=True))
        return [answers.get(word, UNDEFINED) for word in words]


def ragged_answers(model: nn.Module, words: Sequence[Word]) -> list[int]:
    """A network's answers to words of any lengths: a tree reads them at once, others a length at a time."""
    if (logits := logits_at_once(model)) is None:
        return by_length(partial(answers_of, model), words)
    # The longest first: words of equal length stand together.
    device = device_of(model)
    order = sorted(range(len(words)), key=lambda i: -len(words[i]))
    answers = np.empty(len(words), dtype=np.int64)
    with torch.no_grad():
        while order:
            at_once = max(1, MOST_SYMBOLS // len(words[order[0]]))
            part, order = order[:at_once], order[at_once:]
            grouped = [torch.from_numpy(alike).to(device) for alike in batches(words[i] for i in part)]
            answers[part] = logits(grouped).argmax(1).cpu().numpy()
    return answers.tolist()


def logits_at_once(model: nn.Module) -> Callable[[Sequence[Tensor]], Tensor] | None:
    """What gives a tree's logits of words of many lengths, batches of equal length each; None for other models."""
    if may_be_ragged(model):
        return partial(ragged_logits, model)
    if isinstance(model, Tree) and model.direction is not None and not listened_to(model):
        return partial(nested_logits, model)
    return None


def answers_of(model: nn.Module, words: Ints) -> Ints:
    """A network's answers (n,) to words (n, T), on the device that it is on."""
    device = device_of(model)
    pieces = -(-words.size // MOST_SYMBOLS)
    if getattr(model, "quadratic", False):
        pieces = min(len(words), -(-words.size * words.shape[1] // MOST_PAIRS))
    parts = np.array_split(words, pieces) if words.size else [words]
    with torch.no_grad():
        return np.concatenate([model(torch.from_numpy(part).to(device)).argmax(1).cpu().numpy() for part in parts])


@dataclass(frozen=True)
class LearnedMachine:
    """A machine that was accepted: it is that of any language with at most `classes` classes that gave the labels."""

    machine: AnyMachine
    classes: int


class AnswerLearner:
    """Learns machines from the answers of a network in training, and counts the labels that it uses.

    Proposals are refined on one set of labelled words, the same every time, and accepted on a fresh set and on those
    that tell them from other machines. `counterexamples` are words of the latter that showed a proposal to be wrong.
    `wrong` are words that the network has wrong: the last counterexample, if it has that wrong, too, and those of the
    membership queries that it got wrong.
    """

    def __init__(self, data: LanguageData, seed: int):
        self.data, self.seed, self.fresh, self.compared, self.queried = data, seed, 0, 0, 0
        self.counterexamples: list[Word] = []
        self.wrong: list[Word] = []
        self.asking: LStar | None = None
        self.missed: list[Word] = []

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
        """The machine of the network's answers, if it is right on all words it is held against; else None."""
        training = model.training
        network = NetworkAnswers(model.eval(), self.data.options.train_len, self.data.tree_task)
        try:
            return self.accepted(network)
        except Unbounded:
            return None
        finally:
            model.train(training)

    def accepted(self, network: NetworkAnswers) -> LearnedMachine | None:
        """As `learned`. Raises Unbounded where the network's answers need too many states."""
        task = self.data.tree_task
        self.wrong = HeldOut.label(task, batches(sorted(self.wrong, key=len))).wrong(network)
        if isinstance(task, NestedTask) and not self.may_be_learned(network):
            return None
        while True:
            known = HeldOut.label(task, batches(self.counterexamples))
            self.asking = lstar(task, network.to_words)
            proposed = propose(self.asking, task.alphabet, task.output_names, self.first + known)
            if proposed is None:
                return None
            self.fresh += 1
            if HeldOut.draw(self.data, self.seed, self.fresh).wrong(proposed.answers):
                return None
            compared, classes = self.ruling_out(proposed)
            self.compared += compared.count
            if not (wrong := compared.wrong(proposed.answers)):
                return LearnedMachine(proposed, classes)
            better = first_parting(network, proposed.answers, batches(wrong))
            self.counterexamples.append(wrong[0] if better is None else better)
            self.wrong = [wrong[0]] if better is None else []
            if better is None:
                return None

    def may_be_learned(self, network: NetworkAnswers) -> bool:
        """Whether a network has nearly all short words with brackets right; of another, L* would only split elements.

        That costs far more than these words, where everything may stand beside everything.
        """
        short = self.first.up_to(NEAR)
        self.asking, self.missed = None, short.wrong(network)
        return len(self.missed) <= MOST_MISSED * short.count

    def query_language(self) -> None:
        """Query the language on up to 2,048 of L*'s words; keep those that the network got wrong.

        Of a network that L* was not asked about, the short words that it has wrong, whose answers are known, are kept.
        """
        if self.asking is None:
            self.wrong = list(dict.fromkeys([*self.missed, *self.wrong]))[:MOST_QUERIES]
            return
        queried = [word for word in self.asking.known if word]
        chosen = rng(self.seed, "looked up", self.queried).permutation(len(queried))[:MOST_QUERIES]
        labelled = HeldOut.label(self.data.tree_task, batches(sorted((queried[i] for i in chosen), key=len)))
        self.queried += labelled.count
        self.wrong = list(dict.fromkeys([*labelled.wrong(self.asking.batch), *self.wrong]))[:MOST_QUERIES]

    def recalled(self, machine: AnyMachine, model: nn.Module | None = None) -> LearnedMachine | None:
        """A machine that was accepted before, if it is right on the words that rule out others; None if it is not.

        None, too, for one that is not minimal: those words rule out less than they seem to then. Of a machine from a
        file that anyone may have put there, the `model` is asked as well: it must answer these words as the machine
        does, and those that proposals are refined on.
        """
        task = self.data.tree_task
        if not is_of(machine, task):
            return None
        compared, classes = self.ruling_out(machine)
        if compared.wrong(machine.answers):
            return None
        if model is not None:
            network, known = NetworkAnswers(model.eval(), self.data.options.train_len, task), compared + self.first
            if known.wrong(machine.answers) or known.wrong(network):
                return None
        return LearnedMachine(machine, classes)

    def ruling_out(self, machine: AnyMachine) -> tuple[HeldOut, int]:
        """The words that tell the machine from all others of so many classes."""
        longest = self.data.options.train_len
        telling = suite_of(machine, longest)
        return HeldOut.label(self.data.tree_task, telling.words), telling.classes

    def state(self) -> dict[str, Any]:
        words = {"counterexamples": self.counterexamples, "wrong": self.wrong}
        return {"fresh": self.fresh, "compared": self.compared, "queried": self.queried, **words}

    def load(self, state: Mapping[str, Any]) -> None:
        self.fresh, self.compared, self.queried = state["fresh"], state["compared"], state["queried"]
        self.counterexamples = [tuple(word) for word in state["counterexamples"]]
        self.wrong = [tuple(word) for word in state["wrong"]]


def is_of(machine: AnyMachine, task: TreeTask) -> bool:
    """Whether a machine may be one of a task's answers: of its kind, symbols, brackets and outputs, and minimal.

    With brackets it need not be minimal: its algebra is made so.
    """
    if (machine.alphabet, machine.output_names) != (task.alphabet, task.output_names):
        return False
    if isinstance(machine, MooreMachine):
        return isinstance(task, Task) and machine.minimise().n_states == machine.n_states
    try:
        direction = VisiblyPushdown.from_machine(machine).direction
    except AutomatonError:
        return False
    return isinstance(task, NestedTask) and bool((direction == task.visibly.direction).all())


def lstar(task: AnyTask, ask: Ask, most_states: int = MOST_STATES, empty: int | None = None) -> LStar:
    """What proposes machines for a network's answers: with a stack where the words have brackets.

    `empty` is the answer to the empty word where several make a machine without a stack smallest.
    """
    if isinstance(task, NestedTask):
        known = {(): int(task.labels(np.zeros((1, 0), dtype=np.int64))[0])}
        return NestedLearner(task.visibly.direction, ask, MOST_ELEMENTS, known)
    return Learner(task.n_symbols, ask, most_states, empty)


def suite_of(machine: AnyMachine, longest: int) -> Suite:
    """The words that tell a machine, with brackets or without, from all others of so many classes."""
    return nested_suite(machine, longest) if isinstance(machine, PushdownTransducer) else suite(machine, longest)


def propose(
    asking: LStar, alphabet: tuple[str, ...], output_names: tuple[str, ...], held_out: HeldOut
) -> AnyMachine | None:
    """L* until no held-out word is wrong, or none is left on which the network knows better.

    Raises Unbounded where the network's answers need too many states.
    """
    for _ in range(MOST_REFINEMENTS):
        wrong = held_out.wrong_batches(asking.proposed)
        if (better := first_parting(asking.batch, asking.proposed, wrong)) is not None:
            asking.refine(better)
            continue
        return None if held_out.wrong(asking.proposed) else asking.machine(alphabet, output_names)
    return None


def first_parting(network: Query, proposed: Query, wrong: Iterable[Ints]) -> Word | None:
    """The first word (T,) of these batches (n, T) that the network answers otherwise than proposed, None if none is."""
    for batch in wrong:
        at = np.flatnonzero(network(batch) != proposed(batch))
        if len(at):
            return tuple(batch[at[0]].tolist())
    return None
