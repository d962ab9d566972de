"""The machine that a stack network is: its states are exact, so there is nothing to cluster, only to merge."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from languages.automata.pushdown import POP, Move, PushdownTransducer
from languages.automata.semiautomaton import numbered
from languages.errors import Notice, UserError
from regulargpt.certificate.stack.search import machine_of, network_of
from regulargpt.certificate.verdict import has_changed
from regulargpt.config.schema import RunConfig
from regulargpt.data import of_words
from regulargpt.finite.stack_product import BOTTOM, NONE, Case, Proven, StackProduct, UndecidedProduct, Word
from regulargpt.models.stack_rnn.model import StackRnn
from regulargpt.runs.load import load_model
from regulargpt.runs.opened import refuse_other_symbols
from regulargpt.storage.folder import RunFolder

MOST_WORK = 2**26  # states times entries that are compared to merge states
Table = dict[Case, tuple[int, int]]


@dataclass(frozen=True)
class StackExtraction:
    """The machine, of how many states of the network and entries of its table it is made, the lag, and a shortest word
    that the network answers otherwise than the language, with its answer; None if there is none."""

    machine: PushdownTransducer
    states: int
    entries: int
    lag: int
    word: Word | None
    given: int | None


def extract_stack(folder: RunFolder, config: RunConfig) -> dict[str, Any]:
    """The machine of a finished run of a stack network, as `machine`, and what is said of it.

    UserError: the language has other symbols than the run was trained on, or the network's stack lags too far behind
    that of the language for its table to be known.
    """
    words = of_words(config.data)
    refuse_other_symbols(folder, words)
    task, model = words.task, load_model(folder)
    assert isinstance(model, StackRnn), "the command refuses other networks"
    if has_changed(folder, task):
        warnings.warn(f"{task.name} is no longer the automaton that the run was trained on", Notice, stacklevel=2)
    extraction = extraction_of(model, machine_of(task))
    names, differs = {-1: None, **dict(enumerate(task.output_names))}, None
    if extraction.word is not None:
        right = int(task.machine.answers(np.array([extraction.word]))[0])
        differs = {
            "word": task.machine.decode(extraction.word),
            "network": names[extraction.given or 0],
            "task": names[right],
        }
    return {
        "machine": extraction.machine,
        "states": extraction.machine.n_states,
        "stack_symbols": len(extraction.machine.stack),
        "network_states": extraction.states,
        "entries": extraction.entries,
        "lag": extraction.lag,
        "equal": extraction.word is None,
        "counterexample": differs,
    }


def extraction_of(model: StackRnn, reference: PushdownTransducer) -> StackExtraction:
    """The network's machine on the words that a reference has moves for."""
    network = network_of(model)
    product = StackProduct(network, reference, wanted=0)
    verdict = product.run()
    if isinstance(verdict, UndecidedProduct) or product.doubt is not None or len(product.of) > product.limit:
        reason = (
            product.doubt.reason
            if product.doubt
            else verdict.reason
            if isinstance(verdict, UndecidedProduct)
            else "too large"
        )
        raise UserError(f"the network's table is not known: {reason}")
    answering = {control.p for _, control in product.of if reference.outputs[control.q] >= 0}
    answers = {state: network.answer(state) for state in answering}
    machine = as_transducer(product.table, answers, network.start, reference)
    word = None if isinstance(verdict, Proven) else verdict.word
    given = None if word is None else int(machine.answers(np.array([word]))[0])
    return StackExtraction(machine, network.n_states - 1, len(product.table), product.lag, word, given)


def as_transducer(
    table: Table, answers: dict[int, int], start: int, reference: PushdownTransducer
) -> PushdownTransducer:
    """The machine of a table, with a reference's symbols and answers, states merged where nothing speaks against it."""
    table = merged(table, answers, start)
    states = list(dict.fromkeys([start, *(p for p, _ in table.values())]))
    name = dict(zip(states, numbered(len(states)), strict=True))
    tops: dict[tuple[int, int, int, int], list[str | None]] = {}
    for (p, x, top), (to, action) in table.items():
        kind = POP if action == POP and top != BOTTOM else action if action >= 0 else NONE
        tops.setdefault((p, x, to, kind), []).append(None if top == BOTTOM else name[top])
    moves = [
        Move(name[p], reference.alphabet[x], name[to], tuple(at), name[kind] if kind >= 0 else None, kind == POP)
        for (p, x, to, kind), at in tops.items()
    ]
    outputs = {name[p]: reference.output_names[answers[p]] if p in answers else None for p in states}
    return PushdownTransducer.from_outputs(reference.alphabet, name[start], moves, outputs, reference.output_names)


def merged(table: Table, answers: dict[int, int], start: int) -> Table:
    """The table over classes of states, each named by its first, and `answers` by these.

    A state joins the first class with which nothing differs: no answer, no action, and no successors that may not be
    joined, too. What does not occur says nothing. So the classes are no fewest, but as a machine they are the same.
    """
    states = list(dict.fromkeys([start, *(p for p, _ in table.values())]))
    if len(states) * len(table) > MOST_WORK:
        return table
    classes, roots = Classes(table, answers, states), list[int]()
    for state in states:
        if classes.first(state) == state and not any(classes.join(root, state) for root in roots):
            roots.append(state)
    answers.update({classes.first(p): answer for p, answer in list(answers.items())})
    return {
        (classes.first(p), x, top if top == BOTTOM else classes.first(top)): (
            classes.first(to),
            classes.first(action) if action >= 0 else action,
        )
        for (p, x, top), (to, action) in table.items()
    }


class Classes:
    """Classes of states, joined where nothing speaks against it."""

    def __init__(self, table: Table, answers: dict[int, int], states: Iterable[int]):
        self.table, self.answers = table, answers
        self.order = {state: n for n, state in enumerate(states)}
        self.parent: dict[int, int] = {}

    def first(self, state: int) -> int:
        """The first of its class."""
        while state in self.parent:
            state = self.parent[state]
        return state

    def join(self, state: int, other: int) -> bool:
        """Whether two states may be joined; then they are, with all that follows from it."""
        before, todo = dict(self.parent), [(state, other)]
        while todo:
            for a, b in todo:
                first, second = sorted((self.first(a), self.first(b)), key=self.order.__getitem__)
                if first != second:
                    self.parent[second] = first
            todo = list(self.differing(self.first))
            if any(a != b for a, b in todo if a < 0 or b < 0) or self.contradicts():
                self.parent = before
                return False
        return True

    def differing(self, of: Callable[[int], int]) -> Iterable[tuple[int, int]]:
        """Pairs of targets, and of actions, that one case leads to; an action below 0 is no state."""
        known: dict[Case, tuple[int, int]] = {}
        for (p, x, top), (to, action) in self.table.items():
            case = of(p), x, top if top == BOTTOM else of(top)
            mine = of(to), action if action < 0 else of(action)
            for a, b in zip(known.setdefault(case, mine), mine, strict=True):
                if a != b:
                    yield a, b

    def contradicts(self) -> bool:
        """Whether a class has two answers."""
        known: dict[int, int] = {}
        return any(known.setdefault(self.first(p), answer) != answer for p, answer in self.answers.items())
