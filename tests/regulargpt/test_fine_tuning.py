"""Training until the certificate holds, and then on the certified table."""

import signal
from dataclasses import replace
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
from regulargpt.certificate.proof_phase import Seeking
from regulargpt.certificate.search import codebook
from regulargpt.certificate.search.certify import Certifier, QuantisedNetwork
from regulargpt.certificate.search.codebook import codebooks, missed_share, right_table
from regulargpt.certificate.tuning import fine_tuning, phase, stability, state
from regulargpt.certificate.tuning.fine_tuning import CertificationAttempt, TrainingTable, apply_map
from regulargpt.certificate.tuning.last_layer import solve_last_layer
from regulargpt.certificate.tuning.stability import StabilityCheck, is_small
from regulargpt.certificate.tuning.state import Certified, Mending, Settling, Stage
from regulargpt.certificate.unquantised import search_balls, search_in_training
from regulargpt.config.recipes import certified, resolve
from regulargpt.config.schema import Draft, TrainingOptions
from regulargpt.construct.configuration import configuration
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
from tests.regulargpt.small import EQUAL, config, trainer_of
from tests.regulargpt.tuning import (
    certifies,
    config_of,
    exact_model,
    in_fine_tuning,
    phase_of,
    same,
    stage_of,
    standing_of,
    stopped,
    strategy_of,
    table_for,
    table_of,
    train,
    tuner_of,
    tuning_of,
    weights,
)

SMALL = product(["parity", "even-pairs", "cycle-navigation", "tomita-2"], [2, 3, 4])
LARGER = product(["dyck-3", "dyck-4", "tomita-3", "symmetric-3", "flip-flop", "aa-star"], [2])


def seeded(number: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def having(monkeypatch: pytest.MonkeyPatch, place: object, **values: object) -> None:
    """Constants and functions of a module or class are these."""
    for name, value in values.items():
        monkeypatch.setattr(place, name, value)


@pytest.mark.parametrize(("spec", "C"), [*SMALL, *LARGER])
def test_made_weights_are_certified_for_every_chunk_size(spec: str, C: int):
    model, certifier = exact_model(spec, C)
    quantised = certifier.certify(model)
    assert quantised.certain
    assert quantised.proof.is_homomorphism == (spec != "flip-flop")
    assert len(quantised.book) == len(set(quantised.proof.pairs[:, 0].tolist()))


def test_weights_of_another_language_are_refuted_by_their_shortest_word():
    wrong = Certifier.for_task(languages.get("even-pairs"), 2).certify(exact_model("parity")[0]).proof.wrong
    assert wrong == (1,)  # parity says odd, Even Pairs equal


def test_of_exact_weights_the_loss_is_that_of_the_answers_alone():
    model, table = table_of("parity")
    seed_counted(model.train(), 0, 0)
    loss, near = table.loss(model, n_windows=64, noise=0.0, contraction=0.0, left=1.0)
    answers = cross_entropy(model.readout(table.prototypes), table.answers)
    assert near == 1.0
    assert loss.item() == pytest.approx(answers.item(), abs=0.05)  # the mean over windows weighs prototypes otherwise


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("spec", ["parity", "tomita-3", "dyck-2", "modular-arithmetic:plus=true,modulus=2"])
def test_the_true_table_composes_the_functions_of_its_windows(spec: str, C: int):
    task = languages.get(spec)
    certifier, machine = Certifier.for_task(task, C), task.machine.minimise()
    untrained = RegularGPT(len(task.alphabet), len(machine.output_names), chunk_size=C, d_model=8, n_heads=2, d_ff=8)
    book = next(codebooks(Float64Network(untrained), certifier.target))
    table, functions = certifier.true_table(book), certifier.specification.task_monoid.elements[book.elements]
    leaves, nodes = (table.leaf_windows, table.leaf_images), (table.windows, table.images)
    for (windows, images), of in ((nodes, functions), (leaves, machine.table.T)):
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
    drawn = table.draw(100_000, seeded())
    assert drawn.unique().tolist() == list(range(len(table.windows)))
    expected = 0.5 * share + 0.5 * (share > 0) / (share > 0).sum()
    assert share.max() > 10 * share[share > 0].min()
    assert (table.images[drawn].bincount() / len(drawn) - expected).abs().max() < 0.01


@pytest.mark.parametrize("spec", ["parity", "cycle-navigation", "dyck-2"])
def test_the_drift_is_that_of_trees_over_the_states_that_are_farthest_off(spec: str):
    model, table = table_of(spec)
    noise = torch.randn(table.prototypes.shape, generator=seeded())
    table = replace(table, prototypes=table.prototypes + 0.1 * noise)
    worst, farthest = list(table.prototypes), 0.0
    for _ in range(16):
        found: dict[int, list[Tensor]] = {}
        for window, image in zip(table.windows.tolist(), table.images.tolist(), strict=True):
            children = torch.stack([worst[child - 1] if child else model.absent[0] for child in window])[None]
            with torch.no_grad():
                found.setdefault(image, []).append(apply_map(model, children, torch.tensor([window]).sign())[0])
        for k, states in found.items():
            worst[k] = max(states, key=lambda state: (state - table.prototypes[k]).norm().item())
            farthest = max(farthest, (worst[k] - table.prototypes[k]).norm().item())
    assert table.drift(model, seed=0) == pytest.approx(farthest / (0.5 * table.separation), rel=1e-3)


def test_the_drift_of_states_that_are_no_numbers_is_none_and_that_of_equal_prototypes_infinite():
    model, table = table_of("parity")
    alike = replace(table, prototypes=table.prototypes[:1].expand(2, -1).contiguous())
    assert alike.drift(model, seed=0) == float("inf")
    with torch.no_grad():
        for weight in model.parameters():
            weight.fill_(float("nan"))
    assert not table.drift(model, seed=0) < 0.5


def test_the_drift_over_a_large_table_is_that_of_as_many_random_windows_a_level(monkeypatch: pytest.MonkeyPatch):
    model, table = table_of("dyck-2")
    table = replace(table, prototypes=1.1 * table.prototypes)
    having(monkeypatch, fine_tuning, ROUNDS=1)
    whole = table.drift(model, seed=0)
    having(monkeypatch, fine_tuning, NODES=5)
    some = [table.drift(model, seed) for seed in (0, 0, 1, 2, 3)]
    assert some[0] == some[1]
    assert len(set(some)) > 1
    assert max(some) <= whole


@pytest.mark.parametrize(("spec", "C"), [("cycle-navigation", 2), ("dyck-3", 2), ("even-pairs", 3)])
def test_made_weights_do_not_drift_and_disturbed_ones_do(spec: str, C: int):
    model, table = table_of(spec, C)
    table = replace(table, prototypes=table.prototypes.double())
    assert table.drift(model.double(), seed=0) < 1e-3
    with torch.no_grad():
        for parameter in model.layers(0)[0].parameters():
            parameter.mul_(1 + 0.3 * torch.randn(parameter.shape, generator=seeded()))
    assert table.drift(model, seed=0) == table.drift(model, seed=0) > 0.5


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
    certifier = Certifier.for_task(languages.get("dyck-2"), 2)
    network = Float64Network(model)
    missed = missed_share(network, certifier.target, next(codebooks(network, certifier.target)))
    assert 0 < missed < 1
    assert certifier.attempt(model, None, 0.0).table is None
    assert certifier.attempt(model, None, 0.99 * missed).table is None
    assert not certifier.attempt(model, None, missed).certain
    prototypes = table_for(model, certifier).prototypes
    assert torch.pdist(prototypes).min() > 0.95 * 0.6 * prototypes.shape[1] ** 0.5


def test_prototypes_that_were_learned_stay_when_a_mending_begins_anew():
    model, certifier = exact_model("parity")
    learned = certifier.certify(model).book.prototypes * 0.5  # nearer to each other than prototypes are moved apart
    attempt = certifier.attempt(model, None, 1.0, learned)
    assert attempt.table is not None
    assert torch.equal(attempt.table().prototypes, learned.float())
    assert table_for(model, certifier).separation > attempt.table().separation


@pytest.mark.parametrize("language", ["regex:(0|1)*", "cyclic-1"])
def test_a_language_whose_words_are_all_alike_is_not_certified(language: str, tmp_path: Path):
    with pytest.raises(UserError, match=r"^all words of .* are alike: there is nothing to prove"):
        Certifier.for_task(languages.get(language), 2)
    notices: list[str] = []
    settings = config("regulargpt", data__name=language, phases__table_fine_tuning__every=4)
    assert run(settings, tmp_path / "run", Watch(on_notice=notices.append))["proven"] is None
    assert notices[0].startswith("phase table_fine_tuning is left out: all words of ")


def test_where_only_the_empty_word_has_another_answer_there_is_nothing_to_prove(tmp_path: Path):
    only_the_empty_word = MooreMachine(("none", "some"), "01", ((1, 1), (1, 1)), "none", (0, 1), ("no", "yes"))
    with pytest.raises(UserError, match=r"^the automaton that was learned gives all words the same answer"):
        Certifier.of_machine(only_the_empty_word, 2)
    (tmp_path / "empty.json").write_text(to_json(only_the_empty_word))
    with pytest.raises(UserError, match=r"^all words of .* are alike"):
        Certifier.for_task(languages.get(f"dfa:{tmp_path / 'empty.json'}"), 2)


@pytest.mark.parametrize("is_near", [True, False])
def test_asked_with_a_table_the_certificate_is_by_their_prototypes_or_the_networks_own(is_near: bool):
    model, table = table_of("dyck-2")
    other = table.prototypes + 0.01 if is_near else torch.zeros_like(table.prototypes)
    attempt = Certifier.for_task(languages.get("dyck-2"), 2).attempt(model, replace(table, prototypes=other))
    assert attempt.certain
    assert attempt.table is not None
    assert torch.equal(attempt.table().prototypes, other if is_near else table.prototypes)


# Trainings whose certificate is asked every 5 steps


def test_a_fine_tuning_without_certificate_begins_anew_where_it_mends():
    trainer, asked = in_fine_tuning(60, {5: 0.4, 15: 0.2, 25: 0.1, 35: 0.05}, certain_from=45)
    seen = []
    while not trainer.finished:
        train(trainer, trainer.step_count + 5)
        stage = stage_of(trainer)
        seen.append((trainer.step_count, stage.began_at, getattr(stage, "certified_at", None)))
    # Begun at 5, anew at 15, 25 and 35; certified at 45, 10 steps more.
    assert seen == [
        *((5, 5, None), (10, 5, None), (15, 15, None), (20, 15, None), (25, 25, None), (30, 25, None)),
        *((35, 35, None), (40, 35, None), (45, 35, 45), (50, 35, 45), (55, 35, 45)),
    ]
    assert phase_of(trainer).summary() == {"began_at": 35, "certified_at": 45, "proven_unquantised": None}
    # By the table at the end only.
    assert asked == [(step, step == 55, 0.5) for step in (5, 10, 15, 20, 25, 30, 35, 40, 45, 55)]


def test_a_fine_tuning_that_mends_too_little_is_given_up_and_leaves_no_trace():
    trainer, asked = in_fine_tuning(40, {5: 0.4, 10: 0.9, 15: 0.3, 20: 0.3, 25: 0.2, 35: 0.1})
    began, found = {}, {}
    while not trainer.finished:
        trainer.step()
        began[trainer.step_count], found[trainer.step_count] = stage_of(trainer).began_at, weights(trainer)
    assert [began[step] for step in (5, 10, 15, 20, 25, 30, 35, 40)] == [5, 5, None, None, 25, 25, 35, None]
    assert not torch.equal(found[14][0], found[5][0])
    assert same(found[15], found[5])
    assert same(found[40], found[25])  # the second, begun anew at 35, ends with the run
    # Half as much may be missed after one was given up.
    assert [allowed for *_, allowed in asked] == [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25]
    assert phase_of(trainer).last.given_up == 2


@pytest.mark.parametrize("part", [1, 128])
def test_a_large_table_is_mended_to_the_end_with_prototypes_that_go_on_learning(monkeypatch, part: int):
    having(monkeypatch, state, PART=part)
    trainer, asked = in_fine_tuning(60, certain_from=5, windows=1)
    places = []
    while not trainer.finished:
        trainer.step()
        tuning = tuning_of(trainer)
        if tuning is not None and tuning.tuner.free is not None:
            places.append(tuning.tuner.free.before.detach().clone())
    assert stage_of(trainer).certified_at == 5
    # Of a large table the prototypes move, so it is not by those of the beginning that the certificate is tried.
    assert [known for _, known, _ in asked] == [False, part > 1]
    assert bool(places) == (part == 1)
    assert part > 1 or not torch.equal(places[0], places[-2])


def test_while_the_table_is_trained_on_the_words_wait():
    trainer = train(in_fine_tuning(12, {5: 0.4})[0], 5)
    words = trainer.words.progress
    assert trainer.phase is phase_of(trainer)
    assert train(trainer, 9).words.progress == words
    assert trainer.log_row().keys() == {"step", "loss", "accuracy", "near", "longest", "noise", "lr"}
    # The rate rises over the first 50 steps, and falls in the last six.
    assert trainer.phase.optimiser(trainer).param_groups[0]["lr"] == pytest.approx(2e-3 * 4 / phase.WARMUP)


def test_without_steps_for_it_nothing_is_trained_on_the_table():
    # Nothing of the table is missed, and still the certificate is not certain.
    trainer, asked = in_fine_tuning(12, steps=0, windows=6)
    train(trainer, 4)
    while not trainer.finished:
        last = weights(trainer)
        trainer.step()
        assert not phase_of(trainer).is_active
        assert not torch.equal(last[0], weights(trainer)[0])
    assert [step for step, *_ in asked] == [5, 10, 12]


def test_no_fine_tuning_begins_at_the_last_step():
    trainer = train(in_fine_tuning(10, {5: 0.9, 10: 0.1})[0])
    assert phase_of(trainer).now == Seeking()


@pytest.mark.parametrize("stop_at", [5, 7, 12, 15, 22])
def test_a_fine_tuning_that_is_given_up_is_so_after_a_stop_too(tmp_path: Path, stop_at: int):
    def make() -> Trainer:
        return in_fine_tuning(30, {5: 0.4, 15: 0.3, 20: 0.2})[0]

    first, second = stopped(make, stop_at, tmp_path / "run")
    assert (second.words.state(), standing_of(second)) == (first.words.state(), standing_of(first))
    whole = train(make())
    train(second)
    assert (second.words.state(), standing_of(second)) == (whole.words.state(), standing_of(whole))
    assert same(weights(whole), weights(second))


@pytest.mark.parametrize(("end", "missed"), [(20, 1.0), (40, 1.0), (15, 0.0)])
def test_a_network_that_loses_its_certificate_has_the_weights_that_were_certified(end: int, missed: float):
    """At the end of the fine-tuning, which may be that of the training, or later than the steps that it had."""
    trainer = train(in_fine_tuning(end, certain_from=10)[0], 10)
    certified, table = weights(trainer), tuner_of(trainer).table
    assert stage_of(trainer).certified_at == 10
    certifies(trainer, lambda *_: CertificationAttempt(False, None if missed else lambda: table, (1,), missed))
    assert not same(weights(train(trainer, 19)), certified)
    trainer.step()
    assert same(weights(trainer), certified)
    if end == 40:  # words go on
        assert phase_of(trainer).now == Seeking(given_up=1)
    else:  # the prototypes of the certificate are there, too
        stage = stage_of(trainer)
        assert (stage.certified_at, stage.taken_back, trainer.finished) == (10, True, True)
        assert tuner_of(trainer).free is None


# Settling


def settling(monkeypatch: pytest.MonkeyPatch, steps: int = 20, certain: tuple[int, int] = (5, 1000)) -> Trainer:
    """A trainer certified from the first of two steps on to the second, which settles after 5 steps for 10."""
    having(monkeypatch, TrainingTable, drift=lambda table, model, seed: 2.0)
    trainer, _ = in_fine_tuning(steps, steps=5, settling=10)
    certifier = strategy_of(trainer).sought.needed()
    attempt = certifier.attempt

    def attempt_at(*asked) -> CertificationAttempt:
        return replace(attempt(*asked), certain=certain[0] <= trainer.step_count <= certain[1])

    certifies(trainer, attempt_at)
    return trainer


@pytest.mark.parametrize("steps", [12, 100])
@pytest.mark.parametrize("is_large", [False, True])
def test_a_certified_network_that_drifts_after_its_steps_settles(monkeypatch, steps: int, is_large: bool):
    """Also past the steps of the training."""
    having(monkeypatch, phase, is_large=lambda *_: is_large)
    trainer, owns = settling(monkeypatch, steps), []
    while not trainer.finished:
        trainer.step()
        tuning = tuning_of(trainer)
        if tuning is not None and tuning.tuner.own is not None:
            owns.append(trainer.step_count)
            assert tuning.tuner.stages is None
    assert owns == list(range(10, 21))
    assert (stage_of(trainer).certified_at, stage_of(trainer).settling_since) == (5, 10)
    said = phase_of(trainer).summary()
    assert (said["settling_since"], said["taken_back"]) == (10, False)


def test_settling_ends_once_states_no_longer_drift_with_the_prototypes_that_it_learned(monkeypatch):
    having(monkeypatch, stability, DRIFT_EVERY=1)
    trainer, asked = settling(monkeypatch), []

    def drift(table: TrainingTable, model: object, seed: int) -> float:
        asked.append(trainer.step_count)
        return 2.0 if trainer.step_count < 16 else 0.4

    having(monkeypatch, TrainingTable, drift=drift)
    assert train(trainer).step_count == 16
    assert sorted(set(asked)) == [6, 7, 8, 9, 10, 12, 16]
    tuned = tuner_of(trainer)
    assert tuned.free is not None
    assert not torch.equal(tuned.prototypes(trainer.model), tuned.table.prototypes)  # type: ignore[arg-type]


def test_a_network_that_does_not_drift_does_not_settle(monkeypatch: pytest.MonkeyPatch):
    trainer = settling(monkeypatch)
    having(monkeypatch, TrainingTable, drift=lambda table, model, seed: 0.1)
    assert train(trainer).step_count <= 10
    assert "settling_since" not in phase_of(trainer).summary()


@pytest.mark.parametrize("steps", [12, 100])
def test_settling_that_loses_the_certificate_is_taken_back(monkeypatch: pytest.MonkeyPatch, steps: int):
    trainer = train(settling(monkeypatch, steps, certain=(5, 12)), 10)
    before, prototypes = weights(trainer), tuner_of(trainer).table.prototypes
    assert train(trainer).step_count == 20
    assert same(weights(trainer), before)
    assert torch.equal(tuner_of(trainer).prototypes(trainer.model), prototypes)  # type: ignore[arg-type]
    assert stage_of(trainer).certified_at == 5
    assert phase_of(trainer).summary()["taken_back"]


@pytest.mark.parametrize("stop_at", [9, 10, 14])
def test_a_network_goes_on_settling_where_it_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stop_at: int):
    """The errors that are kept, and the reach, are where they were."""
    first, second = stopped(lambda: settling(monkeypatch), stop_at, tmp_path / "run")
    tuned = tuner_of(second)
    assert (tuned.own is not None and bool(tuned.own.count.any())) == (stop_at > 10)
    assert ("reach" in first.log_row()) == (stop_at > 10)
    both = [train(trainer, 19) for trainer in (settling(monkeypatch), second)]  # while prototypes still learn
    assert torch.equal(*(tuner_of(trainer).free.before for trainer in both))  # type: ignore[union-attr]
    assert same(*(weights(train(trainer, 20)) for trainer in both))
    assert all(trainer.finished for trainer in both)


# The rate, and when balls and drift are looked at

MENDED, CERTIFIED = Mending(20, 0.0, 0, 20), Certified(20, 0.0, 0, 20)


@pytest.mark.parametrize(
    ("stage", "options", "rounds", "fall"),
    [
        (MENDED, {"steps": 10}, [10], 0.6),
        (MENDED, {"steps": 0}, [], 0.6),
        (replace(CERTIFIED, windows=6), {"steps": 2000}, [500, 1000, 500], 0.6),
        (replace(CERTIFIED, windows=800), {"steps": 2000}, [800, 1200], 0.6),
        (replace(CERTIFIED, windows=9000), {"steps": 2000}, [2000], 0.6),
        (Settling(20, 0.0, 0, 20, settling_since=20), {"steps": 100, "settling": 2000}, [2000], 0.35),
    ],
    ids=str,
)
def test_the_rate_is_constant_and_falls_to_nothing_in_each_round(
    stage: Stage, options: dict[str, int], rounds: list[int], fall: float
):
    of, steps = TableFineTuningOptions("table_fine_tuning", every=2, **options), sum(rounds)
    left, begin = [stage.left(20 + i, of) for i in range(steps + 1)], 0
    for length in rounds:
        found, begin = left[begin : begin + length], begin + length
        falls_from = length - round(fall * length)
        assert found == [1.0] * falls_from + sorted(found[falls_from:], reverse=True)
        assert found[-1] == pytest.approx(1 / (fall * length))
    assert (left[-1], stage.left(9999, of)) == (0.0, 0.0)
    assert [i for i in range(1, steps + 1) if stage.ends_round(20 + i, of)] == np.cumsum(rounds).tolist()
    assert stage.end(of) == 20 + steps


@pytest.mark.parametrize("certain", [False, True])
def test_what_was_steady_is_not_once_the_certificate_is_lost_or_the_network_settles(certain: bool):
    trainer = train(in_fine_tuning(20, certain_from=5)[0], 6)
    tuning = tuning_of(trainer)
    assert tuning is not None
    steady = replace(tuning, stage=replace(CERTIFIED, steady_since=150))
    then = phase.stage_of(steady, CertificationAttempt(certain, missed=0.01), 1100, 6)
    assert getattr(then, "steady_since", None) is None
    assert isinstance(then, Settling if certain else Mending)


def test_a_cooldown_without_certificate_is_undone():
    training = TrainingOptions(steps=50, solved_loss=9.0, cooldown=5, loss_memory=0.5, warmup=0)
    plan, progress, rates = Plan(training, 40, goes_on=True), Progress(), []
    for step in range(11):
        rates.append(round(progress.lr(step, plan) / training.lr, 3))
        progress = progress.after(step + 1, 1.0, plan)
    # Solved at step 4, cooled down to a fifth of the rate, and then up again.
    assert rates == [1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 1, 1]


@pytest.mark.parametrize(("slacks", "ends_at"), [([0.0, 5e-5, 5e-4], 18), ([0.0] * 9, 26)])
def test_a_small_table_is_trained_on_until_balls_prove_the_network_as_it_is_or_for_a_while(
    monkeypatch: pytest.MonkeyPatch, slacks: list[float], ends_at: int
):
    drifts, given, contractions = iter([2.0, 0.4, 0.3, 0.2, 0.09, *[0.05] * 9]), iter(slacks), []
    having(monkeypatch, stability, DRIFT_EVERY=2, TIGHTENING=16)
    having(monkeypatch, state, ROUND=7)  # rounds end at 12, 26 and 54
    having(monkeypatch, StabilityCheck, undo_unless_better=lambda *_: False)
    having(monkeypatch, phase, search_in_training=lambda *_: SimpleNamespace(slack=next(given)))
    loss = TrainingTable.loss

    def seen(table: TrainingTable, model: object, n: int, noise: float, contraction: float, left: float):
        contractions.append(contraction)
        return loss(table, model, n, noise, contraction, left)  # type: ignore[arg-type]

    having(monkeypatch, TrainingTable, drift=lambda *_, **__: next(drifts), loss=seen)
    trainer, awaited = in_fine_tuning(100, certain_from=5, steps=50)[0], {}
    while not trainer.finished:
        trainer.step()
        awaited[trainer.step_count] = " ".join(trainer.awaited)
    # Certified at 5, asked at 6, 8, ...: steady since 8, and balls are looked for from 14 on, where the drift is small.
    # The 16 further steps are over at 24, and the round at 26.
    _, stage, closed_at = standing_of(trainer)
    assert isinstance(stage, Certified)
    assert (stage.steady_since, closed_at, trainer.step_count) == (8, ends_at, ends_at)
    assert awaited[7] == "attempt holds; drift 2.00, aim 0.5"
    assert awaited[9] == "attempt holds; waits for a proof without prototypes"
    assert contractions == [0.3] * 3 + [10.0] * (ends_at - 8)


def test_of_a_table_that_is_not_small_balls_are_looked_for_where_a_round_ends(monkeypatch: pytest.MonkeyPatch):
    having(monkeypatch, stability, DRIFT_EVERY=2, SMALL=2, TIGHTENING=1000, is_small=lambda *_: True)
    having(monkeypatch, state, ROUND=7)
    having(monkeypatch, TrainingTable, drift=lambda *_: 0.01)
    trainer, searched = in_fine_tuning(100, certain_from=5, steps=25)[0], []

    def search(*_: object) -> SimpleNamespace:
        searched.append(trainer.step_count)
        return SimpleNamespace(slack=0.0)

    having(monkeypatch, phase, search_in_training=search)
    train(trainer)
    # Rounds of 7 and 14 steps after step 5, and the 4 that are left.
    assert searched == [12, 26, 30]


LAST_LAYER = {"blocks.0.ff_out.weight", "blocks.0.ff_out.bias"}


@pytest.mark.parametrize(
    ("every", "drifts", "end", "other"),
    [
        (3, [[0.4], [0.4]], (6, 6), LAST_LAYER),
        # Asked at 6, 9, 12, 15, and once more without the layer.
        (3, [[2.0, 2.0, 2.0, 2.0, 1.0], [2.0] * 4], (None, 15), set()),
        # Asked at 10 and 15, the last step: what drifts less stays.
        (5, [[1.0, 1.0, 2.0], [1.0, 1.0]], (None, 15), LAST_LAYER),
        (5, [[2.0, 2.0, 1.0], [2.0, 2.0]], (None, 15), set()),
    ],
)
def test_a_last_layer_that_is_solved_for_the_table_stays_if_it_ends_the_training_or_states_drift_less(
    monkeypatch: pytest.MonkeyPatch, every: int, drifts: list[list[float]], end: tuple, other: set[str]
):
    """The weights in which a training with the last layer solved differs from one without it."""
    having(monkeypatch, stability, DRIFT_EVERY=every, is_small=lambda *_: False)
    found = []
    for solve, known in zip((solve_last_layer, lambda *_: False), map(iter, drifts), strict=True):
        having(monkeypatch, TrainingTable, drift=lambda table, model, seed, known=known: next(known))
        having(monkeypatch, stability, solve_last_layer=solve)
        trainer = train(in_fine_tuning(15, certain_from=5)[0])
        assert (standing_of(trainer)[2], trainer.step_count) == end
        found.append(trainer.model.state_dict())
    assert {name for name, weight in found[0].items() if not torch.equal(weight, found[1][name])} == other


@pytest.mark.parametrize(("large", "asked"), [(False, [6, 9, 12, 15]), (True, [12, 15])])
def test_the_last_layer_is_not_solved_for_a_large_table_and_its_drift_is_asked_for_less_often(
    monkeypatch: pytest.MonkeyPatch, large: bool, asked: list[int]
):
    drifts, solved = [], []
    trainer, _ = in_fine_tuning(15, certain_from=5)
    having(monkeypatch, stability, DRIFT_EVERY=3, solve_last_layer=lambda *_: solved.append(trainer.step_count))
    having(monkeypatch, phase, is_large=lambda *_: large)
    having(monkeypatch, TrainingTable, drift=lambda *_: drifts.append(trainer.step_count) or 2.0)
    train(trainer)
    assert (drifts, solved) == (asked, [] if large else asked)


@pytest.mark.parametrize(
    ("d_ff", "norm", "most"),
    # Post norm has no layer to solve; of more than 4,096 windows no balls are looked for.
    [(32, "pre", 256), (400, "pre", 400), (400, "post", 256), (4160, "pre", 4096)],
)
def test_balls_are_waited_for_where_the_last_layer_has_as_many_inputs_as_the_table_windows(d_ff, norm, most):
    model = RegularGPT(2, 2, d_model=16, n_heads=2, d_ff=d_ff, norm=norm)
    assert [is_small(most + more, model) for more in (0, 1)] == [True, False]


def test_balls_found_in_training_are_those_that_are_stated_and_are_looked_for_once(monkeypatch, tmp_path: Path):
    """Made weights: what is found of the network in memory is what is found of its files."""
    model, certifier = exact_model("parity")
    task, options = languages.get("parity"), as_mapping(configuration("parity", chunk_size=2).model)
    quantised, network = certifier.certify(model), as_config("regulargpt", options, task)
    prototypes = quantised.book.prototypes
    found = search_in_training(certifier, model, options, prototypes)
    outcome = certificate_of(model, network, task, tmp_path / "made", quantised)
    assert found is not None
    assert outcome.report["unquantised"]["proven"]
    assert 0 < outcome.report["unquantised"]["slack"] <= found.slack

    written, searches = (tmp_path / "made" / "config.json").read_bytes(), []
    having(monkeypatch, outcomes, search_balls=lambda *given: searches.append(given) or search_balls(*given))

    def again() -> outcomes.Outcome:
        known = save(model.state_dict()), written
        return outcomes.outcome_of(certifier, task, model, quantised, *known, searched=found)

    assert (again().report, again().files, searches) == (outcome.report, outcome.files, [])
    with torch.no_grad():  # other weights: what was found of those before says nothing of them
        model.readout.weight *= 2
    assert again().report["unquantised"]["proven"]
    assert len(searches) == 1
    with torch.no_grad():
        model.readout.weight.neg_()
    assert search_in_training(certifier, model, options, prototypes) is None


# Tables that are large, or too large


def test_a_network_that_errs_on_more_than_can_be_looked_at_is_not_proven_and_ends_nothing(monkeypatch):
    model, certifier = exact_model("cycle-navigation")
    prototypes = certifier.certify(model).book.prototypes
    trainer = in_fine_tuning(6)[0]
    trainer.step()
    having(monkeypatch, levels, MAX_WINDOWS=3)
    assert not certifier.attempt(model).certain
    assert not certifier.attempt(model, TrainingTable(prototypes, *[torch.zeros(0, dtype=torch.long)] * 5)).certain
    with pytest.raises(levels.TooManyWindows, match="too many to look at"):
        certifier.certify(model)
    outcome = phase_of(trainer).conclude(trainer.model, b"", b"", lambda *_: None)
    assert not outcome.proven
    assert "too many to look at" in outcome.report["reason"]


def test_of_a_large_table_all_windows_are_asked_before_a_proof(monkeypatch: pytest.MonkeyPatch):
    model, certifier = exact_model("symmetric-3")
    having(monkeypatch, codebook, SAMPLED_WINDOWS=6, ROWS=10)
    assert certifier.target.is_large
    network, (book, *_) = Float64Network(model), codebooks(Float64Network(model), certifier.target)
    assert right_table(network, certifier.target, book) is not None
    assert certifier.attempt(model).certain
    # One window of those that are not in the sample is another element's.
    sampled, products = certifier.target.sample.windows.tolist(), certifier.target.products.copy()
    row = next(i for i, window in enumerate(certifier.target.windows.tolist()) if window not in sampled)
    products[row] = (products[row] + 1) % 6
    target = replace(certifier.target, products=products)
    assert right_table(network, target, book) is None
    having(monkeypatch, Certifier, quantised=lambda *_: pytest.fail("no proof of what is not right"))
    assert not replace(certifier, target=target).attempt(model).certain


@pytest.mark.parametrize(
    ("spec", "C"),
    [("parity", 2), ("symmetric-3", 3), ("dyck-3", 2), ("even-pairs", 3), ("flip-flop", 2), ("tomita-3", 2)],
)
def test_the_table_of_all_windows_is_the_one_that_a_proof_finds(monkeypatch: pytest.MonkeyPatch, spec: str, C: int):
    """No window more, whatever the domain: the certificate says how many there are, and the checker counts them."""
    having(monkeypatch, codebook, ROWS=7)
    model, certifier = exact_model(spec, C)
    network, (book, *_) = Float64Network(model), codebooks(Float64Network(model), certifier.target)
    table = right_table(network, certifier.target, book)
    assert table is not None
    before = [(part.keys.copy(), part.images.copy(), part.margins.copy()) for part in (table.leaves, table.nodes)]
    known, found = (QuantisedNetwork.compute(network, book, certifier.specification, given) for given in (table, None))
    assert known.certain
    assert found.certain
    for part, (keys, images, margins) in zip((found.table.leaves, found.table.nodes), before, strict=True):
        assert np.array_equal(part.keys, keys)
        assert np.array_equal(part.images, images)
        np.testing.assert_allclose(part.margins, margins, rtol=1e-9)
    assert len(known.table.nodes) == len(found.table.nodes)


def test_noise_is_none_on_the_pad_and_the_asked_strength_elsewhere():
    _, table = table_of("parity")
    windows = torch.tensor([[1, 0], [1, 2]]).repeat(4000, 1)
    noise = table.noise(windows, seeded(), 0.5)
    assert not noise[windows == 0].any()
    rms = table.prototypes.square().mean().sqrt().item()
    # The strength is uniform on 0..1: its mean square is a third.
    assert noise[windows > 0].square().mean().item() == pytest.approx((0.5 * rms) ** 2 / 3, rel=0.05)


# Words near wrong ones


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


def test_after_a_cooldown_without_certificate_every_fourth_step_is_near_the_wrong_word():
    words = trainer_of(config_of()).words
    words.wrong = [(1, 0, 1)]
    assert all(words.near_wrong(step) is None for step in range(8))
    words.progress = Progress(cooldowns=1)
    near = [words.near_wrong(step) for step in range(12)]
    assert [None if batch is None else batch.shape for batch in near] == [(8, 3), None, None, None] * 3
    words.wrong = [(1,) * 9]
    assert words.near_wrong(8) is None  # longer than the training words


def test_a_step_near_wrong_words_is_on_many_of_one_length():
    words = trainer_of(config_of({"training.batch_size": 64})).words
    words.trains_on_errors, words.wrong = True, [*product((0, 1), repeat=5), *product((0, 1), repeat=3), (1,) * 9]
    batches = [words.near_wrong(step) for step in range(0, 80, 4)]
    assert {batch.shape for batch in batches if batch is not None} == {(64, 5), (64, 3)}
    words.wrong = [(0,) * 5, (1,) * 5]
    near = words.near_wrong(4)
    assert near is not None
    assert set(near.sum(1).tolist()) == {0, 1, 2, 3, 4, 5}


# Whole runs


class Stop(Exception):
    """An interruption at a chosen step."""


@pytest.mark.parametrize("stop_at", [11, 12, 20, 23])
def test_a_fine_tuned_run_stopped_and_resumed_ends_with_the_same_bytes(tmp_path: Path, monkeypatch, stop_at: int):
    settings = config_of({"training.solved_loss": 100.0}, every=4, steps=11)
    _, table = table_of("parity")
    asked: list[int] = []

    def attempt(self: Certifier, *asked_with: object) -> CertificationAttempt:
        # No model so small is certified; from step 12 on, training goes on with the table of another of its width.
        asked.append(1)
        return CertificationAttempt(True, lambda: table) if len(asked) > 2 else CertificationAttempt(wrong=(1, 0, 1))

    def stop(trainer: Trainer) -> None:
        if trainer.step_count == stop_at:
            trainer.save(RunFolder(tmp_path / "stopped"))
            raise Stop

    having(monkeypatch, Certifier, attempt=attempt)
    whole = run(settings, tmp_path / "whole")
    assert (whole["phases"]["table_fine_tuning"]["certified_at"], whole["steps"]) == (12, 23)
    asked.clear()
    with pytest.raises(Stop):
        run(settings, tmp_path / "stopped", Watch(on_step=stop))
    resume(tmp_path / "stopped")
    for name in EQUAL:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()


def refuse(*_: object) -> None:
    raise AutomatonError("the transition monoid has more than 20000 elements")


def test_a_language_too_large_to_certify_is_trained_all_the_same(tmp_path: Path, monkeypatch):
    having(monkeypatch, Certifier, for_task=refuse)
    notices: list[str] = []
    settings = config("regulargpt", phases__table_fine_tuning__every=4)
    assert run(settings, tmp_path / "run", Watch(on_notice=notices.append))["proven"] is None
    assert notices == ["phase table_fine_tuning is left out: the transition monoid has more than 20000 elements"]


@pytest.mark.parametrize("first", [True, False])
def test_a_run_is_not_resumed_with_another_budget_that_leaves_other_phases_out(tmp_path, monkeypatch, first: bool):
    def stop(trainer: Trainer) -> None:
        if trainer.step_count == 20:
            raise Stop

    settings, right = config("regulargpt", phases__table_fine_tuning__every=4), Certifier.for_task
    having(monkeypatch, Certifier, for_task=refuse if first else right)
    with pytest.raises(Stop):
        run(settings, tmp_path / "run", Watch(on_step=stop))
    having(monkeypatch, Certifier, for_task=right if first else refuse)
    with pytest.raises(UserError, match=r"with the phases words(, table_fine_tuning)?, not .*LANGUAGES_BUDGET"):
        resume(tmp_path / "run")


@pytest.mark.parametrize("gated", [False, True])
def test_compiled_blocks_can_be_fine_tuned(gated: bool):
    """As `--compile` compiles them, but for the machine code: what it cannot derive twice is refused before that."""
    from torch import _dynamo

    _, table = table_of("parity")
    sizes = {"d_model": table.prototypes.shape[1], "n_heads": 1, "d_ff": 32}
    model = RegularGPT(2, 2, gates=gated, **sizes, generator=seeded())

    def loss() -> Tensor:
        seed_counted(model, 0, 0)
        return table.loss(model, 8, 0.1, contraction=1.0, left=1.0)[0]

    expected = loss().item()
    for part in model.compiled_parts():
        part.compile(backend="aot_eager", dynamic=True)
    try:
        found = loss()
        found.backward()
        solve_last_layer(model, table, 0)
    finally:
        _dynamo.reset()
    assert found.item() == pytest.approx(expected, rel=1e-5)
    assert all(parameter.grad is not None for parameter in model.blocks[0].parameters())


@pytest.mark.slow
def test_parity_is_certified_in_training_and_right_without_quantising(tmp_path: Path):
    fields = {
        **certified(Draft()),
        "evaluation.samples": 16,
        "evaluation.test_len": 60,
        "evaluation.extra_lengths": (100_000,),
    }
    settings = resolve("words", "regulargpt", "parity").replaced(fields)
    # What ends the check goes on with it.
    with pytest.raises(Interrupted, match=r"^stopped by SIGTERM while the certificate was checked$"):
        run(settings, tmp_path / "run", Watch(on_check=lambda *_: signal.raise_signal(signal.SIGTERM)))
    summary = resume(tmp_path / "run")
    assert summary["proven"]
    assert summary["phases"]["table_fine_tuning"]["certified_at"] < 2000
    assert summary["measures"]["accuracy"]["values"]["100000"] == 100
    certificate = (tmp_path / "run" / "certificate.json").read_bytes()
    (tmp_path / "run" / "certificate.json").unlink()
    resume(tmp_path / "run")
    assert (tmp_path / "run" / "certificate.json").read_bytes() == certificate
