"""The machine with brackets behind a network's answers, learned without the automaton."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from languages.automata.algebra import NestedAlgebra
from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.context_free.nested import NestedTask
from languages.convert import machines
from languages.convert.pushdown import to_json
from regulargpt.certificate.tuning.target import saved_machine
from regulargpt.config.schema import RunConfig
from regulargpt.data import of_words
from regulargpt.finite import from_answers
from regulargpt.finite.from_answers import AnswerLearner, NetworkAnswers, ragged_answers
from regulargpt.finite.held_out import SHORT, HeldOut
from regulargpt.finite.lstar import Unbounded
from regulargpt.models.regulargpt import RegularGPT
from tests.languages.test_context_free import nested


class Machine(nn.Module):
    """A network that answers as a machine does, but for words longer than `knows`, and some others: there it is one
    off."""

    def __init__(self, machine: PushdownTransducer, knows: int = 16, but: Any = lambda word: False):
        super().__init__()
        self.machine, self.knows, self.but, self.weight = machine, knows, but, nn.Parameter(torch.zeros(1))
        self.asked: set[tuple[int, ...]] = set()

    def forward(self, words: Tensor) -> Tensor:
        assert words.shape[1], "no network reads the empty word"
        told = [tuple(word) for word in words.tolist()]
        self.asked.update(told)
        off = np.array([len(word) > self.knows or self.but(word) for word in told], dtype=np.int64)
        answers = (self.machine.answers(words.numpy()) + off) % len(self.machine.output_names)
        return nn.functional.one_hot(torch.from_numpy(answers).long(), len(self.machine.output_names)).double()


def learner_of(spec: str, train_len: int = 16) -> AnswerLearner:
    return AnswerLearner(of_words(RunConfig().replaced({"data.name": spec, "data.train_len": train_len}).data), seed=0)


def differs(found: Any, task: NestedTask) -> str | None:
    return VisiblyPushdown.from_machine(found).counterexample(task.visibly)


@pytest.fixture(scope="module")
def with_holes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Words of brackets that may stay open, or close nothing at first, at most two deep with an x inside: how many
    are open, and no x is a question at the top."""
    moves = [
        *(Move("top", b, "top", (None,)) for b in ")"),
        Move("top", "(", "one", push="first"),
        Move("one", "(", "two", push="second"),
        Move("one", "x", "one"),
        Move("two", "x", "two"),
        Move("one", ")", "top", ("first",), pop=True),
        Move("two", ")", "one", ("second",), pop=True),
    ]
    outputs = {"top": "none", "one": "one", "two": "two"}
    machine = PushdownTransducer.from_outputs(("(", ")", "x"), "top", moves, outputs, ("none", "one", "two"))
    path = tmp_path_factory.mktemp("pushdown") / "holes.json"
    path.write_text(to_json(machine), encoding="utf-8")
    return f"pushdown:{path}"


@pytest.mark.parametrize(
    ("spec", "knows"),
    [
        ("brackets-2", 12),
        ("formula", 16),
        ("formula", 13),
        ("arithmetic-brackets", 13),
        ("reversal-2", 16),
        ("holes", 16),
    ],
)
def test_a_network_that_is_right_gives_the_machine(spec: str, knows: int, with_holes: str):
    """Short words are enough."""
    learner = learner_of(with_holes if spec == "holes" else spec)
    task = learner.data.task
    assert isinstance(task, NestedTask)
    network = Machine(task.machine, knows)
    found = learner.learned(network)
    assert found is not None
    assert differs(found.machine, task) is None
    assert found.classes >= NestedAlgebra.from_machine(task.visibly).minimal().size
    # Which words are questions is told; others are not asked, nor any that are too long.
    assert all(task.labels(np.array([word]))[0] >= 0 for word in list(network.asked)[::7])
    assert max(map(len, network.asked)) <= 16
    assert network.training  # as it was
    again = learner_of(learner.data.name)
    again.load(json.loads(json.dumps(learner.state())))
    assert (again.labels_used, again.state()) == (learner.labels_used, learner.state())
    assert again.recalled(found.machine, Machine(task.machine)) == found
    assert (again.recalled(found.machine, network) == found) == (knows == 16)
    assert again.recalled(nested("json").machine) is None


def test_half_of_the_words_are_drawn_by_depth():
    """Uniform ones of twelve symbols are hardly ever six deep."""
    words = HeldOut.draw(learner_of("brackets-2", 12).data, 0, 0).words[11]
    assert ((words[:, :6] % 2 == 0) & (words[:, 6:] % 2 == 1)).all(1).sum() > 4


@pytest.mark.parametrize("spec", ["brackets-2", "formula", "arithmetic-brackets"])
def test_all_short_questions_are_among_the_words(spec: str):
    task, short = nested(spec), HeldOut.short(learner_of(spec).data)
    of_length = {batch.shape[1]: batch for batch in short.words}
    assert (0 in of_length) == (task.labels(np.zeros((1, 0), dtype=int))[0] >= 0)
    assert all(len(np.unique(batch, axis=0)) == len(batch) for batch in short.words[1:])
    assert all((right >= 0).all() for right in short.answers)
    for length in range(1, 17):
        count = task.grammar.count(length)
        every = task.n_symbols**length if task.sampling == "balanced" else np.inf
        if min(count or np.inf, every) > SHORT:
            assert length not in of_length
        elif every <= SHORT:
            assert len(of_length[length]) == every
        else:
            assert len(of_length[length]) == round(count)


def test_a_network_that_is_plainly_wrong_is_not_asked_by_l_star():
    learner, task = learner_of("brackets-2"), nested("brackets-2")
    network = Machine(task.machine, but=lambda word: hash(word) % 3 == 0)
    assert learner.learned(network) is None
    assert (learner.asking, learner.fresh, learner.wrong) == (None, 0, [])
    used, asked = learner.labels_used, set(network.asked)
    assert max(map(len, asked)) <= from_answers.NEAR
    # What it has wrong is known: no more answers are needed to train on.
    learner.query_language()
    assert 0 < len(learner.wrong) <= from_answers.MOST_QUERIES
    assert set(learner.wrong) <= asked
    assert all(network(torch.tensor([word])).argmax().item() != task.labels([word])[0] for word in learner.wrong[::99])
    assert learner.labels_used == used
    assert learner.learned(Machine(task.machine)) is not None
    assert learner.wrong == []


def test_a_network_that_is_wrong_on_one_word_gives_no_wrong_machine():
    """One of L*'s own questions: an element too many, or a product that is another one."""
    learner, task = learner_of("xml-1"), nested("xml-1")
    assert learner.learned(Machine(task.machine)) is not None
    assert learner.asking is not None
    refused = 0
    for word in sorted(learner.asking.known, key=len)[1::9]:
        network, again = Machine(task.machine, but=word.__eq__), learner_of("xml-1")
        found = again.learned(network)
        assert found is None or differs(found.machine, task) is None
        if found is None:
            again.query_language()
            assert again.wrong == [word]
            refused += 1
    assert refused > 1


def test_a_machine_that_the_drawn_words_do_not_tell_is_told_by_those_of_the_suite(monkeypatch: pytest.MonkeyPatch):
    learner, task, bounded = learner_of("brackets-2", 40), nested("brackets-2"), nested("brackets-2:bound=5").machine
    first = [bounded]
    real = from_answers.propose
    monkeypatch.setattr(from_answers, "propose", lambda *arguments: first.pop() if first else real(*arguments))
    monkeypatch.setattr(from_answers.HeldOut, "draw", lambda *arguments: HeldOut([], []))
    found = learner.learned(Machine(task.machine))
    assert found is not None
    assert differs(found.machine, task) is None
    assert (len(learner.counterexamples), learner.wrong) == (1, [])
    (word,) = learner.counterexamples
    assert bounded.answers(np.array(word)) != task.machine.answers(np.array(word))
    # Of a network that has it wrong, too, the word is kept to train on.
    first, learner = [bounded], learner_of("brackets-2", 40)
    assert learner.learned(Machine(bounded, 40)) is None
    assert learner.wrong == learner.counterexamples == [word]


def test_no_word_too_long_is_asked_and_the_empty_one_is_told():
    task = nested("brackets-2")
    network = Machine(task.machine)
    answers = NetworkAnswers(network, longest=4, task=task)
    assert answers(np.zeros((1, 0), dtype=np.int64)).tolist() == [1]
    assert network.asked == set()
    with pytest.raises(Unbounded):
        answers(np.zeros((1, 5), dtype=np.int64))


def test_what_needs_too_many_elements_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(from_answers, "MOST_ELEMENTS", 20)
    assert learner_of("arithmetic-brackets").learned(Machine(nested("arithmetic-brackets").machine)) is None


def test_a_tree_along_brackets_reads_words_of_all_lengths_at_once():
    learner, generator = learner_of("formula"), torch.Generator().manual_seed(0)
    model = RegularGPT(7, 12, d_model=8, n_heads=2, d_ff=8, generator=generator).double().eval()
    model.follow(nested("formula").visibly.direction.tolist())
    words = [tuple(word) for batch in HeldOut.short(learner.data).words for word in batch.tolist()][::5]
    plainly = [int(model(torch.tensor([word])).argmax()) for word in words]
    assert len(set(plainly)) > 1
    assert ragged_answers(model, words) == plainly


def test_what_was_learned_is_read_as_it_was_saved():
    found = learner_of("reversal-2").learned(Machine(nested("reversal-2").machine))
    assert found is not None
    assert saved_machine({"machine": machines.to_json(found.machine)}) == found.machine
