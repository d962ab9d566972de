"""Training until the certificate holds, and then on the certified table."""

import dataclasses
import json
import signal
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import save
from torch import Tensor
from torch.nn.functional import cross_entropy

import languages
from languages.automata import MooreMachine
from languages.convert.json_text import to_json
from languages.errors import AutomatonError, UserError
from regulargpt.certificate import outcome as outcomes
from regulargpt.certificate.search.certify import Certifier, QuantisedNetwork
from regulargpt.certificate.search.codebook import codebooks, missed_share, right_table
from regulargpt.certificate.tuning.fine_tuning import CertificationAttempt, TrainingTable, apply_map
from regulargpt.certificate.tuning.last_layer import solve_last_layer
from regulargpt.certificate.tuning.phase import WARMUP, TableFineTuning
from regulargpt.certificate.tuning.stability import StabilityCheck, is_small
from regulargpt.certificate.tuning.state import TuningState
from regulargpt.certificate.unquantised import search_balls, search_in_training
from regulargpt.config.schema import RunConfig, TrainingOptions
from regulargpt.construct.configuration import configuration
from regulargpt.construct.weights import constructed
from regulargpt.data import read_data
from regulargpt.finite import levels
from regulargpt.finite.float64_network import Float64Network
from regulargpt.models.layers import seed_counted
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.options import as_mapping
from regulargpt.runs.run import Watch, resume, run
from regulargpt.storage.folder import RunFolder
from regulargpt.training.progress import Plan, Progress
from regulargpt.training.table_fine_tuning import TableFineTuningOptions
from regulargpt.training.trainer import Interrupted, Trainer
from tests.regulargpt.exact_trees import as_config, certificate_of
from tests.regulargpt.small import COMMON, EQUAL, config, trainer_of


def exact_model(spec: str, C: int = 2) -> tuple[RegularGPT, Certifier]:
    task = languages.get(spec)
    settings = configuration(spec, chunk_size=C)
    return constructed(settings.model, task, settings.recipe.removeprefix("constructed-")), Certifier.of(task, C)


def table_of(spec: str, C: int = 2) -> tuple[RegularGPT, TrainingTable]:
    model, certifier = exact_model(spec, C)
    attempt = certifier.attempt(model)
    assert attempt.certain
    assert attempt.wrong is None
    assert attempt.table is not None
    return model, attempt.table()


SMALL = product(["parity", "even-pairs", "cycle-navigation", "tomita-2"], [2, 3, 4])
LARGER = product(["dyck-3", "dyck-4", "tomita-3", "symmetric-3", "flip-flop", "aa-star"], [2])


@pytest.mark.parametrize(("spec", "C"), [*SMALL, *LARGER])
def test_made_weights_are_certified_for_every_chunk_size(spec: str, C: int):
    model, certifier = exact_model(spec, C)
    quantised = certifier.certify(model)
    assert quantised.certain
    assert quantised.proof.is_homomorphism == (spec != "flip-flop")
    assert len(quantised.book) == len(set(quantised.proof.pairs[:, 0].tolist()))


def test_weights_of_another_language_are_refuted_by_their_shortest_word():
    model, _ = exact_model("parity")
    wrong = Certifier.of(languages.get("even-pairs"), 2).certify(model).proof.wrong
    assert wrong == (1,)  # parity says odd, Even Pairs equal


def test_of_exact_weights_the_loss_is_that_of_the_answers_alone():
    model, table = table_of("parity")
    model.train()
    seed_counted(model, 0, 0)
    loss, near = table.loss(model, n_windows=64, noise=0.0, contraction=0.0, left=1.0)
    answers = cross_entropy(model.readout(table.prototypes), table.answers)
    assert near == 1.0
    assert loss.item() == pytest.approx(answers.item(), abs=0.05)  # the mean over windows weighs prototypes otherwise


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("spec", ["parity", "tomita-3", "dyck-2", "modular-arithmetic:plus=true,modulus=2"])
def test_the_true_table_composes_the_functions_of_its_windows(spec: str, C: int):
    task = languages.get(spec)
    certifier = Certifier.of(task, C)
    outputs = len(task.machine.output_names)
    untrained = RegularGPT(len(task.alphabet), outputs, chunk_size=C, d_model=8, n_heads=2, d_ff=8)
    book = next(codebooks(Float64Network(untrained), certifier.target))
    table = certifier.true_table(book)
    machine = task.machine.minimise()
    monoid = certifier.specification.task_monoid
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
    _, table = table_of("dyck-3")
    share = table.images.bincount() / len(table.images)
    drawn = table.draw(100_000, torch.Generator().manual_seed(0))
    assert drawn.unique().tolist() == list(range(len(table.windows)))
    found = table.images[drawn].bincount() / len(drawn)
    expected = 0.5 * share + 0.5 * (share > 0) / (share > 0).sum()
    assert share.max() > 10 * share[share > 0].min()
    assert (found - expected).abs().max() < 0.01


def test_half_of_a_step_are_the_windows_farthest_off():
    model, table = table_of("tomita-2", C=3)
    wrong = table.images.clone()
    wrong[7] = (wrong[7] + 1) % len(table.prototypes)
    changed = dataclasses.replace(table, images=wrong)
    windows, children = changed.draw_hard(
        model, 40, partial(changed.noise, level=0.0), torch.Generator().manual_seed(0), changed.squared_errors
    )
    assert children.shape == (40, 3, model.pad.shape[1])
    assert torch.equal(children, changed.children(model, windows))
    drawn = changed.draw(160, torch.Generator().manual_seed(0))
    # As often as it is drawn at all, it is among the first half.
    assert (windows[:20] == 7).sum() == (drawn == 7).sum() > (windows[20:] == 7).sum()


@pytest.mark.parametrize("spec", ["parity", "cycle-navigation", "dyck-2"])
def test_the_drift_is_that_of_trees_over_the_states_that_are_farthest_off(spec: str):
    model, table = table_of(spec)
    model, K = model.eval(), len(table.prototypes)
    noise = torch.randn(table.prototypes.shape, generator=torch.Generator().manual_seed(0))
    table = dataclasses.replace(table, prototypes=table.prototypes + 0.1 * noise)
    worst, farthest = list(table.prototypes), 0.0
    for _ in range(16):
        found: dict[int, list[torch.Tensor]] = {k: [] for k in range(K)}
        for window, image in zip(table.windows.tolist(), table.images.tolist(), strict=True):
            children = [worst[child - 1] if child else model.absent[0] for child in window]
            present = torch.tensor([[bool(child) for child in window]])
            with torch.no_grad():
                found[image].append(apply_map(model, torch.stack(children)[None], present.long())[0])
        for k, states in found.items():
            if states:
                worst[k] = max(states, key=lambda state: (state - table.prototypes[k]).norm().item())
                farthest = max(farthest, (worst[k] - table.prototypes[k]).norm().item())
    assert table.drift(model, seed=0) == pytest.approx(farthest / (0.5 * table.separation), rel=1e-3)


def test_the_drift_of_states_that_are_no_numbers_is_none_and_that_of_equal_prototypes_infinite():
    model, table = table_of("parity")
    alike = dataclasses.replace(table, prototypes=table.prototypes[:1].expand(2, -1).contiguous())
    assert alike.drift(model.eval(), seed=0) == float("inf")
    with torch.no_grad():
        for weight in model.parameters():
            weight.fill_(float("nan"))
    assert not table.drift(model, seed=0) < 0.5


def test_the_drift_over_a_large_table_is_that_of_as_many_random_windows_a_level(monkeypatch: pytest.MonkeyPatch):
    model, table = table_of("dyck-2")
    table = dataclasses.replace(table, prototypes=1.1 * table.prototypes)
    monkeypatch.setattr(f"{TrainingTable.__module__}.ROUNDS", 1)
    whole = table.drift(model.eval(), seed=0)
    monkeypatch.setattr(f"{TrainingTable.__module__}.NODES", 5)
    some = [table.drift(model, seed) for seed in (0, 0, 1, 2, 3)]
    assert some[0] == some[1]
    assert len(set(some)) > 1
    assert max(some) <= whole


def test_the_table_of_a_certified_network_teaches_no_answer_that_no_word_needs():
    model, certifier = exact_model("modular-arithmetic:plus=true,modulus=2", 2)
    quantised = certifier.certify(model)
    assert quantised.certain
    answers = quantised.training_table().answers
    assert ((answers == -1).numpy() == ~quantised.has_answer).all()
    assert 0 < (answers == -1).sum() < len(answers)
    assert torch.equal(answers.sort().values, certifier.true_table(quantised.book).answers.sort().values)


def test_the_true_table_is_given_where_few_enough_windows_are_missed():
    model = RegularGPT(2, 2, chunk_size=2, d_model=32, n_heads=2, d_ff=32)
    certifier = Certifier.of(languages.get("dyck-2"), 2)
    book = next(codebooks(Float64Network(model), certifier.target))
    missed = missed_share(Float64Network(model), certifier.target, book)
    assert 0 < missed < 1
    assert certifier.attempt(model, None, 0.0).table is None
    assert certifier.attempt(model, None, 0.99 * missed).table is None
    attempt = certifier.attempt(model, None, missed)
    assert not attempt.certain
    assert attempt.table is not None
    prototypes = attempt.table().prototypes
    assert torch.pdist(prototypes).min() > 0.95 * 0.6 * prototypes.shape[1] ** 0.5


@pytest.mark.parametrize("language", ["regex:(0|1)*", "cyclic-1"])
def test_a_language_whose_words_are_all_alike_is_not_certified(language: str, tmp_path: Path):
    with pytest.raises(UserError, match=r"^all words of .* are alike: there is nothing to prove"):
        Certifier.of(languages.get(language), 2)
    notices: list[str] = []
    settings = config("regulargpt", data__name=language, phases__table_fine_tuning__every=4)
    assert run(settings, tmp_path / "run", Watch(on_notice=notices.append))["proven"] is None
    assert notices[0].startswith("phase table_fine_tuning is left out: all words of ")


def test_where_only_the_empty_word_has_another_answer_there_is_nothing_to_prove(tmp_path: Path):
    only_the_empty_word = MooreMachine(("none", "some"), "01", ((1, 1), (1, 1)), "none", (0, 1), ("no", "yes"))
    with pytest.raises(UserError, match=r"^the automaton that was learned gives all words the same answer"):
        Certifier.of_machine(only_the_empty_word, 2)
    file = tmp_path / "empty.json"
    file.write_text(to_json(only_the_empty_word))
    with pytest.raises(UserError, match=r"^all words of .* are alike"):
        Certifier.of(languages.get(f"dfa:{file}"), 2)


def test_asked_with_a_table_the_certificate_is_by_their_prototypes_or_the_networks_own():
    model, table = table_of("dyck-2")
    certifier = Certifier.of(languages.get("dyck-2"), 2)
    moved = dataclasses.replace(table, prototypes=table.prototypes + 0.01)
    attempt = certifier.attempt(model, moved)
    assert attempt.certain
    assert attempt.table is not None
    assert attempt.table() is moved
    nowhere = dataclasses.replace(table, prototypes=torch.zeros_like(table.prototypes))
    attempt = certifier.attempt(model, nowhere)
    assert attempt.certain
    assert attempt.table is not None
    assert torch.equal(attempt.table().prototypes, table.prototypes)


PARITY = {
    "data__name": "parity",
    "objective__name": "last",
    "phases__table_fine_tuning__windows": 6,
    "model__d_model": 4,
}


def config_of(**changes) -> RunConfig:
    """A RegularGPT on Parity, small enough for the table of `table_of`."""
    base = RunConfig().replaced({**COMMON, "model.n_heads": 2, "model.state_noise": 0.1})
    return base.replaced({key.replace("__", "."): value for key, value in {**PARITY, **changes}.items()})


def phase_of(trainer: Trainer) -> TableFineTuning:
    """The only further phase."""
    (phase,) = trainer.further
    assert isinstance(phase, TableFineTuning)
    return phase


def in_fine_tuning(
    steps: int, missed: dict[int, float], certain_from: int = 1000, table_steps: int = 10, **on_the_table: int
) -> tuple[Trainer, list]:
    """A trainer whose certificate is asked every 5 steps; `missed` at each of them, and what it was asked with."""
    on_the_table = ({"windows": 512} if table_steps else {}) | on_the_table
    settings = config_of(
        phases__table_fine_tuning__every=5,
        phases__table_fine_tuning__steps=table_steps,
        **{f"phases__table_fine_tuning__{option}": value for option, value in on_the_table.items()},
        phases__table_fine_tuning__max_error_share=0.5,
        training__steps=steps,
        training__curriculum=(4,),
        training__stage_loss=1e-9,
    )
    _, table = table_of("parity")
    trainer = trainer_of(settings)
    asked = []

    def attempt(model: object, known: TrainingTable | None, allowed: float) -> CertificationAttempt:
        step = trainer.step_count
        asked.append((step, known is not None, allowed))
        share = missed.get(step, 0.0)
        return CertificationAttempt(step >= certain_from, (lambda: table) if share <= allowed else None, (1,), share)

    phase_of(trainer).attempt = attempt
    phase_of(trainer).let_in = lambda trainer: None
    return trainer, asked


def finish(trainer: Trainer) -> Trainer:
    """Train to the end."""
    while not trainer.finished:
        trainer.step()
    return trainer


def weights(trainer: Trainer) -> list[Tensor]:
    return [tensor.clone() for tensor in trainer.model.state_dict().values()]


def test_a_fine_tuning_without_certificate_begins_anew_where_it_mends():
    trainer, asked = in_fine_tuning(60, {5: 0.4, 15: 0.2, 25: 0.1, 35: 0.05}, certain_from=45)
    seen = []
    while not trainer.finished:
        trainer.step()
        standing = phase_of(trainer).standing
        if trainer.step_count % 5 == 0:
            seen.append((trainer.step_count, standing.began_at, standing.certified_at))
    # Begun at 5, anew at 15, 25 and 35; certified at 45, 10 steps more.
    assert seen == [
        *((5, 5, None), (10, 5, None), (15, 15, None), (20, 15, None), (25, 25, None), (30, 25, None)),
        *((35, 35, None), (40, 35, None), (45, 35, 45), (50, 35, 45), (55, 35, 45)),
    ]
    steps = {"began_at": 35, "certified_at": 45}
    assert phase_of(trainer).summary() == {**steps, "proven_unquantised": None}
    # By the table at the end only.
    assert asked == [(step, step == 55, 0.5) for step in (5, 10, 15, 20, 25, 30, 35, 40, 45, 55)]


def test_a_fine_tuning_that_mends_too_little_is_given_up_and_leaves_no_trace():
    trainer, asked = in_fine_tuning(40, {5: 0.4, 10: 0.9, 15: 0.3, 20: 0.3, 25: 0.2, 35: 0.1})
    found = {}
    while not trainer.finished:
        trainer.step()
        found[trainer.step_count] = (phase_of(trainer).standing.began_at, weights(trainer))
    assert [found[step][0] for step in (5, 10, 15, 20, 25, 30, 35, 40)] == [5, 5, None, None, 25, 25, 35, None]
    assert not torch.equal(found[14][1][0], found[5][1][0])
    assert all(torch.equal(a, b) for a, b in zip(found[15][1], found[5][1], strict=True))
    # The second, begun anew at 35, ends with the run.
    assert all(torch.equal(a, b) for a, b in zip(found[40][1], found[25][1], strict=True))
    # Half as much may be missed after one was given up.
    assert [allowed for *_, allowed in asked] == [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25]
    assert phase_of(trainer).standing.given_up == 2


@pytest.mark.parametrize("part", [1, 128])
def test_a_large_table_is_mended_to_the_end_with_prototypes_that_go_on_learning(
    monkeypatch: pytest.MonkeyPatch, part: int
):
    monkeypatch.setattr(f"{TuningState.__module__}.PART", part)
    trainer, asked = in_fine_tuning(60, {}, certain_from=5, windows=1)
    phase = phase_of(trainer)
    places = []
    while not trainer.finished:
        trainer.step()
        if phase.tuned is not None and phase.tuned.free is not None:
            places.append(phase.tuned.free.before.detach().clone())
    assert phase.standing.certified_at == 5
    # Of a large table the prototypes move, so it is not by those of the beginning that the certificate is tried.
    assert [known for _, known, _ in asked] == [False, part > 1]
    assert bool(places) == (part == 1)
    assert part > 1 or not torch.equal(places[0], places[-2])


def test_while_the_table_is_trained_on_the_words_wait():
    trainer, _ = in_fine_tuning(12, {5: 0.4})
    for _ in range(5):
        trainer.step()
    words = trainer.words.progress
    assert trainer.phase is phase_of(trainer)
    for _ in range(4):
        trainer.step()
    assert trainer.words.progress == words
    assert trainer.log_row().keys() == {"step", "loss", "accuracy", "near", "longest", "noise", "lr"}
    # The rate rises over the first 50 steps, and falls in the last six.
    assert trainer.phase.optimiser(trainer).param_groups[0]["lr"] == pytest.approx(2e-3 * 4 / WARMUP)


def test_without_steps_for_it_nothing_is_trained_on_the_table():
    # Nothing of the table is missed, and still the certificate is not certain.
    trainer, asked = in_fine_tuning(12, {}, table_steps=0)
    before = weights(trainer)
    for _ in range(5):
        trainer.step()
    while not trainer.finished:
        assert phase_of(trainer).tuned is None
        last = weights(trainer)
        trainer.step()
        assert not torch.equal(last[0], weights(trainer)[0])
    assert not torch.equal(before[0], last[0])
    assert [step for step, *_ in asked] == [5, 10, 12]


def test_no_fine_tuning_begins_at_the_last_step():
    trainer, _ = in_fine_tuning(10, {5: 0.9, 10: 0.1})
    finish(trainer)
    assert phase_of(trainer).tuned is None
    assert phase_of(trainer).standing.began_at is None


@pytest.mark.parametrize("stop_at", [5, 7, 12, 15, 22])
def test_a_fine_tuning_that_is_given_up_is_so_after_a_stop_too(tmp_path: Path, stop_at: int):
    shares = {5: 0.4, 15: 0.3, 20: 0.2}
    whole, _ = in_fine_tuning(30, shares)
    finish(whole)
    first, _ = in_fine_tuning(30, shares)
    while first.step_count < stop_at:
        first.step()
    folder = RunFolder.create(tmp_path / "run", first.config.render(), {})
    first.save(folder)
    second, _ = in_fine_tuning(30, shares)
    assert second.load(folder) == ()
    assert (second.words.state(), phase_of(second).standing) == (first.words.state(), phase_of(first).standing)
    finish(second)
    assert (second.words.state(), phase_of(second).standing) == (whole.words.state(), phase_of(whole).standing)
    assert all(torch.equal(a, b) for a, b in zip(weights(whole), weights(second), strict=True))


def settling(monkeypatch: pytest.MonkeyPatch, steps: int = 20, certain: tuple[int, int] = (5, 1000)) -> Trainer:
    """A trainer certified from the first of two steps on to the second, which settles after 5 steps for 10."""
    monkeypatch.setattr(TrainingTable, "drift", lambda table, model, seed: 2.0)
    trainer, _ = in_fine_tuning(steps, {}, table_steps=5, settling=10)
    attempt = phase_of(trainer).attempt

    def attempt_at(*asked) -> CertificationAttempt:
        return dataclasses.replace(attempt(*asked), certain=certain[0] <= trainer.step_count <= certain[1])

    phase_of(trainer).attempt = attempt_at
    return trainer


@pytest.mark.parametrize("steps", [12, 100])
@pytest.mark.parametrize("is_large", [False, True])
def test_a_certified_network_that_drifts_after_its_steps_settles(
    monkeypatch: pytest.MonkeyPatch, steps: int, is_large: bool
):
    """Also past the steps of the training."""
    monkeypatch.setattr(f"{TableFineTuning.__module__}.is_large", lambda *_: is_large)
    trainer, owns = settling(monkeypatch, steps), []
    phase = phase_of(trainer)
    while not trainer.finished:
        trainer.step()
        owns.append(phase.tuned is not None and phase.tuned.own is not None)
        assert not (owns[-1] and phase.tuned.stages is not None)  # type: ignore[union-attr]
    assert trainer.step_count == 20
    assert [step for step, own in enumerate(owns, 1) if own] == list(range(10, 21))
    assert (phase.standing.certified_at, phase.standing.settling_since) == (5, 10)
    assert (phase.summary()["settling_since"], phase.summary()["taken_back"]) == (10, False)


def test_settling_ends_once_states_no_longer_drift_with_the_prototypes_that_it_learned(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(f"{StabilityCheck.__module__}.DRIFT_EVERY", 1)
    trainer, asked = settling(monkeypatch), []
    phase = phase_of(trainer)

    def drift(table: TrainingTable, model: object, seed: int) -> float:
        asked.append(trainer.step_count)
        return 2.0 if trainer.step_count < 16 else 0.4

    monkeypatch.setattr(TrainingTable, "drift", drift)
    finish(trainer)
    assert trainer.step_count == 16
    assert sorted(set(asked)) == [6, 7, 8, 9, 10, 12, 16]
    assert phase.tuned is not None
    assert phase.tuned.free is not None
    assert not torch.equal(phase.tuned.prototypes(trainer.model), phase.tuned.table.prototypes)  # type: ignore[arg-type]


def test_a_network_that_settles_waits_for_less_drift_and_no_more_for_balls(monkeypatch: pytest.MonkeyPatch):
    trainer = settling(monkeypatch)
    phase = phase_of(trainer)
    while trainer.step_count < 12:
        # It did not drift for a while.
        if trainer.step_count == 8:
            phase.standing = dataclasses.replace(phase.standing, steady_since=8)
        trainer.step()
    assert phase.awaited(trainer) == ["attempt holds; drift 2.00, aim 0.5"]


def test_a_network_that_does_not_drift_does_not_settle(monkeypatch: pytest.MonkeyPatch):
    trainer = settling(monkeypatch)
    monkeypatch.setattr(TrainingTable, "drift", lambda table, model, seed: 0.1)
    finish(trainer)
    assert trainer.step_count <= 10
    assert phase_of(trainer).standing.settling_since is None
    assert "settling_since" not in phase_of(trainer).summary()


@pytest.mark.parametrize("steps", [12, 100])
def test_settling_that_loses_the_certificate_is_taken_back(monkeypatch: pytest.MonkeyPatch, steps: int):
    trainer = settling(monkeypatch, steps, certain=(5, 12))
    phase, seen = phase_of(trainer), []
    while not trainer.finished:
        trainer.step()
        if trainer.step_count == 10:
            seen = weights(trainer)
            prototypes = phase.tuned.table.prototypes  # type: ignore[union-attr]
    assert trainer.step_count == 20
    assert all(torch.equal(a, b) for a, b in zip(weights(trainer), seen, strict=True))
    assert phase.tuned is not None
    assert torch.equal(phase.tuned.prototypes(trainer.model), prototypes)
    assert phase.standing.certified_at == 5
    assert phase.summary()["taken_back"]


@pytest.mark.parametrize("stop_at", [9, 10, 14])
def test_a_network_goes_on_settling_where_it_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stop_at: int):
    """The errors that are kept, and the reach, are where they were."""
    whole, first, second = (settling(monkeypatch) for _ in range(3))
    while first.step_count < stop_at:
        first.step()
    folder = RunFolder.create(tmp_path / "run", first.config.render(), {})
    first.save(folder)
    assert second.load(folder) == ()
    tuned = phase_of(second).tuned
    assert tuned is not None
    assert (tuned.own is not None and bool(tuned.own.count.any())) == (stop_at > 10)
    assert ("reach" in first.log_row()) == (stop_at > 10)
    for trainer in (whole, second):
        while trainer.step_count < 19:  # one before the end, while prototypes still learn
            trainer.step()
    places = [phase_of(trainer).tuned.free.before for trainer in (whole, second)]  # type: ignore[union-attr]
    assert torch.equal(*places)
    for trainer in (whole, second):
        trainer.step()
        assert trainer.finished
    assert all(torch.equal(a, b) for a, b in zip(weights(whole), weights(second), strict=True))


def test_settling_is_one_round_of_its_own_steps_whose_rate_falls_late():
    options = TableFineTuningOptions("table_fine_tuning", steps=100, settling=2000)
    certified = TuningState().begun(0, True, 0.0, windows=20)
    assert certified.steps(options) == 100
    settles = dataclasses.replace(certified, settling_since=100)
    assert [settles.left(100 + step, options) for step in (0, 1300, 1650, 2000)] == [1.0, 1.0, 0.5, 0.0]
    assert [step for step in range(1, 2001) if settles.ends_round(100 + step, options)] == [2000]
    assert [settles.ends(100 + step, options) for step in (1999, 2000)] == [False, True]


def test_noise_is_none_on_the_pad_and_the_asked_strength_elsewhere():
    _, table = table_of("parity")
    windows = torch.tensor([[1, 0], [1, 2]]).repeat(4000, 1)
    noise = table.noise(windows, torch.Generator().manual_seed(0), 0.5)
    assert not noise[windows == 0].any()
    rms = table.prototypes.square().mean().sqrt().item()
    # The strength is uniform on 0..1: its mean square is a third.
    assert noise[windows > 0].square().mean().item() == pytest.approx((0.5 * rms) ** 2 / 3, rel=0.05)


def test_a_cooldown_without_certificate_is_undone():
    training = TrainingOptions(steps=50, solved_loss=9.0, cooldown=5, loss_memory=0.5, warmup=0)
    plan, progress = Plan(training, 40, goes_on=True), Progress()
    rates = []
    for step in range(20):
        rates.append(progress.lr(step, plan))
        progress = progress.after(step + 1, 1.0, plan)
    # Solved at step 4, cooled down to a fifth of the rate, and then up again.
    assert [round(rate / training.lr, 3) for rate in rates[:11]] == [1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 1, 1]
    assert progress.cooldowns == 2


@pytest.mark.parametrize("steps", [10, 0])
def test_the_rate_of_a_mending_is_constant_and_falls_to_nothing(steps: int):
    options = TableFineTuningOptions("table_fine_tuning", every=2, steps=steps)
    standing = TuningState().begun(20, certain=False, missed=0.0)
    assert [standing.ends(20 + i, options) for i in range(steps + 1)] == [False] * steps + [True]
    left = [standing.left(20 + i, options) for i in range(steps + 1)]
    assert left == sorted(left, reverse=True)
    assert (left[: steps // 2], left[-1], standing.left(999, options)) == ([1.0] * (steps // 2), 0.0, 0.0)
    assert dataclasses.replace(standing, steady_at=22).ends(22, options)


@pytest.mark.parametrize(("windows", "rounds"), [(6, [500, 1000, 500]), (800, [800, 1200]), (9000, [2000])])
def test_the_rate_of_a_certified_network_falls_to_nothing_again_and_again(windows: int, rounds: list[int]):
    options = TableFineTuningOptions("table_fine_tuning", every=2, steps=2000)
    standing = TuningState().begun(20, certain=True, missed=0.0, windows=windows)
    left = [standing.left(20 + i, options) for i in range(2001)]
    begin = 0
    for length in rounds:
        found, begin = left[begin : begin + length], begin + length
        assert found == sorted(found, reverse=True)
        assert found[: length * 2 // 5] == [1.0] * (length * 2 // 5)
        assert found[-1] == pytest.approx(1 / (0.6 * length))
    assert (begin, left[-1]) == (2000, 0.0)
    assert [i for i in range(1, 2001) if standing.ends_round(20 + i, options)] == np.cumsum(rounds).tolist()
    assert [standing.ends(20 + i, options) for i in (1999, 2000)] == [False, True]


@pytest.mark.parametrize(("slacks", "ends_at"), [([0.0, 5e-5, 5e-4], 18), ([0.0] * 9, 26)])
def test_a_small_table_is_trained_on_until_balls_prove_the_network_as_it_is_or_for_a_while(
    monkeypatch: pytest.MonkeyPatch, slacks: list[float], ends_at: int
):
    phase_module, given = TableFineTuning.__module__, iter(slacks)
    monkeypatch.setattr(f"{StabilityCheck.__module__}.DRIFT_EVERY", 2)
    monkeypatch.setattr(f"{StabilityCheck.__module__}.TIGHTENING", 16)
    monkeypatch.setattr("regulargpt.certificate.tuning.state.ROUND", 7)  # rounds end at 12, 26 and 54
    monkeypatch.setattr(StabilityCheck, "undo_unless_better", lambda *_: False)
    drifts = iter([2.0, 0.4, 0.3, 0.2, 0.09, *[0.05] * 9])
    monkeypatch.setattr(TrainingTable, "drift", lambda table, model, seed: next(drifts))
    monkeypatch.setattr(f"{phase_module}.search_in_training", lambda *_: SimpleNamespace(slack=next(given)))
    weights_of_jacobian = []
    loss = TrainingTable.loss

    def seen(table: TrainingTable, model: object, n: int, noise: float, contraction: float, left: float):
        weights_of_jacobian.append(contraction)
        return loss(table, model, n, noise, contraction, left)  # type: ignore[arg-type]

    monkeypatch.setattr(TrainingTable, "loss", seen)
    trainer, _ = in_fine_tuning(100, {}, certain_from=5, table_steps=50)
    awaited = {}
    while not trainer.finished:
        trainer.step()
        awaited[trainer.step_count] = " ".join(trainer.awaited)
    # Certified at 5, asked at 6, 8, ...: steady since 8, and balls are looked for from 14 on, where the drift is small.
    # The 16 further steps are over at 24, and the round at 26.
    standing = phase_of(trainer).standing
    assert (standing.steady_since, standing.steady_at, trainer.step_count) == (8, ends_at, ends_at)
    assert awaited[7] == "attempt holds; drift 2.00, aim 0.5"
    assert awaited[9] == "attempt holds; waits for a proof without prototypes"
    assert weights_of_jacobian == [0.3] * 3 + [10.0] * (ends_at - 8)


def test_of_a_table_that_is_not_small_balls_are_looked_for_where_a_round_ends(monkeypatch: pytest.MonkeyPatch):
    phase_module, searched = TableFineTuning.__module__, []
    monkeypatch.setattr(f"{StabilityCheck.__module__}.DRIFT_EVERY", 2)
    monkeypatch.setattr(f"{StabilityCheck.__module__}.SMALL", 2)
    monkeypatch.setattr(f"{StabilityCheck.__module__}.TIGHTENING", 1000)
    monkeypatch.setattr(f"{StabilityCheck.__module__}.is_small", lambda *_: True)
    monkeypatch.setattr("regulargpt.certificate.tuning.state.ROUND", 7)
    monkeypatch.setattr(TrainingTable, "drift", lambda *_: 0.01)

    def search(*_: object) -> SimpleNamespace:
        searched.append(trainer.step_count)
        return SimpleNamespace(slack=0.0)

    monkeypatch.setattr(f"{phase_module}.search_in_training", search)
    trainer, _ = in_fine_tuning(100, {}, certain_from=5, table_steps=25)
    finish(trainer)
    # Rounds of 7 and 14 steps after step 5, and the 4 that are left.
    assert searched == [12, 26, 30]


def other_with_the_last_layer_solved(monkeypatch: pytest.MonkeyPatch, drifts: list[list[float]], **end: int | None):
    """The weights in which a training with the last layer solved differs from one without it.

    Each finds these drifts, one after the other, and ends as `end` says.
    """
    found = []
    for solve, known in zip((solve_last_layer, lambda *_: False), drifts, strict=True):
        left = iter(known)
        monkeypatch.setattr(TrainingTable, "drift", lambda table, model, seed, left=left: next(left))
        monkeypatch.setattr(f"{StabilityCheck.__module__}.solve_last_layer", solve)
        trainer, _ = in_fine_tuning(15, {}, certain_from=5, table_steps=10)
        while not trainer.finished:
            trainer.step()
        assert {"steady_at": phase_of(trainer).standing.steady_at, "ended": trainer.step_count} == end
        found.append(trainer.model.state_dict())
    return {name for name, weight in found[0].items() if not torch.equal(weight, found[1][name])}


LAST_LAYER = {"blocks.0.ff_out.weight", "blocks.0.ff_out.bias"}


@pytest.mark.parametrize(
    ("every", "drifts", "steady_at", "ended", "other"),
    [
        (3, [[0.4], [0.4]], 6, 6, LAST_LAYER),
        # Asked at 6, 9, 12, 15, and once more without the layer.
        (3, [[2.0, 2.0, 2.0, 2.0, 1.0], [2.0] * 4], None, 15, set()),
        # Asked at 10 and 15, the last step: what drifts less stays.
        (5, [[1.0, 1.0, 2.0], [1.0, 1.0]], None, 15, LAST_LAYER),
        (5, [[2.0, 2.0, 1.0], [2.0, 2.0]], None, 15, set()),
    ],
)
def test_a_last_layer_that_is_solved_for_the_table_stays_if_it_ends_the_training_or_states_drift_less(
    monkeypatch: pytest.MonkeyPatch,
    every: int,
    drifts: list[list[float]],
    steady_at: int | None,
    ended: int,
    other: set[str],
):
    monkeypatch.setattr(f"{StabilityCheck.__module__}.DRIFT_EVERY", every)
    monkeypatch.setattr(f"{StabilityCheck.__module__}.is_small", lambda *_: False)
    assert other_with_the_last_layer_solved(monkeypatch, drifts, steady_at=steady_at, ended=ended) == other


@pytest.mark.parametrize(("large", "asked"), [(False, [6, 9, 12, 15]), (True, [12, 15])])
def test_the_last_layer_is_not_solved_for_a_large_table_and_its_drift_is_asked_for_less_often(
    monkeypatch: pytest.MonkeyPatch, large: bool, asked: list[int]
):
    phase_module, drifts, solved = TableFineTuning.__module__, [], []
    monkeypatch.setattr(f"{StabilityCheck.__module__}.DRIFT_EVERY", 3)
    monkeypatch.setattr(f"{phase_module}.is_large", lambda *_: large)
    monkeypatch.setattr(f"{StabilityCheck.__module__}.solve_last_layer", lambda *_: solved.append(trainer.step_count))
    monkeypatch.setattr(TrainingTable, "drift", lambda *_: drifts.append(trainer.step_count) or 2.0)
    trainer, _ = in_fine_tuning(15, {}, certain_from=5, table_steps=10)
    finish(trainer)
    assert (drifts, solved) == (asked, [] if large else asked)


@pytest.mark.parametrize(
    ("n_windows", "d_ff", "norm", "small"),
    [
        *[(256, 32, "pre", True), (257, 32, "pre", False), (400, 400, "pre", True), (401, 400, "pre", False)],
        *[(256, 400, "post", True), (257, 400, "post", False)],  # no layer to solve
        *[(4096, 4160, "pre", True), (4097, 4160, "pre", False)],  # more than balls are looked for
    ],
)
def test_balls_are_waited_for_where_the_last_layer_has_as_many_inputs_as_the_table_windows(
    n_windows: int, d_ff: int, norm: str, small: bool
):
    model = RegularGPT(2, 2, d_model=16, n_heads=2, d_ff=d_ff, norm=norm)
    assert is_small(n_windows, model) == small


def test_balls_found_in_training_are_those_that_are_stated_and_are_looked_for_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Made weights: what is found of the network in memory is what is found of its files."""
    model, table = table_of("parity")
    task, certifier = languages.get("parity"), Certifier.of(languages.get("parity"), 2)
    options = as_mapping(configuration("parity", chunk_size=2).model)
    found = search_in_training(certifier, model.eval(), options, table.prototypes)
    quantised, network = certifier.certify(model, table.prototypes), as_config("regulargpt", options, task)
    outcome = certificate_of(model, network, task, tmp_path / "made", quantised)
    assert found is not None
    assert outcome.report["unquantised"]["proven"]
    assert 0 < outcome.report["unquantised"]["slack"] <= found.slack

    files = save(model.state_dict()), json.dumps(network).encode()
    searches = []
    monkeypatch.setattr(outcomes, "search_balls", lambda *given: searches.append(given) or search_balls(*given))
    again = outcomes.outcome_of(certifier, task, model, quantised, *files, searched=found)
    assert (again.report, again.files, searches) == (outcome.report, outcome.files, [])

    with torch.no_grad():  # other weights: what was found of those before says nothing of them
        model.readout.weight *= 2
    other = outcomes.outcome_of(certifier, task, model, quantised, save(model.state_dict()), files[1], searched=found)
    assert other.report["unquantised"]["proven"]
    assert len(searches) == 1

    with torch.no_grad():
        model.readout.weight.neg_()
    assert search_in_training(certifier, model, options, table.prototypes) is None


def test_a_network_that_errs_on_more_than_can_be_looked_at_is_not_proven_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    model, certifier = exact_model("cycle-navigation")
    prototypes = certifier.certify(model).book.prototypes
    monkeypatch.setattr(levels, "MAX_WINDOWS", 3)
    assert not certifier.attempt(model).certain
    known = TrainingTable(prototypes, *[torch.zeros(0, dtype=torch.long)] * 5)
    assert not certifier.attempt(model, known).certain
    with pytest.raises(levels.TooManyWindows, match="too many to look at"):
        certifier.certify(model)
    monkeypatch.undo()
    trainer, _ = in_fine_tuning(6, {})
    trainer.step()
    monkeypatch.setattr(levels, "MAX_WINDOWS", 3)
    outcome = phase_of(trainer).conclude(trainer.model, b"", b"", lambda *_: None)
    assert not outcome.proven
    assert "too many to look at" in outcome.report["reason"]


def test_of_a_large_table_all_windows_are_asked_before_a_proof(monkeypatch: pytest.MonkeyPatch):
    model, certifier = exact_model("symmetric-3")
    monkeypatch.setattr("regulargpt.certificate.search.codebook.SAMPLED_WINDOWS", 6)
    monkeypatch.setattr("regulargpt.certificate.search.codebook.ROWS", 10)
    assert certifier.target.is_large
    network, (book, *_) = Float64Network(model), codebooks(Float64Network(model), certifier.target)
    assert right_table(network, certifier.target, book) is not None
    assert certifier.attempt(model).certain
    # One window of those that are not in the sample is another element's.
    sampled = {tuple(window) for window in certifier.target.sample.windows.tolist()}
    row = next(i for i, window in enumerate(certifier.target.windows.tolist()) if tuple(window) not in sampled)
    products = certifier.target.products.copy()
    products[row] = (products[row] + 1) % 6
    target = dataclasses.replace(certifier.target, products=products)
    assert right_table(network, target, book) is None
    monkeypatch.setattr(Certifier, "quantised", lambda *_: pytest.fail("no proof of what is not right"))
    assert not dataclasses.replace(certifier, target=target).attempt(model).certain


@pytest.mark.parametrize(
    ("spec", "C"),
    [("parity", 2), ("symmetric-3", 3), ("dyck-3", 2), ("even-pairs", 3), ("flip-flop", 2), ("tomita-3", 2)],
)
def test_the_table_of_all_windows_is_the_one_that_a_proof_finds(monkeypatch: pytest.MonkeyPatch, spec: str, C: int):
    """No window more, whatever the domain: the certificate says how many there are, and the checker counts them."""
    monkeypatch.setattr("regulargpt.certificate.search.codebook.ROWS", 7)
    model, certifier = exact_model(spec, C)
    network, (book, *_) = Float64Network(model), codebooks(Float64Network(model), certifier.target)
    table = right_table(network, certifier.target, book)
    assert table is not None
    before = [(part.keys.copy(), part.images.copy(), part.margins.copy()) for part in (table.leaves, table.nodes)]
    known, found = (QuantisedNetwork.of(network, book, certifier.specification, given) for given in (table, None))
    assert known.certain
    assert found.certain
    for part, (keys, images, margins) in zip((found.table.leaves, found.table.nodes), before, strict=True):
        assert np.array_equal(part.keys, keys)
        assert np.array_equal(part.images, images)
        np.testing.assert_allclose(part.margins, margins, rtol=1e-9)
    assert len(known.table.nodes) == len(found.table.nodes)


@pytest.mark.parametrize(("spec", "C"), [("cycle-navigation", 2), ("dyck-3", 2), ("even-pairs", 3)])
def test_made_weights_do_not_drift_and_disturbed_ones_do(spec: str, C: int):
    model, table = table_of(spec, C)
    model = model.eval()
    table = dataclasses.replace(table, prototypes=table.prototypes.double())
    assert table.drift(model.double(), seed=0) < 1e-3
    with torch.no_grad():
        for parameter in model.layers(0)[0].parameters():
            parameter.mul_(1 + 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    assert table.drift(model, seed=0) > 0.5
    assert table.drift(model, seed=0) == table.drift(model, seed=0)


def test_the_end_is_known_once_the_certificate_holds_and_asked_for_only_then():
    trainer, _ = in_fine_tuning(50, {})
    phase = phase_of(trainer)
    assert (trainer.known_end, trainer.last_step) == (None, 50)
    assert trainer.awaited[0] == "waits for a proof (tried every 5 steps)"
    phase.standing = TuningState().begun(20, certain=True, missed=0.0)
    assert (trainer.known_end, trainer.last_step) == (None, 30)
    assert trainer.awaited == ["attempt holds; drift aim 0.5"]


def test_words_near_a_wrong_one_are_asked_and_differ_in_two_symbols_at_most():
    words = read_data("modular-arithmetic:plus=true")
    task = words.task
    wrong = np.array([task.machine.encode(text) for text in ("+2*3-4", "+1-1-1")] * 250)
    near = words.near(wrong, seed=1, step=5)
    assert (near != wrong).sum(1).max() == 2
    assert task.domain is not None
    assert task.domain.accepts(near).all()
    assert (task.labels(near) >= 0).all()
    assert np.array_equal(near, words.near(wrong, seed=1, step=5))


@pytest.mark.parametrize(("end", "missed"), [(20, 1.0), (40, 1.0), (15, 0.0)])
def test_a_network_that_loses_its_certificate_has_the_weights_that_were_certified(end: int, missed: float):
    """At the end of the fine-tuning, which may be that of the training, or later than the steps that it had."""
    trainer, _ = in_fine_tuning(end, {}, certain_from=10)
    phase = phase_of(trainer)
    certified: list[Tensor] = []
    while trainer.step_count < 20:
        trainer.step()
        if trainer.step_count == 10:
            assert phase.standing.certified_at == 10
            certified = weights(trainer)
            lost = CertificationAttempt(False, None if missed else lambda table=phase.tuned.table: table, (1,), missed)
            phase.attempt = lambda model, known, allowed, lost=lost: lost
        if trainer.step_count == 19:
            assert not all(map(torch.equal, weights(trainer), certified))
    assert all(map(torch.equal, weights(trainer), certified))
    if end == 40:  # words go on
        assert (phase.standing.certified_at, phase.standing.given_up, phase.tuned) == (None, 1, None)
    else:  # the prototypes of the certificate are there, too
        assert (phase.standing.certified_at, phase.standing.taken_back, trainer.finished) == (10, True, True)
        assert phase.tuned is not None
        assert phase.tuned.free is None


def test_what_was_steady_is_not_once_the_certificate_is_lost():
    standing = dataclasses.replace(TuningState().begun(0, True, 0.0), steady_since=150)
    assert standing.begun(1100, False, 0.01).begun(1300, True, 0.0).steady_since is None
    assert standing.ended().begun(2000, True, 0.0).steady_since is None


def test_after_a_cooldown_without_certificate_every_fourth_step_is_near_the_wrong_word():
    words = trainer_of(config_of(phases__table_fine_tuning__every=5)).words
    words.wrong = [(1, 0, 1)]
    assert all(words.near_wrong(step) is None for step in range(8))
    words.progress = Progress(cooldowns=1)
    assert [step for step in range(12) if words.near_wrong(step) is not None] == [0, 4, 8]
    near = words.near_wrong(8)
    assert near is not None
    assert near.shape == (8, 3)
    words.wrong = [(1,) * 9]
    assert words.near_wrong(8) is None  # longer than the training words


def test_a_step_near_wrong_words_is_on_many_of_one_length():
    words = trainer_of(config_of(phases__table_fine_tuning__every=5, training__batch_size=64)).words
    words.trains_on_errors, words.wrong = True, [*product((0, 1), repeat=5), *product((0, 1), repeat=3), (1,) * 9]
    batches = [words.near_wrong(step) for step in range(0, 80, 4)]
    assert {batch.shape for batch in batches if batch is not None} == {(64, 5), (64, 3)}
    words.wrong = [(0,) * 5, (1,) * 5]
    near = words.near_wrong(4)
    assert near is not None
    assert set(near.sum(1).tolist()) == {0, 1, 2, 3, 4, 5}


class Stop(Exception):
    """An interruption at a chosen step."""


@pytest.mark.parametrize("stop_at", [11, 12, 20, 23])
def test_a_fine_tuned_run_stopped_and_resumed_ends_with_the_same_bytes(tmp_path: Path, monkeypatch, stop_at: int):
    settings = config_of(
        phases__table_fine_tuning__every=4, phases__table_fine_tuning__steps=11, training__solved_loss=100.0
    )
    _, table = table_of("parity")

    def attempt(self: Certifier, *asked_with: object) -> CertificationAttempt:
        # No model so small is certified; from step 12 on, training goes on with the table of another of its width.
        asked.append(1)
        return CertificationAttempt(True, lambda: table) if len(asked) > 2 else CertificationAttempt(wrong=(1, 0, 1))

    monkeypatch.setattr(Certifier, "attempt", attempt)
    asked: list[int] = []
    whole = run(settings, tmp_path / "whole")
    assert (whole["phases"]["table_fine_tuning"]["certified_at"], whole["steps"]) == (12, 23)

    def stop(trainer: Trainer) -> None:
        if trainer.step_count == stop_at:
            trainer.save(RunFolder(tmp_path / "stopped"))
            raise Stop

    asked.clear()
    with pytest.raises(Stop):
        run(settings, tmp_path / "stopped", Watch(on_step=stop))
    resume(tmp_path / "stopped")
    for name in EQUAL:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()


def refuse(*_: object) -> None:
    raise AutomatonError("the transition monoid has more than 20000 elements")


def test_a_language_too_large_to_certify_is_trained_all_the_same(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(Certifier, "of", refuse)
    notices: list[str] = []
    settings = config("regulargpt", phases__table_fine_tuning__every=4)
    summary = run(settings, tmp_path / "run", Watch(on_notice=notices.append))
    assert summary["proven"] is None
    assert notices == ["phase table_fine_tuning is left out: the transition monoid has more than 20000 elements"]


@pytest.mark.parametrize("first", [True, False])
def test_a_run_is_not_resumed_with_another_budget_that_leaves_other_phases_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool
):
    def stop(trainer: Trainer) -> None:
        if trainer.step_count == 20:
            raise Stop

    settings, right = config("regulargpt", phases__table_fine_tuning__every=4), Certifier.of
    monkeypatch.setattr(Certifier, "of", refuse if first else right)
    with pytest.raises(Stop):
        run(settings, tmp_path / "run", Watch(on_step=stop))
    monkeypatch.setattr(Certifier, "of", right if first else refuse)
    with pytest.raises(UserError, match=r"with the phases words(, table_fine_tuning)?, not .*LANGUAGES_BUDGET"):
        resume(tmp_path / "run")


def test_prototypes_that_were_learned_stay_when_a_mending_begins_anew():
    model, certifier = exact_model("parity")
    learned = certifier.certify(model).book.prototypes * 0.5  # nearer to each other than prototypes are moved apart
    attempt = certifier.attempt(model, None, 1.0, learned)
    assert attempt.table is not None
    assert torch.equal(attempt.table().prototypes, learned.float())
    own = certifier.attempt(model, None, 1.0)
    assert own.table is not None
    assert own.table().separation > attempt.table().separation


@pytest.mark.parametrize("gated", [False, True])
def test_compiled_blocks_can_be_fine_tuned(gated: bool):
    """As `--compile` compiles them, but for the machine code: what it cannot derive twice is refused before that."""
    from torch import _dynamo

    _, table = table_of("parity")
    sizes = {"d_model": table.prototypes.shape[1], "n_heads": 1, "d_ff": 32}
    model = RegularGPT(2, 2, gates=gated, **sizes, generator=torch.Generator().manual_seed(0))
    expected, _ = table.loss(seeded(model), 8, 0.1, contraction=1.0, left=1.0)
    for part in model.compiled_parts():
        part.compile(backend="aot_eager", dynamic=True)
    try:
        loss, _ = table.loss(seeded(model), 8, 0.1, contraction=1.0, left=1.0)
        loss.backward()
        solve_last_layer(model, table, 0)
    finally:
        _dynamo.reset()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    assert all(parameter.grad is not None for parameter in model.blocks[0].parameters())


def seeded(model: RegularGPT) -> RegularGPT:
    seed_counted(model, 0, 0)
    return model


@pytest.mark.slow
def test_parity_is_certified_in_training_and_right_without_quantising(tmp_path: Path):
    from regulargpt.config.recipes import CERTIFY, resolve

    fields = {**CERTIFY, "evaluation.samples": 64, "evaluation.test_len": 60, "evaluation.extra_lengths": (100_000,)}
    settings = resolve("words", "regulargpt", "parity").replaced(fields)
    # What ends the check goes on with it.
    with pytest.raises(Interrupted, match=r"^stopped by SIGTERM while the certificate was checked$"):
        run(settings, tmp_path / "run", Watch(on_check=lambda *_: signal.raise_signal(signal.SIGTERM)))
    summary = resume(tmp_path / "run")
    assert summary["proven"]
    assert summary["phases"]["table_fine_tuning"]["certified_at"] < 2000
    assert summary["measures"]["accuracy"]["values"]["100000"] == 100
    assert (tmp_path / "run" / "certificate.json").exists()
    certificate = (tmp_path / "run" / "certificate.json").read_bytes()
    (tmp_path / "run" / "certificate.json").unlink()
    resume(tmp_path / "run")
    assert (tmp_path / "run" / "certificate.json").read_bytes() == certificate
