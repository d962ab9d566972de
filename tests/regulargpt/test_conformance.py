"""Words that tell a machine from all others of so many states: no other machine of that size answers them alike."""

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import languages
from languages.automata import MooreMachine
from languages.automata.pushdown import PushdownTransducer
from languages.automata.semiautomaton import numbered
from regulargpt.certificate.compared import right_machine
from regulargpt.config.recipes import RECIPES
from regulargpt.finite import conformance, from_answers
from regulargpt.finite.conformance import MOST_WORDS, USUAL, suite
from regulargpt.finite.from_answers import MOST_QUERIES, suite_of
from regulargpt.finite.nonempty import counterexample
from tests.regulargpt.test_from_answers import Machine, learner_of, of

Ints = npt.NDArray[np.int64]
NAMES = ("no", "yes")
ROOT = Path(__file__).parents[2]


def machine_of(delta: tuple[int, ...], outputs: tuple[int, ...]) -> MooreMachine:
    """The machine over two symbols with these transitions, row by row, from state 0."""
    Q = len(outputs)
    return MooreMachine(numbered(Q), "01", np.reshape(delta, (Q, 2)), "q0", outputs, NAMES)


@cache
def all_minimal(Q: int, least: int = -1) -> list[MooreMachine]:
    """The minimal machines with so many states, one of each kind, and outputs from `least` to 1."""
    found = (
        machine_of(delta, outputs).minimise()
        for delta in itertools.product(range(Q), repeat=2 * Q)
        for outputs in itertools.product(range(least, 2), repeat=Q)
    )
    return [*{(m.delta, m.outputs): m for m in found if m.n_states == Q}.values()]


def agrees(other: MooreMachine, machine: MooreMachine, words: list[Ints]) -> bool:
    """Whether another machine answers these words as a machine does."""
    return all((other.answers(batch) == machine.answers(batch)).all() for batch in words)


@pytest.mark.parametrize(("usual", "more"), [(1, 0), (40, 1)])
def test_no_other_machine_of_so_many_states_answers_them_alike(usual: int, more: int, monkeypatch: pytest.MonkeyPatch):
    """Machines of one and two states, against all such and a quarter of those of three."""
    monkeypatch.setattr(conformance, "USUAL", usual)
    small, others = [*all_minimal(1), *all_minimal(2)], [*all_minimal(1), *all_minimal(2), *all_minimal(3, 0)[::4]]
    compared = 0
    for machine in small[::11]:
        telling = suite(machine, 40)
        for other in (m for m in others if m.n_states <= telling.classes):
            assert agrees(other, machine, telling.words) == (counterexample(other, machine) is None)
            compared += 1
    assert compared > (1000 if more else 300)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 3))
def test_a_machine_with_a_wrong_transition_or_answer_is_told_apart(seed: int, Q: int, Sigma: int):
    rng = np.random.default_rng(seed)
    table, outputs = rng.integers(Q, size=(Q, Sigma)), rng.integers(-1, 2, size=Q)
    alphabet = tuple("abc"[:Sigma])
    right = MooreMachine(numbered(Q), alphabet, table, "q0", tuple(outputs.tolist()), NAMES).minimise()
    wrong_table, wrong_outputs = right.table.astype(np.int64), right.output_table.copy()
    if rng.integers(2):
        wrong_table[tuple(rng.integers(wrong_table.shape))] = rng.integers(len(wrong_table))
    else:
        wrong_outputs[rng.integers(len(wrong_outputs))] = rng.integers(-1, 2)
    wrong = MooreMachine(right.states, alphabet, wrong_table, "q0", tuple(wrong_outputs.tolist()), NAMES)
    assert agrees(wrong, right, suite(right, 40).words) == (counterexample(wrong, right) is None)


def test_there_is_a_language_with_one_class_more_that_they_do_not_tell():
    """The bound is no smaller than it can be: parity, but for one word longer than all of them."""
    parity = languages.get("parity").machine
    words = suite(parity, 40)
    length = max(batch.shape[1] for batch in words.words)
    assert (words.classes, length) == (12, 12)
    # Counting the ones up to 13, of which the last is another answer, takes 14 states.
    Q = length + 2
    table = [[q, min(q + 1, Q - 1)] for q in range(Q)]
    other = MooreMachine(numbered(Q), "01", table, "q0", [*(q % 2 for q in range(Q - 1)), (Q - 2) % 2], ("even", "odd"))
    assert counterexample(other, parity) is not None
    assert all((other.answers(batch) == parity.answers(batch)).all() for batch in words.words)


@pytest.mark.parametrize("longest", [1, 2, 5, 17])
def test_no_word_is_too_long_and_where_one_would_be_there_are_none(longest: int):
    for name in ("dyck-8", "tomita-3", "modular-arithmetic:plus=true", "prefix:p=2,k=4"):
        found = suite(of(name).minimise(), longest)
        assert all(batch.shape[1] <= longest for batch in found.words)
        assert bool(found.words) == bool(found.classes)
        assert all(len(np.unique(batch, axis=0)) == len(batch) for batch in found.words)


def test_too_many_words_are_not_made(monkeypatch: pytest.MonkeyPatch):
    parity = languages.get("parity").machine
    monkeypatch.setattr(conformance, "USUAL", 2)
    assert suite(parity, 40).classes == 2
    monkeypatch.setattr(conformance, "MOST_WORDS", 2)
    assert (suite(parity, 40).words, suite(parity, 40).classes) == ([], 0)


def proposing(machine: MooreMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """L* proposes this machine at first; no words are drawn that show it to be wrong."""
    real, first = from_answers.propose, [machine]

    def propose(*arguments: Any) -> MooreMachine | None:
        return first.pop() if first else real(*arguments)

    monkeypatch.setattr(from_answers, "propose", propose)
    monkeypatch.setattr(from_answers.HeldOut, "draw", lambda *arguments: from_answers.HeldOut([], []))


def test_nine_brackets_that_are_open_at_once_are_asked_about(monkeypatch: pytest.MonkeyPatch):
    """Words as they are drawn hardly ever show that the ninth is forbidden."""
    learner, too_deep = learner_of("dyck-8"), of("dyck-9")
    proposing(too_deep, monkeypatch)
    assert learner.learned(Machine(too_deep)) is None
    assert learner.wrong == [(0,) * 9 + (1,) * 9]
    assert learner.counterexamples == learner.wrong
    assert learner.compared == sum(map(len, suite(too_deep, 40).words))
    found = learner.learned(Machine(of("dyck-8")))
    assert found is not None
    assert counterexample(found.machine, of("dyck-8")) is None
    assert found.classes > found.machine.n_states
    again = learner_of("dyck-8")
    again.load(learner.state())
    assert (again.labels_used, again.state()) == (learner.labels_used, learner.state())


def test_a_network_that_is_right_where_its_machine_is_not_is_asked_again(monkeypatch: pytest.MonkeyPatch):
    learner = learner_of("dyck-8")
    proposing(of("dyck-7"), monkeypatch)
    found = learner.learned(Machine(of("dyck-8")))
    assert found is not None
    assert counterexample(found.machine, of("dyck-8")) is None
    assert (len(learner.counterexamples) >= 1, learner.wrong, learner.fresh) == (True, [], 2)


def test_words_that_are_no_questions_cost_no_answers():
    name = "modular-arithmetic:plus=true"
    learner, domain = learner_of(name), languages.get(name).domain
    found = learner.learned(Machine(of(name)))
    assert found is not None
    words = suite(found.machine, 40).words
    assert domain is not None
    assert learner.compared == sum(int(domain.accepts(batch).sum()) for batch in words) < sum(map(len, words))


def test_the_page_says_how_many_words_there_are():
    page = " ".join((ROOT / "docs" / "certificate.md").read_text(encoding="utf-8").split())
    parity = suite(of("parity").minimise(), 40)
    words = sum(map(len, parity.words))
    assert f"For `parity`, {words:,} words rule out every other automaton of at most {parity.classes} states." in page
    assert f"k is as large as {USUAL:,} words allow (k = 0: {MOST_WORDS:,})" in page
    assert suite(languages.get("dyck-20").machine, 40).classes == 0
    first = RECIPES["answers"].fields["*"]["phases.table_fine_tuning.membership_queries_from"]
    queries = f"each attempt queries the language on up to {MOST_QUERIES:,} of L"
    assert f"From step {first:,} on (`membership_queries_from`) {queries}" in page


CLASSES = {"tomita-3": 13, "dyck-8": 16, "dyck-12": 19, "modular-arithmetic:plus=true": 52, "prefix:p=4,k=4": 340}
CLASSES |= {"brackets-2": 6, "xml-4": 8, "formula": 28, "json": 31, "arithmetic-brackets": 121}


@pytest.mark.parametrize("name", CLASSES)
def test_what_the_words_of_a_language_rule_out(name: str):
    """With brackets the empty word is among them."""
    machine = right_machine(languages.find(name))
    telling = suite_of(machine, 40)
    assert telling.classes == CLASSES[name]
    assert (telling.words[0].shape == (1, 0)) == isinstance(machine, PushdownTransducer)
    assert all(len(np.unique(batch, axis=0)) == len(batch) for batch in telling.words if batch.shape[1])
