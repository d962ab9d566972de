"""Training until the certificate holds, and then on the certified table."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

import languages
from languages.errors import UserError
from regulargpt.anchors import Anchors, Verdict
from regulargpt.batches import words_near
from regulargpt.certificate.certify import Certifier
from regulargpt.certificate.codebook import by_class, misses
from regulargpt.certificate.table import Exact
from regulargpt.config import TrainingConfig
from regulargpt.construct.configuration import configuration
from regulargpt.construct.weights import constructed
from regulargpt.models.layers import seed_counted
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.objectives import objective
from regulargpt.progress import Progress
from regulargpt.run import Watch, make_model, resume, run
from regulargpt.storage.folder import RunFolder
from regulargpt.training import Trainer
from tests.regulargpt.small import EQUAL, config


def exact_model(spec: str, C: int = 2) -> tuple[RegularGPT, Certifier]:
    task = languages.get(spec)
    settings = configuration(spec, chunk_size=C)
    return constructed(settings.model, task, settings.recipe.removeprefix("constructed-")), Certifier.of(task, C)


def anchors_of(spec: str, C: int = 2) -> tuple[RegularGPT, Anchors]:
    model, certifier = exact_model(spec, C)
    verdict = certifier.judge(model)
    assert verdict.certain
    assert verdict.wrong is None
    assert verdict.table is not None
    return model, verdict.table()


@pytest.mark.parametrize("C", [2, 3, 4])
@pytest.mark.parametrize("spec", ["parity", "even-pairs", "cycle-navigation", "tomita-2"])
def test_made_weights_are_certified_for_every_chunk_size(spec: str, C: int):
    model, certifier = exact_model(spec, C)
    snapped = certifier.certify(model)
    assert snapped.certain
    assert snapped.proof.is_homomorphism
    assert len(snapped.book) == len(set(snapped.proof.pairs[:, 0].tolist()))


@pytest.mark.parametrize("spec", ["dyck-3", "dyck-4", "tomita-3", "symmetric-3", "flip-flop", "aa-star"])
def test_made_weights_of_larger_monoids_are_certified(spec: str):
    model, certifier = exact_model(spec)
    assert certifier.certify(model).certain


def test_weights_of_another_language_are_refuted_by_their_shortest_word():
    model, _ = exact_model("parity")
    wrong = Certifier.of(languages.get("even-pairs"), 2).certify(model).proof.wrong
    assert wrong == (1,)  # parity says odd, Even Pairs equal


def test_of_exact_weights_the_loss_is_that_of_the_answers_alone():
    model, anchors = anchors_of("parity")
    model.train()
    seed_counted(model, 0, 0)
    training = TrainingConfig(anchor_windows=64, anchor_noise=0.0, anchor_contraction=0.0)
    loss, near = anchors.loss(model, training, 1.0)
    answers = cross_entropy(model.readout(anchors.prototypes), anchors.answers)
    assert near == 1.0
    assert loss.item() == pytest.approx(answers.item(), abs=0.05)  # the mean over windows weighs prototypes otherwise


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("spec", ["parity", "tomita-3", "dyck-2", "modular-arithmetic:plus=true,modulus=2"])
def test_the_true_table_composes_the_functions_of_its_windows(spec: str, C: int):
    task = languages.get(spec)
    certifier = Certifier.of(task, C)
    outputs = len(task.machine.output_names)
    untrained = RegularGPT(len(task.alphabet), outputs, chunk_size=C, d_model=8, n_heads=2, d_ff=8)
    book = next(by_class(Exact(untrained), certifier.ideal))
    table = Anchors.true(certifier.question, certifier.ideal, book)
    machine = task.machine.minimise()
    monoid = certifier.question.transitions
    functions, symbols = monoid.elements[book.elements], machine.table.T
    for windows, images, of in (
        (table.windows, table.images, functions),
        (table.leaf_windows, table.leaf_images, symbols),
    ):
        for window, image in zip(windows.tolist(), images.tolist(), strict=True):
            f = np.arange(machine.n_states)
            for child in reversed(window):
                f = of[child - 1][f] if child else f
            assert np.array_equal(functions[image], f)
    answers = table.answers.numpy()
    ends = machine.output_table[functions[:, machine.initial_index]]
    assert np.array_equal(answers[answers >= 0], ends[answers >= 0])
    assert (answers >= 0).any()


def test_of_the_windows_drawn_half_are_as_many_for_each_image():
    _, anchors = anchors_of("dyck-3")
    share = anchors.images.bincount() / len(anchors.images)
    drawn = anchors.draw(100_000, torch.Generator().manual_seed(0))
    assert drawn.unique().tolist() == list(range(len(anchors.windows)))
    found = anchors.images[drawn].bincount() / len(drawn)
    asked = 0.5 * share + 0.5 * (share > 0) / (share > 0).sum()
    assert share.max() > 10 * share[share > 0].min()
    assert (found - asked).abs().max() < 0.01


def test_half_of_a_step_are_the_windows_farthest_off():
    model, anchors = anchors_of("tomita-2", C=3)
    wrong = anchors.images.clone()
    wrong[7] = (wrong[7] + 1) % len(anchors.prototypes)
    asked = dataclasses.replace(anchors, images=wrong)
    windows, children = asked.worst(model, 40, 0.0, torch.Generator().manual_seed(0))
    assert children.shape == (40, 3, model.pad.shape[1])
    assert torch.equal(children, asked.children(model, windows))
    drawn = asked.draw(160, torch.Generator().manual_seed(0))
    # As often as it is drawn at all, it is among the first half.
    assert (windows[:20] == 7).sum() == (drawn == 7).sum() > (windows[20:] == 7).sum()


def test_windows_over_states_take_the_states_and_prototypes_where_there_are_none():
    model, anchors = anchors_of("parity")
    below = torch.tensor([0, 3, 3])
    states = torch.randn(3, anchors.prototypes.shape[1], generator=torch.Generator().manual_seed(0))
    every = torch.arange(len(anchors.windows))
    children = anchors.over(model, every, below, states)
    last = {int(anchors.images[b]): i for i, b in enumerate(below.tolist())}
    for window, found in zip(anchors.windows.tolist(), children, strict=True):
        for child, state in zip(window, found, strict=True):
            if not child:
                assert torch.equal(state, model.pad[0])
            elif child - 1 in last:
                assert torch.equal(state, states[last[child - 1]])
            else:
                assert torch.equal(state, anchors.prototypes[child - 1])


def test_the_true_table_is_given_where_few_enough_windows_are_missed():
    model = RegularGPT(2, 2, chunk_size=2, d_model=32, n_heads=2, d_ff=32)
    certifier = Certifier.of(languages.get("dyck-2"), 2)
    book = next(by_class(Exact(model), certifier.ideal))
    missed = misses(Exact(model), certifier.ideal, book)
    assert 0 < missed < 1
    assert certifier.judge(model, None, 0.0).table is None
    assert certifier.judge(model, None, 0.99 * missed).table is None
    verdict = certifier.judge(model, None, missed)
    assert not verdict.certain
    assert verdict.table is not None
    prototypes = verdict.table().prototypes
    assert torch.pdist(prototypes).min() > 0.95 * 0.6 * prototypes.shape[1] ** 0.5


@pytest.mark.parametrize("language", ["regex:(0|1)*", "cyclic-1"])
def test_a_language_whose_words_are_all_alike_is_not_certified(language: str, tmp_path: Path):
    with pytest.raises(UserError, match=r"^all words of .* are alike: there is nothing to prove"):
        Certifier.of(languages.get(language), 2)
    notices: list[str] = []
    settings = config("regulargpt", task__language=language, training__certify_every=4)
    assert run(settings, tmp_path / "run", Watch(on_notice=notices.append))["proven"] is None
    assert notices[0].startswith("no certificate is tried: all words of ")


def test_asked_with_anchors_the_certificate_is_by_their_prototypes_or_the_networks_own():
    model, anchors = anchors_of("dyck-2")
    certifier = Certifier.of(languages.get("dyck-2"), 2)
    moved = dataclasses.replace(anchors, prototypes=anchors.prototypes + 0.01)
    verdict = certifier.judge(model, moved)
    assert verdict.certain
    assert verdict.table is not None
    assert verdict.table() is moved
    nowhere = dataclasses.replace(anchors, prototypes=torch.zeros_like(anchors.prototypes))
    verdict = certifier.judge(model, nowhere)
    assert verdict.certain
    assert verdict.table is not None
    assert torch.equal(verdict.table().prototypes, anchors.prototypes)


def in_anchoring(
    steps: int, missed: dict[int, float], certain_from: int = 1000, anchor_steps: int = 10
) -> tuple[Trainer, list]:
    """A trainer whose certificate is asked every 5 steps; `missed` at each of them, and what it was asked with."""
    settings = config(
        "regulargpt",
        task__language="parity",
        training__certify_every=5,
        training__anchor_steps=anchor_steps,
        training__anchor_windows=6,
        training__anchor_missed=0.5,
        training__steps=steps,
        training__curriculum=(4,),
        training__stage_below=1e-9,
        model__d_model=4,
    )
    _, anchors = anchors_of("parity")
    task = languages.get("parity")
    goal = objective(task, settings)
    model = make_model(settings.model, goal, 0, torch.device("cpu"))
    trainer = Trainer(settings, task, goal, model, torch.device("cpu"))
    asked = []

    def judge(model: object, known: Anchors | None, allowed: float) -> Verdict:
        step = trainer.progress.step
        asked.append((step, known is not None, allowed))
        share = missed.get(step, 0.0)
        return Verdict(step >= certain_from, (lambda: anchors) if share <= allowed else None, (1,), share)

    trainer.judge = judge
    return trainer, asked


def weights(trainer: Trainer) -> list[Tensor]:
    return [tensor.clone() for tensor in trainer.model.state_dict().values()]


def test_an_anchoring_without_certificate_begins_anew_where_it_mends():
    trainer, asked = in_anchoring(60, {5: 0.4, 15: 0.2, 25: 0.1, 35: 0.05}, certain_from=45)
    seen = []
    while not trainer.finished:
        trainer.step()
        progress = trainer.progress
        if progress.step % 5 == 0:
            seen.append((progress.step, progress.anchored_at, progress.certified_at))
    # Anchored at 5, anew at 15, 25 and 35; certified at 45, 10 steps more.
    assert seen == [
        *((5, 5, None), (10, 5, None), (15, 15, None), (20, 15, None), (25, 25, None), (30, 25, None)),
        *((35, 35, None), (40, 35, None), (45, 35, 45), (50, 35, 45), (55, 35, 45)),
    ]
    assert trainer.before is None
    # By the anchors at the end only.
    assert asked == [(step, step == 55, 0.5) for step in (5, 10, 15, 20, 25, 30, 35, 40, 45, 55)]


def test_an_anchoring_that_mends_too_little_is_given_up_and_leaves_no_trace():
    trainer, asked = in_anchoring(40, {5: 0.4, 10: 0.9, 15: 0.3, 20: 0.3, 25: 0.2, 35: 0.1})
    found = {}
    while not trainer.finished:
        trainer.step()
        found[trainer.progress.step] = (trainer.progress.anchored_at, weights(trainer))
    assert [found[step][0] for step in (5, 10, 15, 20, 25, 30, 35, 40)] == [5, 5, None, None, 25, 25, 35, None]
    assert not torch.equal(found[14][1][0], found[5][1][0])
    assert all(torch.equal(a, b) for a, b in zip(found[15][1], found[5][1], strict=True))
    # The second, begun anew at 35, ends with the run.
    assert all(torch.equal(a, b) for a, b in zip(found[40][1], found[25][1], strict=True))
    # Half as much may be missed after one was given up.
    assert [allowed for *_, allowed in asked] == [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25]
    assert trainer.progress.given_up == 2


def test_without_steps_for_it_nothing_is_anchored():
    # Nothing of the table is missed, and still the certificate is not certain.
    trainer, asked = in_anchoring(12, {}, anchor_steps=0)
    before = weights(trainer)
    for _ in range(5):
        trainer.step()
    while not trainer.finished:
        assert trainer.anchors is None
        last = weights(trainer)
        trainer.step()
        assert not torch.equal(last[0], weights(trainer)[0])
    assert not torch.equal(before[0], last[0])
    assert [step for step, *_ in asked] == [5, 10, 12]


def test_no_anchoring_begins_at_the_last_step():
    trainer, _ = in_anchoring(10, {5: 0.9, 10: 0.1})
    while not trainer.finished:
        trainer.step()
    assert trainer.anchors is None
    assert trainer.progress.anchored_at is None


@pytest.mark.parametrize("stop_at", [5, 7, 12, 15, 22])
def test_an_anchoring_that_is_given_up_is_so_after_a_stop_too(tmp_path: Path, stop_at: int):
    shares = {5: 0.4, 15: 0.3, 20: 0.2}
    whole, _ = in_anchoring(30, shares)
    while not whole.finished:
        whole.step()
    first, _ = in_anchoring(30, shares)
    while first.progress.step < stop_at:
        first.step()
    folder = RunFolder.create(tmp_path / "run", first.config.render(), {})
    first.save(folder)
    second, _ = in_anchoring(30, shares)
    assert second.load(folder) == ()
    assert second.progress == first.progress
    while not second.finished:
        second.step()
    assert second.progress == whole.progress
    assert all(torch.equal(a, b) for a, b in zip(weights(whole), weights(second), strict=True))


def test_noise_is_none_on_the_pad_and_the_asked_strength_elsewhere():
    _, anchors = anchors_of("parity")
    windows = torch.tensor([[1, 0], [1, 2]]).repeat(4000, 1)
    noise = anchors.noise(windows, 0.5, torch.Generator().manual_seed(0))
    assert not noise[windows == 0].any()
    rms = anchors.prototypes.square().mean().sqrt().item()
    # The strength is uniform on 0..1: its mean square is a third.
    assert noise[windows > 0].square().mean().item() == pytest.approx((0.5 * rms) ** 2 / 3, rel=0.05)


def test_anchors_come_back_from_a_checkpoint():
    _, anchors = anchors_of("parity")
    assert anchors.separation > 0
    back = Anchors.load(anchors.state())
    assert list(back.state()) == ["prototypes", "answers", "leaf_windows", "leaf_images", "windows", "images"]
    assert all(torch.equal(a, b) for a, b in zip(anchors.state().values(), back.state().values(), strict=True))


def test_progress_ends_after_the_anchoring_and_undoes_a_cooldown_without_certificate():
    training = TrainingConfig(
        steps=50, solved_below=9.0, cooldown=5, loss_memory=0.5, certify_every=2, anchor_steps=10, warmup=0
    )
    progress = Progress()
    rates = []
    for _ in range(20):
        rates.append(progress.lr(training))
        progress = progress.after(1.0, training)
    assert progress.last_step(training) == 50
    # Solved at step 4, cooled down to a fifth of the rate, and then up again.
    assert [round(rate / training.lr, 3) for rate in rates[:11]] == [1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 1, 1]
    certified = Progress(step=20, anchored_at=20, certified_at=20)
    assert certified.last_step(training) == 30
    anchored = [dataclasses.replace(certified, step=20 + i) for i in range(11)]
    # Whether it still holds is asked at the end only.
    assert [progress.asks_for_certificate(training) for progress in anchored] == [False] * 10 + [True]
    rates = [progress.lr(training) / training.anchor_lr for progress in anchored]
    assert rates[:5] == [1.0] * 5
    assert rates[-1] == 0.0
    assert rates == sorted(rates, reverse=True)
    at_once = dataclasses.replace(training, anchor_steps=0)
    assert (certified.last_step(at_once), certified.lr(at_once)) == (20, 0.0)


def test_words_near_a_wrong_one_are_asked_and_differ_in_two_symbols_at_most():
    task = languages.get("modular-arithmetic:plus=true")
    word = tuple(task.machine.encode("+2*3-4").tolist())
    near = words_near(task, word, seed=1, step=5, count=500)
    assert (near != np.array(word)).sum(1).max() == 2
    assert task.domain is not None
    assert task.domain.accepts(near).all()
    assert (task.labels(near) >= 0).all()
    assert np.array_equal(near, words_near(task, word, seed=1, step=5, count=500))


def test_after_a_cooldown_without_certificate_every_fourth_step_is_near_the_wrong_word():
    settings = config("regulargpt", task__language="parity", task__supervision="last", training__compositions=0)
    settings = settings.replaced({"training.alignment": 0.0})
    task = languages.get("parity")
    goal = objective(task, settings)
    model = make_model(settings.model, goal, 0, torch.device("cpu"))
    trainer = Trainer(settings, task, goal, model, torch.device("cpu"), wrong=(1, 0, 1))
    assert all(trainer.near_wrong(8) is None for _ in range(8))
    trainer.progress = Progress(step=8, cooldowns=1)
    near = trainer.near_wrong(8)
    assert near is not None
    assert near.shape == (8, 3)
    assert trainer.near_wrong(2) is None
    trainer.step()
    trainer.progress = Progress(step=9, cooldowns=1)
    assert trainer.near_wrong(8) is None


class Stop(Exception):
    """An interruption at a chosen step."""


@pytest.mark.parametrize("stop_at", [11, 12, 14, 20, 23])
def test_an_anchored_run_stopped_and_resumed_ends_with_the_same_bytes(tmp_path: Path, monkeypatch, stop_at: int):
    settings = config(
        "regulargpt",
        task__language="parity",
        task__supervision="last",
        training__compositions=0,
        training__alignment=0.0,
        training__certify_every=4,
        training__anchor_steps=11,
        training__anchor_windows=6,
        training__curriculum=(),
        training__stage_below=0.0,
        model__d_model=4,
    )
    _, anchors = anchors_of("parity")

    def judge(self: Certifier, model: RegularGPT, known: Anchors | None, allowed: float) -> Verdict:
        # No model so small is certified; from step 12 on, training goes on with the table of another of its width.
        asked.append(1)
        return Verdict(True, lambda: anchors) if len(asked) > 2 else Verdict(wrong=(1, 0, 1))

    monkeypatch.setattr(Certifier, "judge", judge)
    asked: list[int] = []
    whole = run(settings, tmp_path / "whole")
    assert (whole["certified_at"], whole["steps"]) == (12, 23)

    def stop(trainer: Trainer) -> None:
        if trainer.progress.step == stop_at:
            trainer.save(RunFolder(tmp_path / "stopped"))
            raise Stop

    asked.clear()
    with pytest.raises(Stop):
        run(settings, tmp_path / "stopped", Watch(on_step=stop))
    resume(tmp_path / "stopped")
    for name in EQUAL:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()


def test_a_language_too_large_to_certify_is_trained_all_the_same(tmp_path: Path, monkeypatch):
    from languages.errors import AutomatonError

    def refuse(*_: object) -> None:
        raise AutomatonError("the transition monoid has more than 20000 elements")

    monkeypatch.setattr(Certifier, "of", refuse)
    notices: list[str] = []
    settings = config("regulargpt", training__certify_every=4)
    summary = run(settings, tmp_path / "run", Watch(on_notice=notices.append))
    assert summary["proven"] is None
    assert notices == ["no certificate is tried: the transition monoid has more than 20000 elements"]


@pytest.mark.slow
def test_parity_is_certified_in_training_and_right_without_snapping(tmp_path: Path):
    from regulargpt.recipes import CERTIFY, resolve

    fields = {**CERTIFY, "evaluation.samples": 64, "evaluation.test_len": 60, "evaluation.beyond": (100_000,)}
    settings = resolve("robust", "regulargpt", "parity", "uniform").replaced(fields)
    summary = run(settings, tmp_path / "run")
    assert summary["proven"]
    assert summary["certified_at"] < 2000
    assert summary["accuracy"]["100000"] == 100
    assert (tmp_path / "run" / "certificate.json").exists()
    certificate = (tmp_path / "run" / "certificate.json").read_bytes()
    (tmp_path / "run" / "certificate.json").unlink()
    resume(tmp_path / "run")
    assert (tmp_path / "run" / "certificate.json").read_bytes() == certificate
