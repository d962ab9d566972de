"""The machine behind a network's answers, learned without the automaton, and the training that uses it."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import languages
from languages.automata import Dfa, MooreMachine
from languages.convert.json_text import to_json
from languages.convert.machines import AnyMachine
from languages.errors import UserError
from regulargpt.api import verify
from regulargpt.certificate.compared import against, automaton_of, right_machine
from regulargpt.certificate.outcome import compared, errs_on, shortest_wrong
from regulargpt.certificate.proof_phase import Seeking
from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.sentences import sentences
from regulargpt.config.schema import RunConfig
from regulargpt.data import of_words
from regulargpt.data.language import LanguageData
from regulargpt.finite import from_answers
from regulargpt.finite.conformance import suite
from regulargpt.finite.from_answers import (
    MOST_QUERIES,
    AnswerLearner,
    LearnedMachine,
    NetworkAnswers,
    answers_of,
    suite_of,
)
from regulargpt.finite.held_out import HELD_OUT, HeldOut, labels
from regulargpt.finite.lstar import Unbounded
from regulargpt.finite.nonempty import counterexample
from regulargpt.finite.specification import specified_machine
from regulargpt.models.tree.base import Tree
from regulargpt.runs.certify import learned_machine
from regulargpt.runs.load import load_model
from regulargpt.runs.run import Watch, resume, run
from regulargpt.storage.folder import RunFolder
from regulargpt.training.trainer import Trainer
from tests.regulargpt.small import COMMON, trainer_of
from tests.regulargpt.tuning import exact_model, phase_of, strategy_of, train


class Machine(nn.Module):
    """A network that answers as a machine does, but for words longer than `knows`: there it answers 0."""

    def __init__(self, machine: AnyMachine, knows: int = 40):
        super().__init__()
        self.machine, self.knows, self.weight = machine, knows, nn.Parameter(torch.zeros(1))
        self.asked: list[int] = []

    def forward(self, words: Tensor) -> Tensor:
        self.asked.append(words.shape[1])
        answers = np.maximum(self.machine.answers(words.numpy()), 0) * (words.shape[1] <= self.knows)
        return nn.functional.one_hot(torch.from_numpy(answers).long(), len(self.machine.output_names)).double()


def of(spec: str) -> MooreMachine:
    """The machine of a language."""
    return specified_machine(languages.get(spec))


def data_of(spec: str, **fields: Any) -> LanguageData:
    return of_words(RunConfig().replaced({"data.name": spec, **fields}).data)


def learner_of(spec: str) -> AnswerLearner:
    return AnswerLearner(data_of(spec), seed=0)


LANGUAGES = ["parity", "cycle-navigation", "even-pairs", "tomita-3", "tomita-5", "modular-arithmetic:plus=true"]


@pytest.mark.parametrize("knows", [40, 12])
@pytest.mark.parametrize("spec", [*LANGUAGES, "aa-star", "dyck-4:depth=every", "regex:(ab)*", "symmetric-3"])
def test_a_network_that_is_right_gives_the_automaton(spec: str, knows: int):
    """Short words are enough."""
    network = Machine(of(spec), knows)
    found = learner_of(spec).learned(network)
    assert found is not None
    assert counterexample(found.machine, of(spec)) is None
    assert found.classes >= found.machine.n_states - 1  # an initial state to which no word leads is none
    assert max(network.asked) <= 40
    assert network.training  # as it was


@pytest.mark.parametrize(
    ("spec", "other"), [("tomita-3", "tomita-4"), ("tomita-5", "tomita-6"), ("parity", "even-pairs")]
)
def test_a_network_that_knows_another_language_gives_none(spec: str, other: str):
    learner = learner_of(spec)
    assert of(other).alphabet == of(spec).alphabet
    assert learner.learned(Machine(of(other))) is None
    assert learner.fresh == 0  # refused on the first words: none of the others were used


def test_a_network_without_any_rule_gives_none():
    class Hash(Machine):
        def forward(self, words: Tensor) -> Tensor:
            numbers = (words * 2654435761 ** torch.arange(1, 1 + words.shape[1]) % 1_000_003).sum(1)
            return nn.functional.one_hot(numbers % 2, 2).double()

    assert learner_of("parity").learned(Hash(of("parity"))) is None


@pytest.mark.parametrize("spec", ["cycle-navigation", "brackets-2"])
def test_the_words_it_is_told_are_counted_and_never_too_long(spec: str):
    data = data_of(spec, **{"data.train_len": 12})
    learner, machine = AnswerLearner(data, seed=3), right_machine(data.tree_task)
    assert learner.learned(Machine(machine)) is not None
    drawn = [HeldOut.draw(data, 3, number) for number in (0, 1)]
    short = HeldOut.short(data)
    assert learner.labels_used == short.count + sum(held_out.count for held_out in drawn) + learner.compared
    assert learner.compared == sum(map(len, suite_of(machine, 12).words))
    assert all(HELD_OUT <= held_out.count < HELD_OUT + 12 for held_out in drawn)
    assert all([batch.shape[1] for batch in held_out.words] == list(range(1, 13)) for held_out in drawn)
    assert not any(np.array_equal(a, b) for a, b in zip(drawn[0].words[4:], drawn[1].words[4:], strict=True))


def test_every_word_of_at_most_five_symbols_of_three_is_among_the_short_ones_once():
    short = HeldOut.short(data_of("cycle-navigation", **{"data.train_len": 12}))
    assert [len(np.unique(batch, axis=0)) for batch in short.words] == [3**T for T in range(1, 6)]


def test_short_words_that_are_no_questions_are_left_out():
    task = languages.get("modular-arithmetic:plus=true")
    short = HeldOut.short(data_of("modular-arithmetic:plus=true"))
    assert task.domain is not None
    assert all(task.domain.accepts(batch).all() for batch in short.words)
    assert min(int(answers.min()) for answers in short.answers) >= 0


@pytest.mark.parametrize("word", [(1, 0, 0), (0,), (1, 1, 0, 1, 0)])
def test_a_network_that_is_wrong_on_a_single_short_word_gives_no_wrong_automaton(word: tuple[int, ...]):
    class Wrong(Machine):
        def forward(self, words: Tensor) -> Tensor:
            logits = super().forward(words)
            wrong = words.shape[1] == len(word) and (words == torch.tensor(word)).all(1)
            return torch.where(torch.as_tensor(wrong)[..., None], logits.flip(1), logits)

    found = learner_of("even-pairs").learned(Wrong(of("even-pairs")))
    # L* may never ask for the word: then the automaton is the language's.
    assert found is None or counterexample(found.machine, of("even-pairs")) is None


def test_longer_words_are_not_asked_and_words_outside_the_domain_have_no_answer():
    task = languages.get("modular-arithmetic:plus=true")
    network = Machine(specified_machine(task))
    answers = NetworkAnswers(network, longest=4, task=task)
    assert answers(task.machine.encode("2*3+")[None].astype(np.int64)).tolist() == [-1]
    assert network.asked == []
    with pytest.raises(Unbounded):
        answers(np.zeros((1, 5), dtype=np.int64))


def test_a_learned_machine_is_compared_with_the_language():
    task, states = languages.get("tomita-3"), of("tomita-3").n_states
    assert against(of("tomita-3"), task) == {"states": states, "language": "tomita-3", "equal": True}
    other = against(of("tomita-4"), task)
    assert not other["equal"]
    right = task.output_names[task.labels(task.machine.encode(other["differs"]["word"])[None])[0]]
    assert (other["differs"]["right"], other["differs"]["length"]) == (right, len(other["differs"]["word"]))
    assert other["differs"]["learned"] != right


ANSWERS = {
    "data.name": "parity",
    "data.train_len": 20,
    "objective.bracketings": 0.5,
    "training.steps": 2000,
    "training.batch_size": 128,
    "training.checkpoint_every": 50,
    "model.d_model": 32,
    "model.d_ff": 64,
    "phases.table_fine_tuning.every": 50,
    "phases.table_fine_tuning.automaton": "learned",
    "phases.table_fine_tuning.steps": 100,
    "phases.table_fine_tuning.max_error_share": 1.0,
    "phases.table_fine_tuning.lr": 1e-2,
    "evaluation.test_len": 30,
    "evaluation.samples": 32,
}


def learning(**fields: Any) -> RunConfig:
    """A training that learns its automaton: options of the phase `every`, of the training `training__steps`."""
    dotted = {key.replace("__", "."): value for key, value in fields.items()}
    phase = {f"phases.table_fine_tuning.{key}" if "." not in key else key: value for key, value in dotted.items()}
    return RunConfig().replaced({**COMMON, **ANSWERS, **phase})


def test_a_network_is_proven_from_answers_alone_and_goes_on_bit_for_bit(tmp_path: Path, monkeypatch):
    config = learning()

    def stop(trainer: Trainer) -> None:
        if trainer.step_count == phase["learned_at"] + 20:
            raise RuntimeError("stopped here")

    whole = run(config, tmp_path / "whole")
    phase = whole["phases"]["table_fine_tuning"]
    assert whole["proven"]
    assert (phase["states"], phase["learned_at"] <= phase["certified_at"]) == (2, True)
    learner = AnswerLearner(of_words(config.data), config.seed)
    learner.fresh, learner.compared = 1, sum(map(len, suite(languages.get("parity").machine, 20).words))
    assert (phase["labels_used"] - learner.labels_used) % (20 * -(-HELD_OUT // 20)) == 0
    with pytest.raises(RuntimeError, match="stopped here"):
        run(config, tmp_path / "stopped", Watch(on_step=stop))
    again = resume(tmp_path / "stopped")
    same = ("proven", "steps", "phases", "score", "measures")
    assert {key: again[key] for key in same} == {key: whole[key] for key in same}
    for file in ("model.safetensors", "certificate.json", "automaton.json"):
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "stopped" / file).read_bytes()
    # What the certificate is about is what the network's answers give, not what the language's name says.
    folder = RunFolder.open(tmp_path / "whole")
    model = load_model(folder)
    assert isinstance(model, Tree)
    learned = learned_machine(folder, config, model)
    assert learned is not None
    # The one of the certificate, or of the training; without both it is learned anew.
    monkeypatch.setattr(AnswerLearner, "learned", lambda self, model: None)
    automaton, other = folder.path / "automaton.json", to_json(of("even-pairs"))
    certified = automaton.read_text()
    for text in (certified, other, certified):
        automaton.write_text(text)
        assert learned_machine(folder, config, model) == learned
        if text == other:
            shutil.rmtree(folder.path / "checkpoints")
    automaton.write_text(other)
    with pytest.raises(UserError, match="learned no automaton that fits"):
        learned_machine(folder, config, model)
    (folder.path / "certificate.json").unlink()
    with pytest.raises(UserError, match=r"whole was proven, and is not again: L\* learned no .*; train it anew"):
        resume(folder.path)
    monkeypatch.undo()
    assert learned_machine(folder, config, model) == learned
    assert (learned.machine.n_states, learned.classes) == (2, phase["classes"])
    assert counterexample(learned.machine, of("parity")) is None


def test_without_a_machine_there_is_no_attempt_and_no_certificate():
    trainer = train(trainer_of(learning(training__steps=3, every=1)))
    phase, sought = phase_of(trainer), strategy_of(trainer).sought
    assert (phase.now, sought.goal, sought.learned_at) == (Seeking(), None, None)
    assert phase.awaited(trainer)[0] == "waits for a proof (no automaton yet)"
    outcome = phase.conclude(trainer.model, b"", b"", lambda *_: None)
    assert not outcome.proven
    assert "learned no automaton that fits" in outcome.report["reason"]


def test_words_near_one_that_showed_a_machine_wrong_are_trained_on_at_once(monkeypatch: pytest.MonkeyPatch):
    config = learning(training__steps=8, every=2)
    trainer = trainer_of(config)
    sought = strategy_of(trainer).sought
    assert sought.learner is not None
    monkeypatch.setattr(sought.learner, "learned", lambda model: None)
    trainer.step()
    assert trainer.words.near_wrong(4) is None
    sought.learner.wrong = [(1, 0, 1)]
    trainer.step()
    near = trainer.words.near_wrong(4)
    assert near is not None
    assert (near != [1, 0, 1]).sum(1).max() <= 2
    # A run that is resumed knows it, too.
    again = trainer_of(config).words
    again.load(trainer.words.state(), trainer.model)
    found = again.near_wrong(4)
    assert found is not None
    assert np.array_equal(found, near)
    # Once there is a machine, the table says what is wrong.
    parity = LearnedMachine(of("parity"), 2)
    monkeypatch.setattr(sought.learner, "learned", lambda model: parity)
    train(trainer, 4)
    assert (sought.learned_at, trainer.words.near_wrong(4)) == (4, None)


def test_a_word_that_misled_is_let_go_once_the_network_has_it_right():
    learner = learner_of("parity")
    # Even pairs has the first of these words right, and the other wrong.
    for word, left in (((1, 0, 1), []), ((1, 1, 1), [(1, 1, 1)])):
        learner.wrong = [word]
        assert learner.learned(Machine(of("even-pairs"))) is None
        assert learner.wrong == left
    assert learner.learned(Machine(of("parity"))) is not None
    assert learner.wrong == []


def test_an_earlier_machine_that_is_not_minimal_is_not_recalled():
    minimal, rows = of("parity"), ((2, 1), (3, 0), (0, 3), (1, 2))
    doubled = MooreMachine(("q0", "q1", "q2", "q3"), ("0", "1"), rows, "q0", (0, 1, 0, 1), minimal.output_names)
    assert counterexample(doubled, minimal) is None
    learner = learner_of("parity")
    assert learner.recalled(minimal) is not None
    assert learner.recalled(doubled) is None


def test_an_automaton_that_the_network_contradicts_is_not_called_learned_from_its_answers(tmp_path: Path, monkeypatch):
    """The right automaton in the folder of a network that knows nothing yet."""
    run(learning(training__steps=3, evaluation__test_len=22), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    (folder.path / "automaton.json").write_text(to_json(of("parity")))
    report = verify(folder.path, words=8)["certificate"]
    assert not report["proven"]
    assert "learned" not in report
    assert not any("learned from the network's answers" in line for line in sentences(report))
    # One that the network bears out is recalled; a network that errs on the longest words does not.
    learner, parity = learner_of("parity"), of("parity")
    assert learner.recalled(parity, Machine(parity)) is not None
    assert learner.recalled(parity, Machine(parity, knows=39)) is None


def test_an_automaton_that_is_no_moore_machine_is_refused(tmp_path: Path):
    (tmp_path / "automaton.json").write_text(to_json(Dfa(("all",), ("0", "1"), ((0, 0),), "all", {"all"})))
    with pytest.raises(UserError, match="is no Moore machine"):
        automaton_of(RunFolder(tmp_path))


def test_where_l_star_comes_to_nothing_the_language_is_queried_and_its_labels_are_counted():
    """As in even pairs every answer is: no held-out word shows L* a state that is missing, and many are wrong."""
    learner, network = learner_of("parity"), Machine(of("even-pairs"))
    assert learner.learned(network) is None
    assert (learner.wrong, learner.queried) == ([], 0)
    used = learner.labels_used
    learner.query_language()
    assert learner.asking is not None
    asked = [word for word in learner.asking.known if word]
    assert learner.wrong
    assert set(learner.wrong) <= set(asked)
    assert learner.labels_used - used == learner.queried == min(len(asked), MOST_QUERIES)
    for word in learner.wrong:
        batch = np.array([word])
        assert labels(languages.get("parity"), batch) != network.machine.answers(batch)
    again = learner_of("parity")
    again.load(learner.state())
    assert (again.labels_used, again.state()) == (learner.labels_used, learner.state())


def test_no_more_words_are_queried_at_once_than_that(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(from_answers, "MOST_QUERIES", 16)
    learner, network = learner_of("parity"), Machine(of("tomita-5"))
    for i in (1, 2, 3):
        assert learner.learned(network) is None
        learner.query_language()
        assert (learner.queried, len(learner.wrong) <= 16) == (16 * i, True)
        assert len(set(learner.wrong)) == len(learner.wrong)


def test_words_that_are_no_questions_are_not_queried():
    learner, domain = learner_of("modular-arithmetic"), languages.get("modular-arithmetic").domain
    assert learner.learned(Machine(of("modular-arithmetic"), knows=0)) is None
    learner.query_language()
    assert domain is not None
    assert learner.wrong
    assert all(domain.accepts(np.array([word])) for word in learner.wrong)


@pytest.mark.parametrize(("first", "looked"), [(0, []), (1, [2, 4, 6]), (3, [4, 6]), (4, [4, 6]), (9, [])])
def test_the_language_is_queried_from_the_step_that_the_options_say(monkeypatch, first: int, looked: list[int]):
    trainer = trainer_of(learning(training__steps=6, every=2, membership_queries_from=first))
    learner, steps = strategy_of(trainer).sought.learner, []
    assert learner is not None

    def query_language() -> None:
        steps.append(trainer.step_count)
        learner.wrong, learner.queried = [(1, 0, 1), (0, 1, 1)], 2

    monkeypatch.setattr(learner, "learned", lambda model: None)
    monkeypatch.setattr(learner, "query_language", query_language)
    train(trainer)
    assert steps == looked
    assert strategy_of(trainer).sought.awaited == "no automaton yet" + "; 2 membership queries" * bool(looked)
    assert (trainer.words.near_wrong(8) is not None) == bool(looked)


def test_a_network_is_asked_for_words_of_one_length_together():
    class Deaf(Machine):
        def forward(self, words: Tensor) -> Tensor:
            return super().forward(torch.zeros_like(words))

    network = Deaf(of("tomita-4"))
    assert learner_of("tomita-4").learned(network) is None
    assert len(network.asked) < 200


class OnAnotherDevice(nn.Module):
    """A network that answers only words on its own device, which has no numbers."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1, device="meta"))

    def forward(self, words: Tensor) -> Tensor:
        assert words.device == self.weight.device
        return torch.zeros(len(words), 2)


def test_words_are_asked_about_on_the_networks_device():
    """Else a run on a GPU that is not proven would end in an error."""
    words = np.zeros((3, 2), dtype=np.int64)
    assert answers_of(OnAnotherDevice(), words).tolist() == [0, 0, 0]
    even_pairs = languages.get("even-pairs")
    word = shortest_wrong(even_pairs, OnAnotherDevice())
    assert word is not None
    assert compared(even_pairs.machine, OnAnotherDevice(), word)["length"] == len(word)


def test_a_wrong_word_is_told_with_the_answer_of_the_automaton_that_it_is_about():
    learned, task = of("even-pairs"), languages.get("parity")
    model, _ = exact_model("parity")
    quantised = Certifier.of_machine(learned, 2).certify(model)
    assert quantised.proof.wrong is not None
    found = errs_on(learned, model, quantised.proof.wrong)["wrong"]
    word = task.machine.encode(found["word"])[None]
    assert found["right"] == learned.output_names[int(learned.answers(word)[0])]
    report = {"proven": False, "reason": "it errs", "wrong": found}
    assert "right is" in sentences(report)[1]
    other = {"states": 5, "language": "parity", "equal": True}
    assert "the learned automaton says" in sentences({**report, "learned": other})[2]


def test_a_learned_machine_whose_table_is_too_large_is_asked_for_again(monkeypatch: pytest.MonkeyPatch):
    """A network that errs on few words may have come to a machine far larger than the language's."""
    config = learning(training__steps=6, every=2)
    trainer = trainer_of(config)
    phase, sought = phase_of(trainer), strategy_of(trainer).sought
    assert sought.learner is not None
    parity = LearnedMachine(of("parity"), 2)
    monkeypatch.setattr(sought.learner, "learned", lambda model: parity)
    with monkeypatch.context() as limited:
        limited.setattr("regulargpt.finite.levels.MAX_WINDOWS", 3)
        train(trainer, 4)
        assert (sought.learned_at, sought.learned, sought.goal) == (None, None, None)
        assert "too many to look at" in phase.awaited(trainer)[0]
        assert "too many to look at" in phase.conclude(trainer.model, b"", b"", lambda *_: None).report["reason"]
        (again,) = trainer_of(config).further
        again.load(phase.state(), trainer.model)
        assert again.awaited(trainer)[0] == phase.awaited(trainer)[0]
    train(trainer)
    assert (sought.learned_at, trainer.step_count) == (6, 6)
    assert sought.goal is not None
