"""Runs of stack networks that end in a proof: the phase, its certificate, and what every part says of it."""

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import languages
from languages.errors import UserError
from regulargpt.certificate.checker import AcceptedStack, decide
from regulargpt.certificate.sentences import sentences
from regulargpt.certificate.stack.fewer import Fewer
from regulargpt.certificate.stack.phase import Cooling, Hard, HardeningProgress, StackProof, Stacks
from regulargpt.certificate.stack.search import attempt, machine_of
from regulargpt.certificate.verdict import certified_files
from regulargpt.cli.running import proof_rows
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import validate
from regulargpt.finite.stack_product import Proven, UndecidedProduct
from regulargpt.runs import run as running
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.run import Watch, resume, run
from regulargpt.runs.verdict import verdict_line
from regulargpt.storage.folder import AUTOMATON, CERTIFICATE, UNCERTIFIED, RunFolder
from regulargpt.training.proof import no_certificate, proof_phase
from regulargpt.training.trainer import Trainer
from tests.regulargpt.small import COMMON, EQUAL, trainer_of
from tests.regulargpt.stack_networks import model_of, network_of

MACHINE = machine_of(languages.find("reverse-string"))
WEIGHTS = network_of(MACHINE)
SIZES = {"model.d_model": len(WEIGHTS["recurrent.bias"]), "model.stack_width": len(WEIGHTS["push.bias"])}
STACK = {**COMMON, "model.name": "stack-rnn", "data.name": "reverse-string", "objective.name": "transduction"}


def config_of(**changes: Any) -> RunConfig:
    """A run on Reverse String; lr 0 leaves a constructed network as it is."""
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    every = {"phases.stack_proof.every": 5, "phases.stack_proof.cooldown": 7}
    return RunConfig().replaced({**STACK, **SIZES, "training.lr": 0.0, **every, **dotted})


def wrong_weights() -> dict[str, np.ndarray]:
    """A network that answers 1 where it should answer 0, with 0 on top of a stack of 1."""
    weights = {name: array.copy() for name, array in WEIGHTS.items()}
    unit = np.flatnonzero(weights["readout.weight"][0])[-1]
    weights["readout.weight"][:, unit] = 0, 1
    weights["readout.bias"] += np.array([-1, 1], np.float32)
    return weights


def starts_with(monkeypatch, weights: dict[str, np.ndarray]) -> None:
    """Training begins with these weights."""
    monkeypatch.setattr(running, "first_model", lambda *_: model_of(weights))


def test_a_network_that_holds_is_proven_cooled_down_and_checked(tmp_path: Path, monkeypatch):
    """Every part of the program says so: summary, verdict, certificate, what `verify` writes and prints."""
    starts_with(monkeypatch, WEIGHTS)
    summary = run(config_of(), tmp_path)
    phase = summary["phases"]["stack_proof"]
    assert phase == {"proven_at": 5, "attempts": 2, "wrong_words": 0}
    assert (summary["steps"], summary["proven"], summary["worst"]) == (12, True, 100.0)
    assert verdict_line(summary) == "proven at every length, with argmax actions and signs"
    folder = RunFolder.open(tmp_path)
    certificate, files = certified_files(folder)
    accepted = decide(certificate, files)
    assert isinstance(accepted, AcceptedStack)
    report = certificate_report(folder)
    assert (tmp_path / CERTIFICATE).read_bytes() == certificate
    counted = ("lag", "states", "entries", "pairs")
    assert [report[key] for key in counted] == [getattr(accepted, key) for key in counted]
    margins = [accepted.sign_margin, accepted.action_margin, accepted.answer_margin]
    assert [*report["margins"].values()] == margins
    assert (
        sentences(report)[0]
        == "proven at every length, with argmax actions and signs, in real arithmetic and in float32"
    )
    # What a kill behind the end of a run leaves undone, `resume` does.
    for name in (CERTIFICATE, AUTOMATON):
        (tmp_path / name).unlink()
    assert resume(tmp_path) == summary
    assert (tmp_path / CERTIFICATE).read_bytes() == certificate
    # Of another automaton nothing is proven.
    (tmp_path / AUTOMATON).write_text((tmp_path / AUTOMATON).read_text().replace('"push"', '"pusk"', 1))
    assert resume(tmp_path)["proven"] is False


def test_a_network_that_errs_is_refuted_by_a_shortest_word_near_which_is_trained(tmp_path: Path, monkeypatch):
    """The word is a whole question; what is said of it is what the network itself answers."""
    starts_with(monkeypatch, wrong_weights())
    seen: list[tuple[int, ...]] = []

    def look(trainer: Trainer) -> None:
        if trainer.step_count == 8:
            near = trainer.words.near_wrong(8)
            assert near is not None
            assert (MACHINE.answers(near, every=True)[:, near.shape[1] // 2 :] >= 0).all()
            seen.extend(trainer.words.wrong)

    summary = run(config_of(training__steps=12, evaluation__falsify=150_000), tmp_path, Watch(on_step=look))
    assert seen
    assert all(word[len(word) // 2 :] == (2,) * (len(word) // 2) for word in seen)
    assert summary["proven"] is False
    report = json.loads((tmp_path / UNCERTIFIED).read_text())
    assert not (tmp_path / CERTIFICATE).exists()
    word = MACHINE.encode(report["wrong"]["word"])
    assert report["wrong"]["length"] == len(word) == min(map(len, seen)) - (len(seen[0]) - len(word))
    right, given = MACHINE.answers(word), model_of(wrong_weights())(torch.tensor(word[None]))[0].argmax()
    assert (report["wrong"]["right"], report["wrong"]["network"]) == (str(int(right)), str(int(given)))
    assert right != given
    # The search for wrong words, shortest first, has a word as short or shorter.
    shortest = summary["falsified"]["wrong"][0]
    assert shortest["length"] <= len(word)
    assert verdict_line(summary).startswith(f"wrong: the shortest word is {shortest['word']} (")
    assert sentences(certificate_report(RunFolder.open(tmp_path)))[0] == f"no certificate: {report['reason']}"


def with_doubt(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same network; the last unit, which nothing depends on, sums up too little for its sign to be decided."""
    weights = {name: array.copy() for name, array in weights.items()}
    for name in ("input.weight", "recurrent.weight", "input.bias", "recurrent.bias"):
        weights[name][-1] = 0
    weights["input.weight"][-1, 0] = 1e-9
    return weights


def test_units_that_no_answer_needs_are_held_where_rounding_decides_their_signs(tmp_path: Path, monkeypatch):
    """The network that was given is left as it is; what is proven, and kept, is the one with fewer."""
    weights = with_doubt(network_of(MACHINE, spare=1))
    model = model_of(weights)
    assert isinstance(attempt(model, MACHINE).verdict, UndecidedProduct)
    fewer = Fewer(model, MACHINE, 4, 1000)
    assert fewer.proven()
    assert fewer.held >= 1
    assert isinstance(attempt(fewer.model, MACHINE).verdict, Proven)
    assert all(np.array_equal(model.state_dict()[name], weights[name]) for name in weights)
    starts_with(monkeypatch, weights)
    summary = run(config_of(model__d_model=len(weights["recurrent.bias"])), tmp_path)
    assert summary["phases"]["stack_proof"] == {"proven_at": 5, "attempts": 2, "wrong_words": 0, "units_held": 1}
    assert summary["proven"] is True


def test_no_unit_makes_up_for_a_wrong_answer():
    """Each is held only while no word is answered wrongly, so of a network that errs none is."""
    fewer = Fewer(model_of(wrong_weights()), MACHINE, 4, 1000)
    assert not fewer.proven()
    assert fewer.known_wrong


@pytest.mark.parametrize("holds", [[True, True], [False, True, False]])
def test_what_a_cooldown_loses_comes_back(monkeypatch, holds: list[bool]):
    """The proof is asked for again where the rate has fallen to 0."""
    monkeypatch.setattr(Stacks, "prove", lambda *_: asked.pop(0))
    asked = list(holds)
    trainer = trainer_of(config_of(training__lr=0.01, training__warmup=0))
    (phase,) = trainer.further
    assert isinstance(phase, StackProof)
    rates, before = [], None
    while not trainer.finished:
        rates.append(trainer.phase.lr(trainer))
        trainer.step()
        if phase.summary()["proven_at"] == trainer.step_count:
            before = deepcopy(trainer.model.state_dict())
    assert not asked
    assert trainer.step_count == 5 * len(holds) - 5 + 7
    assert rates[-7:] == sorted(rates[-7:], reverse=True)
    assert rates[-1] == pytest.approx(rates[-7] / 7)
    assert isinstance(phase.last, Cooling)
    assert phase.last.taken_back is not holds[-1]
    assert before is not None
    same = all(torch.equal(before[name], now) for name, now in trainer.model.state_dict().items())
    assert same is not holds[-1]


def test_no_attempt_before_the_network_is_hard(monkeypatch):
    """While noise grows, the proof waits; once it is full, training goes on at a lower rate."""
    tried: list[int] = []
    monkeypatch.setattr(Stacks, "prove", lambda self, trainer, last: tried.append(trainer.step_count))
    hardening = {"model__hardening": 1.0, "model__hardening_loss": 100.0, "model__hardening_growth": 1.8}
    trainer = trainer_of(config_of(training__steps=40, training__lr=0.01, training__warmup=0, **hardening))
    began = next(step for step in range(1, 41) if trainer.step() or trainer.phase.name == "stack_proof")
    assert began > 10
    assert trainer.phase.lr(trainer) == pytest.approx(0.3 * 0.01)
    while not trainer.finished:
        trainer.step()
    assert tried == [step for step in range(5, 41, 5) if step >= began]


@pytest.mark.parametrize(("loss", "stays"), [(2.0, True), (4.0, False)])
def test_a_hard_network_stays_hard_until_its_loss_is_far_too_high(loss: float, stays: bool):
    """Noise that grows below a loss of 1 shrinks from 3 on; what is near a wrong word does not count."""
    trainer = trainer_of(config_of(model__hardening=1.0, model__hardening_loss=1.0))
    hard, trainer.step_count = Hard(0.3, 1.0), 1
    trainer.words.progress = before = replace(trainer.words.progress, noise=1.0, loss=loss, stage_age=10_000)
    hard.after(trainer, loss)
    assert (trainer.words.progress.noise == 1.0) is stays
    trainer.words.progress, trainer.words.wrong, trainer.words.trains_on_errors = before, [(0, 2)], True
    hard.after(trainer, 100.0)
    assert trainer.words.progress == before


def test_a_run_stopped_and_resumed_ends_with_the_same_bytes(tmp_path: Path):
    """Wrong words, attempts and the phase's beginning are in the checkpoint."""

    class Stop(Exception):
        """An interruption."""

    def stop(trainer: Trainer) -> None:
        if trainer.step_count == 18:
            trainer.save(RunFolder(tmp_path / "stopped"))
            raise Stop

    config = config_of(training__lr=0.01, model__d_model=6, training__steps=24, phases__stack_proof__pairs=300)
    whole = run(config, tmp_path / "whole")
    assert whole["phases"]["stack_proof"]["wrong_words"] > 0
    with pytest.raises(Stop):
        run(config, tmp_path / "stopped", Watch(on_step=stop))
    assert resume(tmp_path / "stopped")["phases"] == whole["phases"]
    for name in EQUAL:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()


REFUSED = {
    "model.controller = 'tanh' has no end of states": {"model.controller": "tanh"},
    "model.tests = 'superposition' takes soft actions": {"model.tests": "superposition"},
    "model.stacks = 2 is more than": {"model.stacks": 2},
    "model.push = 'sigmoid' is pushed through": {"model.push": "sigmoid"},
    "parity is regular": {"data.name": "parity", "objective.name": "last"},
    "phases.stack_proof.lag = 5; at most 4": {"phases.stack_proof.lag": 5},
    "phases.stack_proof.pairs = 4194305; at most 4194304": {"phases.stack_proof.pairs": 2**22 + 1},
    "lstm has no stack": {"model.name": "lstm"},
}


@pytest.mark.parametrize(("said", "changes"), REFUSED.items(), ids=REFUSED)
def test_what_can_have_no_proof_is_refused(said: str, changes: dict[str, Any]):
    """Before there is a run; the same is said of `--certify`."""
    with pytest.raises(UserError) as error:
        validate(config_of().replaced(changes))
    assert said in str(error.value)


def test_each_model_has_its_kind_of_proof():
    """The phase and the reasons are those of that kind."""
    stack, tree = config_of().model, RunConfig().model
    assert (proof_phase(stack), proof_phase(tree)) == ("stack_proof", "table_fine_tuning")
    assert no_certificate(stack, config_of().objective, "reverse-string") is None
    soft = config_of().replaced({"model.controller": "lstm"})
    assert no_certificate(soft.model, soft.objective, "reverse-string") == soft.model.why_no_stack_proof()


def test_what_proves_nothing_is_no_phase(tmp_path: Path):
    """A language of one answer is trained on all the same, and why there is no proof is said."""
    machine = {"alphabet": ["(", ")"], "initial": "p", "outputs": {"p": "yes"}, "output_names": ["yes", "no"]}
    moves = [{"from": "p", "read": "(", "to": "p", "push": "g"}, {"from": "p", "read": ")", "to": "p", "pop": True}]
    (tmp_path / "all.json").write_text(json.dumps({**machine, "moves": moves}))
    notices: list[str] = []
    name = f"pushdown:{tmp_path / 'all.json'}"
    config = config_of(data__name=name, objective__name="last", training__steps=2, model__actions="visible")
    assert run(config, tmp_path / "run", Watch(on_notice=notices.append))["proven"] is None
    assert "never has two different answers" in notices[0]


def test_training_ends_where_hardening_stands_still_and_says_so(tmp_path: Path, monkeypatch):
    """Weights that stay as they are have more loss under more noise: hardening comes and goes round one level."""
    starts_with(monkeypatch, WEIGHTS)
    hardening = {"model__hardening": 1.0, "model__hardening_loss": 0.52, "model__hardening_growth": 1.03}
    changes = {**hardening, "training__steps": 900, "phases__stack_proof__patience": 150}
    summary = run(config_of(**changes), tmp_path)
    stuck = summary["phases"]["stack_proof"]["stuck"]
    assert summary["steps"] == stuck["at"] == stuck["since"] + 150 < 900
    assert 0 < stuck["hardest"] < 1
    # These weights are right all the same, and the end of a run proves them: then there is nothing to say of hardening.
    assert summary["proven"]
    assert "stopped" not in dict(proof_rows(summary))
    assert dict(proof_rows({**summary, "proven": False}))["stopped"].endswith("try another --seed")


def test_hardening_that_goes_on_is_waited_for_and_so_is_what_has_not_begun():
    hardening, levels = HardeningProgress(), [0.0] * 100
    levels += [(step - 99) / 160 for step in range(100, 250)]  # 0.0625 in ten steps
    levels += [1.0 if step % 9 == 0 else 0.5 for step in range(250, 300)]  # once it was whole it may come back
    waited = []
    for step, level in enumerate([*levels, *[0.9] * 20]):
        hardening = hardening.after(level, step, 1.0)
        waited.append(step - hardening.at)
    assert max(waited[:300]) < 10 <= max(waited[300:])
