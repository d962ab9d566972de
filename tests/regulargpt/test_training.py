"""Training: the same run twice, resumed from anywhere, diverged, interrupted; always the same bytes or a reason."""

import copy
import functools
import json
import math
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regulargpt.objectives.answers import Last
from regulargpt.runs import run as running
from regulargpt.runs.run import Watch, resume, run
from regulargpt.storage.folder import RunFolder
from regulargpt.storage.signals import StopRequested
from regulargpt.training import optimisers
from regulargpt.training.trainer import Diverged, Interrupted, Trainer, train
from tests.regulargpt.small import FAMILIES, config, contents, trainer_of


@pytest.mark.parametrize("options", [{"amsgrad": True, "weight_decay": 0.1, "fused": True}, {"lr": 0.1}])
@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_an_optimiser_steps_and_is_saved_as_that_of_torch(name: str, options: dict[str, Any]):
    found = []
    for module in (optimisers, torch.optim):
        weight = torch.nn.Parameter(torch.linspace(-1, 1, 7))
        first, resumed = (getattr(module, name)([weight], **options) for _ in range(2))
        for optimiser in (first, first, resumed, resumed):
            if not optimiser.state:
                optimiser.load_state_dict(first.state_dict())
            optimiser.zero_grad()
            weight.pow(4).sum().backward()
            optimiser.step()
        found.append((weight.tolist(), str(resumed.state_dict())))
    assert found[0] == found[1]


class Stop(Exception):
    """Stands for a process that dies."""


def stopped_at(step: int, seen: list[int] | None = None) -> Watch:
    def on_step(trainer: Trainer) -> None:
        if seen is not None:
            seen.append(trainer.step_count)
        if trainer.step_count == step:
            raise Stop

    return Watch(on_step=on_step)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a run of each family that nothing disturbed."""

    @functools.cache
    def folder_of(family: str) -> Path:
        run(config(family), folder := tmp_path_factory.mktemp("whole") / family)
        return folder

    return folder_of


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def steps_of(folder: Path) -> int:
    return json.loads((folder / "summary.json").read_text())["steps"]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_stopped_and_resumed_ends_with_the_same_bytes(family: str, tmp_path: Path, whole):
    """Before and after the first row, the first and a later checkpoint, and the end."""
    steps = steps_of(whole(family))
    for step in [6, 7, 10, 11, 29, steps - 1, steps]:
        folder = tmp_path / str(step)
        with pytest.raises(Stop):
            run(config(family), folder, stopped_at(step))
        resume(folder)
        assert contents(folder) == contents(whole(family))


def test_a_run_stopped_at_every_step_on_its_way_ends_with_the_same_bytes(tmp_path: Path):
    settings = config("transformer", training__checkpoint_every=3, training__log_every=2)
    run(settings, tmp_path / "whole")
    with pytest.raises(Stop):
        run(settings, tmp_path / "stopped", stopped_at(1))
    for step in range(2, 41):
        seen = []
        with pytest.raises(Stop):
            resume(tmp_path / "stopped", stopped_at(step, seen))
        # From the last checkpoint on; those before it are never trained again.
        assert seen == list(range((step - 1) // 3 * 3 + 1, step + 1))
    resume(tmp_path / "stopped")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


def global_states() -> list[list]:
    return [torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), [random.getstate()]]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_gives_the_same_bytes_whatever_the_global_random_state(family: str, tmp_path: Path, whole):
    torch.manual_seed(7)
    np.random.seed(7)
    random.seed(7)
    before = global_states()
    run(config(family), tmp_path / "again")
    assert global_states() == before
    assert contents(tmp_path / "again") == contents(whole(family))
    first, other = (trainer_of(config(family, seed=seed)).model.state_dict() for seed in (0, 1))
    assert any(not torch.equal(value, other[name]) for name, value in first.items())


def test_a_finished_run_is_not_trained_again(monkeypatch, whole):
    folder = whole("regulargpt")

    def files() -> dict[Path, tuple[bytes, int]]:
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir() if path.is_file()}

    before = files()
    monkeypatch.setattr(Trainer, "step", lambda self: pytest.fail("trained"))
    monkeypatch.setattr(running, "test", lambda *args: pytest.fail("tested"))
    assert resume(folder) == json.loads((folder / "summary.json").read_text())
    assert files() == before


def test_metrics_are_the_means_since_the_last_row(tmp_path: Path, monkeypatch):
    losses: list[float] = []
    original = Trainer.step

    def step(self: Trainer) -> None:
        original(self)
        losses.append(self.since_log[-1][0])

    monkeypatch.setattr(Trainer, "step", step)
    run(config("linear-rnn", training__steps=17), tmp_path / "run")
    rows = rows_of(tmp_path / "run")
    assert [row["step"] for row in rows] == [7, 14, 17]
    means = [np.mean(losses[low:high]) for low, high in ((0, 7), (7, 14), (14, 17))]
    assert [row["loss"] for row in rows] == pytest.approx(means)
    assert list(rows[0]) == ["step", "loss", "accuracy", "longest", "noise", "lr"]
    # In percent, as every accuracy.
    assert all(0 <= row["accuracy"] <= 100 for row in rows)
    assert max(row["accuracy"] for row in rows) > 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_stops_with_the_state_before_it_saved(bad: float, tmp_path: Path, monkeypatch, whole):
    original, calls, expected = Last.loss, [], whole("linear-rnn")

    def loss(self, model, words, device):
        calls.append(1)
        value, measured = original(self, model, words, device)
        return (value * bad if len(calls) == 6 else value), measured

    monkeypatch.setattr(Last, "loss", loss)
    with pytest.raises(Diverged) as error:
        run(config("linear-rnn"), tmp_path / "run")
    assert str(error.value) == f"the loss is {bad} at step 6; lower training.lr = 0.001 or training.clip"
    found = RunFolder.open(tmp_path / "run").load_checkpoint()
    assert found is not None
    assert found.step == 5
    assert all(tensor.isfinite().all() for tensor in found.weights.values())
    # What was saved is good: without the bad loss it trains to the same end.
    resume(tmp_path / "run")
    assert contents(tmp_path / "run") == contents(expected)


def test_what_diverges_on_the_table_names_the_rate_of_the_table(monkeypatch):
    trainer = trainer_of(config("regulargpt", phases__table_fine_tuning__every=4, phases__table_fine_tuning__lr=9.0))
    trainer.step()
    (phase,) = trainer.further
    monkeypatch.setattr(type(phase), "is_active", True)
    monkeypatch.setattr(phase, "backward", lambda trainer: (float("nan"), {}))
    monkeypatch.setattr(phase, "optimiser", lambda trainer: trainer.optimiser)
    monkeypatch.setattr(phase, "lr", lambda trainer: 9.0)
    with pytest.raises(Diverged, match=r"^the loss is nan at step 2; lower phases\.table_fine_tuning\.lr = 9 or "):
        trainer.step()


def test_a_gradient_that_is_no_number_stops_too(tmp_path: Path, monkeypatch):
    original = Last.loss

    def loss(self, model, words, device):
        value, measured = original(self, model, words, device)
        # The square root of 0 is 0, its slope is not finite.
        return value + (next(model.parameters()) * 0.0).sum().abs().sqrt(), measured

    monkeypatch.setattr(Last, "loss", loss)
    with pytest.raises(Diverged, match=r"^the gradient's norm is nan at step 1; no weight has moved yet"):
        run(config("linear-rnn"), tmp_path / "run")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_the_resumed_run_ends_with_the_same_bytes(number: int, tmp_path: Path, whole):
    def on_row(row: dict) -> None:
        if row["step"] == 14:
            signal.raise_signal(number)

    with pytest.raises(Interrupted, match=f"^stopped by {signal.Signals(number).name} after step 14$"):
        run(config("gru"), tmp_path / "run", Watch(on_row=on_row))
    found = RunFolder.open(tmp_path / "run").load_checkpoint()
    assert found is not None
    assert found.step == 14
    resume(tmp_path / "run")
    assert contents(tmp_path / "run") == contents(whole("gru"))


def test_a_solved_run_stops_early_and_cools_down(whole):
    summary = json.loads((whole("regulargpt") / "summary.json").read_text())
    assert summary["solved_at"] is not None
    assert summary["steps"] == min(40, summary["solved_at"] + 10)
    longest = [row["longest"] for row in rows_of(whole("regulargpt"))]
    assert longest[-1] == 8
    assert set(longest) > {4}


def test_clipping_bounds_the_gradient_and_the_rates_are_those_of_the_schedule():
    trainer = trainer_of(config("gru", training__clip=1e-3, training__lr=1.0))
    rates = []
    for _ in range(12):
        trainer.step()
        rates.append(trainer.optimiser.param_groups[0]["lr"])
        norms = [p.grad.norm() for p in trainer.model.parameters()]
        assert float(torch.stack(norms).norm()) <= 1e-3 * (1 + 1e-4)
    assert rates == pytest.approx([0.1 * n for n in range(1, 11)] + [1.0, 1.0])


def test_lengths_of_a_step_share_its_gradient():
    """Two lengths a step: the mean of the two groups' losses, each drawn as its own batch."""
    together = trainer_of(config("gru", training__clip=1e9))
    twin = copy.deepcopy(together)
    together.step()
    words = [twin.data.batch(0, "train", number, range(1, 9), 4) for number in (0, 1)]
    losses = [twin.objective.loss(twin.model, w, twin.device)[0] for w in words]
    (sum(losses) / 2).backward()
    for p, q in zip(together.model.parameters(), twin.model.parameters(), strict=True):
        assert torch.allclose(p.grad, q.grad, atol=1e-7)
    assert together.since_log[0][0] == pytest.approx(float(sum(losses).detach()) / 2)


def test_curriculum_keeps_the_symbols_of_a_step_about_the_same():
    trainer = trainer_of(config("regulargpt"))
    seen = []
    original = trainer.objective.loss
    trainer.objective.loss = lambda model, words, device: (seen.append(words.shape), original(model, words, device))[1]
    while not trainer.finished:
        trainer.step()
    longest = {count: max(length for n, length in seen if n == count) for count, _ in seen}
    assert longest == {16: 4, 10: 6, 8: 8}


def test_training_in_a_thread_cannot_catch_signals_but_trains(tmp_path: Path):
    found = []
    thread = threading.Thread(target=lambda: found.append(run(config("gru", training__steps=3), tmp_path / "run")))
    thread.start()
    thread.join()
    assert found[0]["steps"] == 3


def test_train_writes_nothing_when_there_is_nothing_to_train(tmp_path: Path):
    trainer = trainer_of(config("gru", training__steps=5))
    folder = RunFolder.create(tmp_path / "run", trainer.config.render(), {})
    train(trainer, folder, StopRequested(), lambda: 0.0)
    before = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    train(trainer, folder, StopRequested(), lambda: 0.0)
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == before
    assert trainer.step_count == 5
