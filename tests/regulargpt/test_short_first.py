"""Short words first: how long the words under windows are, which windows have come in, and when more do."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import languages
from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.tuning.fine_tuning import CertificationAttempt, TrainingTable
from regulargpt.certificate.tuning.mending import FreePrototypes, mending_loss
from regulargpt.certificate.tuning.phase import TableFineTuning
from regulargpt.certificate.tuning.short_first import ShortFirst, missed, symbols_under
from regulargpt.models.layers import seed_counted
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.training.trainer import Trainer
from tests.regulargpt.small import trainer_of
from tests.regulargpt.tuning import (
    certifies,
    config_of,
    same,
    stage_of,
    standing_of,
    stopped,
    table_for,
    table_of,
    train,
    tuner_of,
    tuning_of,
    weights,
)


def seeded(number: int) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def untrained_table(spec: str, C: int) -> tuple[RegularGPT, TrainingTable]:
    task = languages.get(spec)
    model = RegularGPT(task.n_symbols, len(task.output_names), chunk_size=C, d_model=16, n_heads=2, d_ff=32).eval()
    return model, table_for(model, Certifier.for_task(task, C))


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("spec", ["parity", "tomita-3", "cycle-navigation", "symmetric-3"])
def test_an_element_is_as_long_as_its_shortest_word(spec: str, C: int):
    """Words in order of their length, through the automaton: an oracle that knows no windows."""
    task = languages.get(spec)
    _, table = untrained_table(spec, C)
    shortest: dict[tuple[int, ...], int] = {}
    for length in range(1, 8):
        for word in product(range(task.n_symbols), repeat=length):
            ends = range(task.machine.n_states)
            for symbol in word:
                ends = [int(task.machine.table[q, symbol]) for q in ends]
            shortest.setdefault(tuple(ends), length)
    assert sorted(symbols_under(table)[1:].tolist()) == sorted(shortest.values())


def plain_symbols_under(table: TrainingTable) -> list[float]:
    """Until nothing changes, window by window."""
    least, before = [0.0] + [float("inf")] * len(table.prototypes), None
    leaves = [sum(s > 0 for s in window) for window in table.leaf_windows.tolist()]
    while least != before:
        before = list(least)
        nodes = [sum(least[k] for k in window) for window in table.windows.tolist()]
        images = table.leaf_images.tolist() + table.images.tolist()
        for count, image in zip(leaves + nodes, images, strict=True):
            least[1 + image] = min(count, least[1 + image])
    most = max(value for value in least if value < float("inf"))
    return [min(value, most + 1) for value in least]


numbers = st.integers(0, 5)


@given(st.lists(st.tuples(numbers, numbers, st.integers(0, 4)), max_size=20))
def test_the_least_number_of_symbols_is_that_of_a_plain_loop(rows: list[tuple[int, int, int]]):
    """Also where some element is never reached, or goes round in a circle."""
    windows = torch.tensor([row[:2] for row in rows], dtype=torch.long).reshape(-1, 2)
    images = torch.tensor([row[2] for row in rows], dtype=torch.long)
    leaves, of_leaves = torch.tensor([[1, 0], [1, 2]]), torch.tensor([0, 1])
    table = TrainingTable(torch.eye(5), torch.full((5,), -1), leaves, of_leaves, windows, images)
    assert symbols_under(table).tolist() == plain_symbols_under(table)


@pytest.mark.parametrize("C", [2, 3])
def test_windows_come_in_by_their_length_and_only_they_are_drawn(C: int):
    _, table = untrained_table("cycle-navigation", C)
    stages = ShortFirst(table)
    lengths = symbols_under(table)[table.windows].sum(1)
    assert torch.equal(lengths[stages.order], lengths.sort().values)
    for stage, end in enumerate(stages.ends):
        stages.stage = stage
        assert stages.n_windows == end == int((lengths <= lengths[stages.order[end - 1]]).sum())
        drawn = stages.draw(table, 4000, seeded(stage))
        if not stages.is_whole:
            come_in = set(stages.order[:end].tolist())
            assert set(drawn.tolist()) == come_in if end <= 500 else set(drawn.tolist()) <= come_in
    # Half of them have come in last.
    stages.stage = len(stages.ends) - 2
    first = stages.ends[stages.stage - 2]
    drawn = stages.draw(table, 4000, seeded(0))
    recent = torch.isin(drawn, stages.order[first : stages.n_windows])
    share = 0.5 + 0.5 * (stages.n_windows - first) / stages.n_windows
    assert recent.double().mean().item() == pytest.approx(share, abs=0.03)


def test_of_all_windows_it_draws_as_the_table_does():
    _, table = untrained_table("tomita-3", 2)
    stages = ShortFirst(table)
    stages.whole()
    assert stages.is_whole
    drawn = stages.draw(table, 64, seeded(1))
    assert torch.equal(drawn, table.draw(64, seeded(1)))


@pytest.mark.parametrize(("nearly_all", "remembers"), [(-1.0, True), (1.0, False)])
def test_the_hardest_windows_of_a_step_are_candidates_of_the_next_where_few_are_missed(
    monkeypatch: pytest.MonkeyPatch, nearly_all: float, remembers: bool
):
    monkeypatch.setattr("regulargpt.certificate.tuning.short_first.NEARLY_ALL", nearly_all)
    model, table = untrained_table("tomita-3", 2)
    stages, free = ShortFirst(table), FreePrototypes(model.state_norm, table.prototypes)
    stages.whole()
    by_chance = table.draw(32, seeded(1))
    assert torch.equal(stages.candidates(table, 32, seeded(1)), by_chance)
    seed_counted(model, 0, 1)
    mending_loss(table, free, model, 8, 0.0, stages)
    seed_counted(model, 0, 1)
    generator = model.state_noise.next_generator(table.prototypes.device)
    over = table.over(free(model.state_norm).detach())
    drawn = table.draw(32, generator)
    wrong = missed(over, model, drawn[:4])
    assert len(stages.hardest) == (4 if remembers else 0)
    assert set(stages.hardest.tolist()) <= set(drawn.tolist())
    assert wrong.any(), "an untrained network misses some"
    after = stages.candidates(table, 32, seeded(1))
    assert torch.equal(after[32 - len(stages.hardest) :], stages.hardest)
    assert torch.equal(after[:28], table.draw(28, seeded(1))) or not remembers


def test_all_windows_come_in_at_once_where_the_network_is_right_and_none_where_it_is_not():
    model, table = table_of("cycle-navigation", 2)
    stages = ShortFirst(table)
    assert stages.open(table, model.eval(), seeded(0))
    assert stages.is_whole
    assert not stages.open(table, model, seeded(0))
    wrong = replace(table, images=(table.images + 1) % len(table.prototypes))
    stages = ShortFirst(wrong)
    assert not stages.open(wrong, model, seeded(0))
    assert stages.stage == 0


def test_what_is_missed_is_nearer_to_another_prototype():
    model, table = untrained_table("tomita-3", 2)
    states = model.merge(torch.cat([model.absent, table.prototypes]), table.windows)
    nearest = torch.cdist(states, table.prototypes).argmin(1)
    assert torch.equal(missed(table, model, torch.arange(len(table.windows))), nearest != table.images)


def mended(monkeypatch: pytest.MonkeyPatch, steps: int = 60) -> Trainer:
    """A trainer of a small network that mends the table of Cycle Navigation from step 5 on, all of it missed."""
    monkeypatch.setattr(f"{TableFineTuning.__module__}.OPEN_EVERY", 5)
    fields = {"data.name": "cycle-navigation", "training.steps": steps}
    trainer = trainer_of(config_of(fields, steps=steps, max_error_share=1.0, windows=64, lr=2e-2))
    _, table = untrained_table("cycle-navigation", 2)
    table = replace(table, prototypes=torch.randn(len(table.prototypes), 4, generator=torch.Generator()))
    certifies(trainer, lambda *_: CertificationAttempt(False, lambda: table, (1,), 1.0))
    return trainer


def test_the_steps_of_a_mending_are_counted_since_windows_last_came_in(monkeypatch: pytest.MonkeyPatch):
    trainer = train(mended(monkeypatch), 5)
    tuner, stage = tuner_of(trainer), stage_of(trainer)
    assert tuner.stages is not None
    assert tuner.stages.stage == 0
    assert (stage.opened_at, stage.counted_from) == (5, 5)
    stages, few = tuner.stages, tuner.stages.n_windows
    assert f"on {few:,} of {tuner.n_windows:,} windows" in trainer.awaited[1]
    monkeypatch.setattr(stages, "open", lambda table, model, generator: not stages.whole())
    train(trainer, 10)
    stage = stage_of(trainer)
    assert (stage.began_at, stage.opened_at, stage.counted_from) == (5, 10, 10)
    assert trainer.awaited[1] == "table fine-tuning 0 of 60"


@pytest.mark.parametrize("stop_at", [5, 8, 10, 21])
def test_a_mending_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stop_at: int):
    def one_more(stages: ShortFirst, table: TrainingTable, model: RegularGPT, generator: torch.Generator) -> bool:
        stages.stage = min(stages.stage + 1, len(stages.ends) - 1)
        return True

    monkeypatch.setattr(ShortFirst, "open", one_more)
    whole, seen = mended(monkeypatch, 30), set()
    while not whole.finished:
        whole.step()
        tuning = tuning_of(whole)
        seen |= {None if tuning is None or tuning.tuner.stages is None else tuning.tuner.stages.stage}
    assert len(seen) > 2, "windows came in"
    _, second = stopped(lambda: mended(monkeypatch, 30), stop_at, tmp_path / "run")
    train(second)
    assert standing_of(second) == standing_of(whole)
    assert same(weights(whole), weights(second))
