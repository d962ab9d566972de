"""Words that tell a machine with brackets from all others of so many classes."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from languages.automata.algebra import NestedAlgebra
from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.budget import VARIABLE
from languages.errors import AutomatonError
from regulargpt.finite import nested_conformance
from regulargpt.finite.nested_conformance import nested_suite
from tests.languages.test_context_free import nested

NAMES = ("no", "yes")


def random_machine(rng: np.random.Generator, alphabet: str) -> PushdownTransducer:
    """A machine of 1..3 states and 1 or 2 stack symbols, with or without holes."""
    states, stack, hole = "pqr"[: rng.integers(1, 4)], "gh"[: rng.integers(1, 3)], rng.choice([0, 0.2])

    def moves() -> Iterator[Move]:
        cases = [(q, a, top) for q in states for a in alphabet for top in ([*stack, None] if a in ")]" else [None])]
        for q, a, top in cases:
            if rng.random() >= hole:
                push = rng.choice([*stack]) if a in "([" else None
                tops = (top,) if a in ")]" else ()
                yield Move(q, a, str(rng.choice([*states])), tops, push and str(push), pop=top is not None)

    outputs = {q: (None, *NAMES)[rng.integers(0 if hole else 1, 3)] for q in states}
    return PushdownTransducer.from_outputs(tuple(alphabet), "p", tuple(moves()), outputs, NAMES)


def changed(machine: PushdownTransducer) -> Iterator[PushdownTransducer]:
    """The machines with another target of one move, or another answer of one state."""
    for i, move in enumerate(machine.moves):
        for q in machine.states:
            yield replace(machine, moves=(*machine.moves[:i], replace(move, target=q), *machine.moves[i + 1 :]))
    for i, answer in enumerate(machine.outputs):
        for other in {-1, 0, 1} - {answer}:
            yield replace(machine, outputs=(*machine.outputs[:i], other, *machine.outputs[i + 1 :]))


@cache
def small_machines(alphabet: str) -> list[PushdownTransducer]:
    """Machines of at most 12 classes."""
    rng, found, direction = (
        np.random.default_rng(5),
        list[PushdownTransducer](),
        [{"(": 1, ")": -1}.get(a, 0) for a in alphabet],
    )
    while len(found) < 100:
        with suppress(AutomatonError):  # a stack symbol that nothing pushes
            visibly = VisiblyPushdown.from_machine(machine := random_machine(rng, alphabet))
            if visibly.direction.tolist() == direction and NestedAlgebra.from_machine(visibly).minimal().size <= 12:
                found.append(machine)
    return found


def missed(alphabet: str) -> list[int]:
    """Of machines that are others, and answer all words as the one does from which they were changed: the classes above
    those that the words are said to be enough for."""
    found = list[int]()
    for machine in small_machines(alphabet):
        words, right = nested_suite(machine, 60), VisiblyPushdown.from_machine(machine)
        answers = [machine.answers(batch) for batch in words.words]
        for other in changed(machine):
            if all((other.answers(batch) == of).all() for batch, of in zip(words.words, answers, strict=True)):
                left = VisiblyPushdown.from_machine(other)
                if right.counterexample(left) is not None:
                    found.append(NestedAlgebra.from_machine(left).minimal().size - words.classes)
    return found


@pytest.mark.parametrize("usual", [0, nested_conformance.USUAL])
def test_no_other_language_of_so_many_classes_answers_them_alike(usual: int, monkeypatch: pytest.MonkeyPatch):
    """For n classes, and for n + 1."""
    monkeypatch.setattr(nested_conformance, "USUAL", usual)
    assert all(more > 0 for more in missed("()x"))


LESS = {
    "first_words": lambda of: (
        lambda algebra: {word: e for word, e in of(algebra).items() if word in algebra.least or len(word) == 1}
    ),
    "distinguishing_contexts": lambda of: lambda algebra: {kind: found[:1] for kind, found in of(algebra).items()},
    "after_steps": lambda of: lambda *arguments: set(),
}


@pytest.mark.parametrize("part", LESS)
def test_without_a_part_of_the_words_one_does(part: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nested_conformance, part, LESS[part](getattr(nested_conformance, part)))
    if part != "after_steps":  # which are words of the other parts, too
        monkeypatch.setattr(nested_conformance, "USUAL", 0)
    assert min(missed("()x")) <= 0


@pytest.mark.parametrize(("longest", "classes"), [(3, 0), (4, 5), (7, 5), (8, 6)])
def test_where_words_would_be_too_long_the_others_rule_out_nothing(longest: int, classes: int):
    found, whole = (nested_suite(nested("brackets-2").machine, most) for most in (longest, 40))
    assert found.classes == classes
    assert found.words
    assert all(batch.shape[1] <= longest for batch in found.words)
    assert all(of.tolist() in [batch.tolist() for batch in whole.words] for of in found.words) == (classes == 6)


def test_too_many_words_are_not_made(monkeypatch: pytest.MonkeyPatch):
    machine = nested("brackets-2").machine
    monkeypatch.setattr(nested_conformance, "USUAL", 100)
    assert nested_suite(machine, 40).classes == 5
    monkeypatch.setattr(nested_conformance, "MOST_WORDS", 150)
    few = nested_suite(nested("xml-4").machine, 40)
    assert (0 < sum(map(len, few.words)) <= 100, few.classes) == (True, 0)
    monkeypatch.setattr(nested_conformance, "MOST_WORDS", 10)
    assert nested_suite(machine, 40).words == []
    monkeypatch.undo()
    monkeypatch.setenv(VARIABLE, "0.001")
    assert nested_suite(machine, 40).classes == 0
