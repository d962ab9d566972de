"""A network of which nothing but answers is known: its machine exactly, and nothing claimed that is not so."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from torch import Tensor, nn

import languages
from languages.automata import MooreMachine
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.budget import TooLarge
from languages.context_free.nested import NestedTask
from languages.drawn import DrawnTask
from languages.errors import LanguageError
from languages.regular.user import task_of
from regulargpt.extraction import black_box
from regulargpt.extraction.answers import FromAnswers, every_short, learn_from_answers, shrunk
from regulargpt.extraction.black_box import compared, learned_from, ruled_out, shortest_wrong
from regulargpt.extraction.queries import Queries, QueriesSpent
from regulargpt.finite import conformance, from_answers
from regulargpt.finite.from_answers import NetworkAnswers, answers_of
from regulargpt.finite.held_out import batches
from regulargpt.finite.lstar import Learner
from regulargpt.finite.nonempty import Word, counterexample
from regulargpt.finite.specification import specified_machine
from tests.regulargpt.machines import machines
from tests.regulargpt.test_conformance import all_minimal
from tests.regulargpt.test_from_answers import Machine, data_of, of

PARITY = languages.get("parity")


def learned(network: nn.Module, spec: str = "parity", seconds: float = 100.0, **fields: Any) -> FromAnswers:
    """What the answers of a network say that is asked for those of a language."""
    words = data_of(spec, **{"data.train_len": 14, **fields})
    return learned_from(NetworkAnswers(network, 14, words.task), words, 0, seconds, lambda asked, most: None)


def other_than(found: MooreMachine, answers: Mapping[Word, int], most: int) -> int:
    """How many machines of at most so many states, of up to three, give these answers but are another machine."""
    words = batches(sorted((word for word in answers if word), key=len))
    right = [np.array([answers[word] for word in map(tuple, batch.tolist())]) for batch in words]
    alike = [
        other
        for states in range(1, min(most, 3) + 1)
        for other in all_minimal(states, 0)[:: 1 if states < 3 else 7]
        if all((other.answers(batch) == given).all() for batch, given in zip(words, right, strict=True))
    ]
    return sum(counterexample(other, found) is not None for other in alike)


@settings(max_examples=25)
@given(machines(most=4))
def test_a_network_that_is_a_machine_gives_it_and_is_asked_about_questions_only(machine: MooreMachine):
    try:
        task = task_of(machine, "planted")
    except LanguageError:  # no word has an answer
        assume(False)
    network, asked = NetworkAnswers(Machine(machine), 9, task), set[Word]()

    def ask(words: Sequence[Word]) -> list[int]:
        asked.update(words)
        return network.to_words(words)

    found = learn_from_answers(task, ask, every_short(task, 3), 9)
    assert found.machine is not None
    assert counterexample(found.machine, specified_machine(task)) is None
    assert found.classes >= found.machine.n_states - 1
    assert (found.reason, found.every) == ("", 3)
    assert found.queries == sum(bool(task.questions([word])[0]) for word in asked)


def test_what_is_ruled_out_is_true_of_all_small_machines(monkeypatch: pytest.MonkeyPatch):
    """Were the words that tell the machine from others not asked, others would give the answers, too."""
    monkeypatch.setattr(conformance, "USUAL", 60)
    few = 0
    for machine in [*all_minimal(1, 0), *all_minimal(2, 0)[::3], *all_minimal(3, 0)[::300]]:
        task = task_of(machine, "planted")
        found = learn_from_answers(task, NetworkAnswers(Machine(machine), 14, task).to_words, [], 14)
        assert isinstance(found.machine, MooreMachine)
        assert found.classes > found.machine.n_states - 1
        assert other_than(found.machine, found.answers, found.classes) == 0
        silent = Learner(2, NetworkAnswers(Machine(machine), 14, task).to_words, 9)
        silent.hypothesis  # noqa: B018
        few += other_than(found.machine, silent.known, found.classes) > 0
    assert few > 5


def test_a_network_that_is_a_larger_machine_is_not_what_is_ruled_out():
    """A sentence about at most 12 states says nothing of this one, of more: it is parity up to 14 symbols only."""
    found = learned(Machine(of("parity"), knows=14))
    assert found.machine is not None
    assert counterexample(found.machine, of("parity")) is None
    assert found.classes == 12
    assert ruled_out(found.classes, PARITY)[0].startswith("if the network is a machine of at most 12 states")
    longer = learned(Machine(of("parity"), knows=12))
    assert (longer.machine, longer.classes) == (None, 0)
    assert longer.reason == "words of more than 14 symbols would have to tell its states apart"
    assert (longer.so_far, 0.8 < longer.agreement < 1) == (2, True)
    wrong = shortest_wrong(longer, PARITY)
    assert wrong is not None
    assert (len(wrong), sum(wrong) % 2) == (13, 1)


def test_a_network_of_too_many_states_is_said_to_be_so():
    counting = MooreMachine(
        [f"{q}" for q in range(9)], "01", [((q + 1) % 9, q) for q in range(9)], "0", [q == 0 for q in range(9)], "ab"
    )
    task = task_of(counting, "planted")
    network = NetworkAnswers(Machine(counting), 14, task)
    found = learn_from_answers(task, network.to_words, every_short(task, 5), 14, most_states=5)
    assert (found.machine, found.classes, found.reason) == (None, 0, "its answers need more than 5 states")
    assert found.so_far <= 5
    exact = learn_from_answers(task, replace(network, longest=20).to_words, every_short(task, 5), 20, most_states=10)
    assert exact.machine is not None
    assert exact.machine.n_states == 9


class Clock:
    """A second passes whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.mark.parametrize("spec", ["parity", "tomita-3", "brackets-1"])
def test_whatever_the_budget_nothing_is_claimed_that_was_not_tried(spec: str):
    """Stopped after any number of questions: no machine, or one that gives all answers, and rules out nothing early."""
    task = languages.find(spec)
    network = NetworkAnswers(Machine(task.machine), 10, task)
    words = every_short(task, 4)
    whole = learn_from_answers(task, network.to_words, words, 10)
    assert whole.classes
    stopped = 0
    for seconds in range(60):
        asking = Queries(network, seconds, clock=Clock())
        found = learn_from_answers(task, asking, words, 10)
        if not found.reason:
            assert (found.classes, found.answers) == (whole.classes, whole.answers)
            break
        assert (found.reason, found.classes) == (f"{seconds} seconds were not enough to ask it", 0)
        stopped += 1
        if found.machine is not None:
            given = [(word, answer) for word, answer in found.answers.items() if word]
            assert all(found.machine.answers(np.array([word]))[0] == answer for word, answer in given)
    assert stopped > 2


def test_answers_are_kept_while_there_is_room():
    network = NetworkAnswers(Machine(of("parity")), 40, PARITY)
    asking = Queries(network, 100, most=200)
    assert asking([(0, 1), (1, 1)]) == [1, 0]
    with pytest.raises(QueriesSpent, match="the answers that may be kept are not enough"):
        asking([(0,) * 40] * 4)


def test_a_word_is_shrunk_to_what_is_wrong_in_it():
    network = NetworkAnswers(Machine(of("tomita-4")), 40, languages.get("tomita-4"))
    learner = Learner(2, network.to_words, 9)
    assert shrunk(learner, (1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0)) == (0, 0, 0)  # so far every word is accepted


@pytest.mark.parametrize("name", ["brackets-2", "arithmetic-brackets", "marked-reversal"])
def test_above_the_regular_languages(name: str):
    task = languages.find(name)
    found = learned(Machine(task.machine), name, **{"data.train_len": 14})
    if isinstance(task, DrawnTask):  # no finite machine is it, and the words go no further
        assert found.machine is None
        assert compared(found, task, lambda word: None) == {"equal": None, "counterexample": None}
        return
    assert isinstance(found.machine, PushdownTransducer)
    assert isinstance(task, NestedTask)
    assert VisiblyPushdown.from_machine(found.machine).counterexample(task.visibly) is None
    assert ruled_out(found.classes, task)[0].endswith(f"at most {found.classes} elements, they are this machine's")


def test_what_is_too_large_to_compare_is_compared_by_its_answers(monkeypatch: pytest.MonkeyPatch):
    def too_large(*machines: Any) -> None:
        raise TooLarge("an algebra of 9,000 elements")

    task, found = languages.find("brackets-1"), learned(Machine(languages.find("brackets-1").machine), "brackets-1")
    for name in ("parting_word", "minimal_algebra"):
        monkeypatch.setattr(black_box, name, too_large)
    assert black_box.described(found, task)["algebra"] is None
    assert compared(found, task, lambda word: None) == {"equal": None, "counterexample": None}
    other = languages.find("brackets-1:bound=2")
    assert compared(found, other, lambda word: 1)["counterexample"] == {
        **{"word": "((()))", "shortest": True, "machine": "accept", "network": "accept", "task": "reject"}
    }


def test_a_wrong_machine_is_told_apart_and_the_network_asked_again():
    found = learned(Machine(of("even-pairs")))
    asked: list[tuple[int, ...]] = []

    def replay(word: tuple[int, ...]) -> int:
        asked.append(word)
        return 1

    said = compared(found, PARITY, replay)
    assert (said["equal"], len(asked)) == (False, 1)
    assert said["counterexample"].pop("word") == "".join(map(str, asked[0]))
    assert said["counterexample"] == {"shortest": True, "machine": "even", "network": "odd", "task": "odd"}


class Attends(nn.Module):
    """Counts how many words come at once."""

    quadratic = True

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.most = nn.Parameter(torch.zeros(1)), 0

    def forward(self, words: Tensor) -> Tensor:
        self.most = max(self.most, len(words) * words.shape[1] ** 2)
        return nn.functional.one_hot(words[:, 0].long(), 2)


def test_attention_takes_no_more_words_at_once_than_its_pairs_allow(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(from_answers, "MOST_PAIRS", 500)
    network, words = Attends(), np.array([*itertools.product((0, 1), repeat=7)])
    assert (answers_of(network, words) == words[:, 0]).all()
    assert network.most <= 500
