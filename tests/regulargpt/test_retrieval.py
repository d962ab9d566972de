"""What a network is asked of documents and how it is scored, and runs on retrieval tasks."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from languages.errors import UserError
from languages.randomness import rng
from regulargpt import api, data, models
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.data import read_data
from regulargpt.evaluation.by_length import measures_by_length
from regulargpt.evaluation.interval import Interval
from regulargpt.models import MODELS
from regulargpt.models.base import Model
from regulargpt.runs import run as running
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder
from regulargpt.text.corpora.retrieval import retrieval
from regulargpt.text.data.options import RetrievalOptions
from regulargpt.text.data.retrieval import RetrievalData
from regulargpt.text.objectives.retrieval import MOST_ANSWERS, Retrieve
from tests.languages.test_retrieval import NAMES, by_hand
from tests.regulargpt.reading import Reader
from tests.regulargpt.small import config, trainer_of

CPU = torch.device("cpu")


class Random(Model):
    """Draws its logits: what it says has nothing to do with the words."""

    def __init__(self, n_outputs: int):
        super().__init__()
        self.n_outputs, self.p = n_outputs, torch.nn.Parameter(torch.zeros(()))
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, words, readout="last"):
        assert readout == "all"
        return self.p + torch.randn(*words.shape, self.n_outputs, generator=self.generator)


def objective(name: str, **options: Any) -> Retrieve:
    return Retrieve(RetrievalData(retrieval(name), RetrievalOptions(name, **options)))


def words_of(goal: Retrieve, length: int = 80, count: int = 6) -> np.ndarray:
    return goal.task.sample(rng(0, "test"), length, count)


def exact_match(goal: Retrieve, model: Model, words: np.ndarray) -> list[float]:
    """The measure of each word in percent, whether it is a share or right or wrong."""
    found = goal.measure(model, words, CPU)["exact_match"]
    return (100 * found.double() if found.dtype == torch.bool else found).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_who_looks_the_answers_up_scores_100_and_who_always_errs_0(name: str):
    goal = objective(name)
    for errs, score in ((lambda *_: False, 100.0), (lambda *_: True, 0.0)):
        assert exact_match(goal, Reader(goal.task, errs), words_of(goal)) == [score] * 6


@pytest.mark.parametrize(("name", "together"), [("retrieval:needles", 2), ("retrieval:passkey", 5)])
def test_of_what_belongs_together_all_must_be_right(name: str, together: int):
    goal = objective(name)
    words = words_of(goal)
    for wrong in range(together):
        almost = Reader(goal.task, lambda length, question, depth, wrong=wrong: question % together == wrong)
        assert exact_match(goal, almost, words) == [0.0] * 6
        assert goal.loss(almost, words, CPU)[1] == {"exact_match": 0.0}
    first = Reader(goal.task, lambda length, question, depth: question >= together)
    share = 100 * together / goal.task.questions
    assert exact_match(goal, first, words) == pytest.approx([share] * 6)
    assert goal.loss(first, words, CPU)[1] == {"exact_match": pytest.approx(share)}


def test_a_lone_needle_is_found_or_not_and_has_the_interval_of_a_share():
    goal = objective("retrieval:passkey")
    assert goal.measure(Reader(goal.task), words_of(goal), CPU)["exact_match"].dtype == torch.bool
    source, options = read_data("retrieval:passkey"), config("retrieval").evaluation
    (point,) = measures_by_length(Reader(goal.task), source, goal, [40], config=options, seed=0, device=CPU)
    assert point.measures == {"exact_match": Interval.of_right(16, 16)}


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_the_cross_entropy_of_every_answer(name: str):
    goal = objective(name)
    words, model = words_of(goal), Random(goal.n_outputs)
    logits = model(torch.from_numpy(words), readout="all").double()
    model.generator.manual_seed(0)
    nats, right = [], []
    for row, word in enumerate(words):
        answers = by_hand(goal.task, goal.task.decode(word))[1]
        for number, answer in enumerate(answers):
            numbers = logits[row, len(word) - 2 * len(answers) + 2 * number + 1].tolist()
            nats.append(math.log(sum(map(math.exp, numbers))) - numbers[answer])
            right.append(numbers[answer] == max(numbers))
    loss, metrics = goal.loss(model, words, CPU)
    assert loss.item() == pytest.approx(np.mean(nats), rel=1e-5)
    needles = np.array(right).reshape(-1, goal.task.together).all(1)
    assert metrics == {"exact_match": pytest.approx(100 * needles.mean())}
    model.generator.manual_seed(0)
    assert goal.losses(model, words, CPU).flatten().tolist() == pytest.approx(nats, rel=1e-4)
    model.generator.manual_seed(0)
    assert exact_match(goal, model, words) == pytest.approx((100 * needles.reshape(6, -1).mean(1)).tolist())


def test_the_loss_has_the_gradient_of_the_answers_alone():
    goal = objective("retrieval:line:questions=2")
    logits = torch.randn(3, 60, 16, generator=torch.Generator().manual_seed(0)).requires_grad_()

    class Constant(Model):
        def forward(self, words, readout="last"):
            return logits

    goal.loss(Constant(), words_of(goal, 60, 3), CPU)[0].backward()
    assert logits.grad is not None
    touched = logits.grad.abs().sum(-1) > 0  # (batch, length)
    assert touched.tolist() == [[at in (57, 59) for at in range(60)]] * 3


@pytest.mark.parametrize("name", NAMES)
def test_guessing_scores_what_the_shares_of_the_answers_say(name: str):
    goal = objective(name)
    words = words_of(goal, count=400)
    guesses = goal.guesses(words)
    count = len(goal.task.answers) ** goal.task.together
    if count > MOST_ANSWERS:
        assert guesses == {}
        return
    assert guesses["exact_match"].chance == pytest.approx(1 / count)
    assert guesses["exact_match"].shares == (goal.task.chance,)
    scored = np.mean(exact_match(goal, Random(goal.n_outputs), words)) / 100
    needles = 400 * goal.task.questions // goal.task.together
    assert abs(scored - goal.task.chance) < 4 * math.sqrt(goal.task.chance / needles)


# An encoder-decoder writes its answers; tests/regulargpt/test_encoder_decoder.py has those.
@pytest.mark.parametrize("model", [model for model in MODELS if model != "encoder-decoder"])
def test_a_model_answers_at_its_last_positions(model: str):
    built = models.build(MODELS.options(model, "model"), 9, 4, torch.Generator().manual_seed(0)).eval()
    words = torch.randint(9, (2, 13), generator=torch.Generator().manual_seed(1))
    every = built(words, readout="all")
    for count in (1, 5, 13):
        assert torch.allclose(built.answers(words, count), every[:, 13 - count :], atol=1e-5)
    assert torch.allclose(built.answers(words, 1)[:, 0], built(words), atol=1e-5)


# The data.


def test_training_words_have_every_length_that_is_asked_for_and_no_other():
    source = read_data("retrieval:line:questions=2")
    assert source.lengths(64) == list(range(48, 65))
    assert source.lengths(20) == []
    drawn = {source.batch(0, "train", step, source.lengths(52), 2).shape for step in range(60)}
    assert drawn == {(2, length) for length in range(48, 53)}
    shortest = data.build(RetrievalOptions("retrieval:line", train_from=3))
    assert shortest.lengths(40) == list(range(35, 41))  # 32 of them are questions


def test_a_batch_and_a_test_are_pure_functions():
    source = read_data("retrieval:needles")
    batches = [source.batch(3, "train", step, [64], 4) for step in (7, 8, 7)]
    assert np.array_equal(batches[0], batches[2])
    assert not np.array_equal(batches[0], batches[1])
    assert np.array_equal(source.test(3, 64, 4), source.test(3, 64, 4))
    assert not np.array_equal(source.test(3, 64, 4), source.test(4, 64, 4))
    assert not np.array_equal(source.batch(3, "alignment", 7, [64], 4), batches[0])


def test_what_a_run_keeps_of_its_symbols():
    source = read_data("retrieval:topic:keys=2")
    names = [*(f"n{i}" for i in range(8)), "?", "#", "=", "k0", "k1"]
    assert source.record() == {"symbols": names, "answers": ["k0", "k1"]}
    assert source.encode("k1 ? n7").tolist() == [12, 8, 7]
    assert (source.has_length(22), source.has_length(21)) == (True, False)
    assert source.is_tested(22)


# Runs.


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(running.plots, "of_run", lambda path, *rest: path.write_bytes(b""))


def test_what_a_run_says_of_itself(tmp_path: Path):
    summary = run(config("retrieval", training__steps=2), tmp_path / "run")
    values = summary["measures"]["exact_match"]["values"]
    assert (summary["measure"], list(values)) == ("exact_match", ["28", "56"])
    assert summary["score"] == pytest.approx(np.mean(list(values.values())))
    assert summary["chance"] == pytest.approx(100 / 9)  # two of three values
    record = RunFolder.open(tmp_path / "run").load_model_config()
    assert (record["answers"], "alphabet" in record) == (["v0", "v1", "v2"], False)
    trained = api.load(tmp_path / "run")
    symbols = trained.encode(["k0 v0 v1 k1 v2 v2 k2 v1 v1 k3 v0 v0 ?1 k0 ?2 k0 ?1 k3 ?2 k3"])
    assert trained.model.answers(symbols, 8).shape == (1, 8, 3)
    with pytest.raises(UserError, match="is a retrieval task: it has no automaton; choose a run on a language"):
        trained.answers(["k0"])
    assert api.evaluate(tmp_path / "run")["measures"]["exact_match"]["values"] == values


@pytest.mark.parametrize("model", ["transformer", "lstm", "regulargpt", "linear-rnn"])
def test_every_model_trains_on_a_task(model: str):
    found = resolve(None, model, "retrieval:needles")
    trainer = trainer_of(found.replaced({"device": "cpu", "model.d_model": 8, "training.batch_size": 4}))
    before = [p.clone() for p in trainer.model.parameters()]
    trainer.step()
    assert math.isfinite(trainer.since_log[-1][0])
    assert any(not torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))


def test_a_network_learns_the_first_topic():
    """A task that a small network learns in some seconds: it is asked for one of two."""
    found = RunConfig.parse(config("retrieval").render()).replaced(
        {"data.name": "retrieval:topic:keys=4", "data.train_len": 28, "model.dropout": 0.0, "model.d_model": 16}
        | {"training.batch_size": 64, "training.lr": 1e-2, "training.steps": 150, "training.log_every": 150}
    )
    trainer = trainer_of(found)
    for _ in range(150):
        trainer.step()
    assert np.mean([metrics["exact_match"] for _, metrics in trainer.since_log[-10:]]) > 80
