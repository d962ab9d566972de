"""Progress as a state machine: curriculum, noise, solved, cooldown, and a way back from a checkpoint."""

import dataclasses
import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regulargpt.config import TrainingConfig
from regulargpt.progress import FIRST_NOISE, MEMORIES, NOISE_DECAY, Progress

LOSSES = st.lists(st.floats(0, 4), max_size=60)
CONFIGS = st.builds(
    TrainingConfig,
    steps=st.integers(1, 80),
    warmup=st.integers(0, 10),
    cooldown=st.integers(0, 10),
    schedule=st.sampled_from(["constant", "cosine"]),
    loss_memory=st.sampled_from([0.0, 0.5, 0.8]),
    state_noise=st.sampled_from([0.0, 0.001]),
    noise_below=st.sampled_from([0.0, 1.0]),
    curriculum=st.sampled_from([(), (4,), (4, 8)]),
    stage_below=st.just(1.0),
    solved_below=st.sampled_from([0.0, 1.0]),
)


def after(losses: list[float], config: TrainingConfig) -> list[Progress]:
    return list(itertools.accumulate(losses, lambda p, loss: p.after(loss, config), initial=Progress.start(config)))


@given(LOSSES, CONFIGS)
def test_laws(losses: list[float], config: TrainingConfig):
    for before, then in itertools.pairwise(after(losses, config)):
        assert then.step == before.step + 1
        assert before.stage <= then.stage <= min(before.stage + 1, len(config.curriculum))
        assert 0.0 <= then.noise <= config.state_noise
        if before.solved_at is not None:
            assert then.solved_at == before.solved_at
        elif then.solved_at is not None:
            assert then.solved_at == then.step
            assert then.loss < config.solved_below
            assert (then.stage, then.noise) == (len(config.curriculum), config.state_noise)
        if then.stage > before.stage:
            assert then.loss < config.stage_below
            assert then.stage_age == 0
        assert then.last_step(config) <= config.steps
        if then.step < then.last_step(config):
            assert 0.0 <= then.lr(config) <= config.lr


EVENTS = st.lists(st.one_of(st.floats(0, 4), st.sampled_from(["table", "certain", "none"])), max_size=60)
ANCHORED = {"anchor_steps": st.integers(1, 8), "certify_every": st.just(1)}


@given(EVENTS, CONFIGS.flatmap(lambda c: st.builds(lambda **new: dataclasses.replace(c, **new), **ANCHORED)))
def test_the_learning_rate_is_never_negative_whatever_the_certificate_says(
    events: list[float | str], config: TrainingConfig
):
    """A float is a step with that loss, a word what the trainer makes of a verdict."""
    progress = Progress.start(config)
    for event in events:
        if isinstance(event, float):
            progress = progress.after(event, config)
        elif event != "none":
            progress = progress.anchored(event == "certain", missed=0.1)
        elif progress.anchored_at is not None:
            progress = progress.unanchored()
        if progress.anchoring_ends(config):
            progress = progress.unanchored()
        assert 0.0 <= progress.lr(config) <= max(config.lr, config.anchor_lr)


@given(LOSSES, CONFIGS, st.integers(0, 60))
def test_what_a_checkpoint_holds_is_all_of_it(losses: list[float], config: TrainingConfig, at: int):
    path = after(losses, config)
    at = min(at, len(losses))
    back = Progress(**dataclasses.asdict(path[at]))
    assert list(itertools.accumulate(losses[at:], lambda p, loss: p.after(loss, config), initial=back)) == path[at:]


def test_the_running_loss_is_the_exponential_mean_and_begins_anew_at_each_stage():
    config = TrainingConfig(loss_memory=0.5, curriculum=(4,), stage_below=0.5)
    path = after([1.0, 0.5, 0.25, 0.125, 0.0625, 3.0, 1.0], config)
    assert [p.loss for p in path[1:]] == [1.0, 0.75, 0.5, 0.3125, 0.0625, 1.5312500, 1.265625]
    assert [p.stage for p in path] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("memory", [0.5, 0.75, 0.98])
def test_nothing_is_decided_before_two_memories(memory: float):
    config = TrainingConfig(loss_memory=memory, curriculum=(4,), stage_below=1.0, solved_below=1.0)
    path = after([0.0] * 300, config)
    wait = math.ceil(MEMORIES / (1 - memory) - 1e-9)
    assert next(p.step for p in path if p.stage == 1) == wait
    assert next(p.solved_at for p in path if p.solved_at) == 2 * wait


def test_the_longest_word_follows_the_curriculum_and_never_passes_the_train_length():
    config = TrainingConfig(curriculum=(4, 8, 100))
    assert [Progress(stage=n).longest(config, 40) for n in range(4)] == [4, 8, 40, 40]
    assert Progress().longest(TrainingConfig(), 40) == 40


def test_noise_grows_while_the_loss_is_low_shrinks_while_it_is_high_and_stops_at_its_level():
    config = TrainingConfig(loss_memory=0.0, state_noise=3e-4, noise_below=0.2, noise_growth=1.5)
    noises = [p.noise for p in after([0.1, 0.1, 0.3, 0.1, 0.1, 0.1], config)]
    first, second = FIRST_NOISE, FIRST_NOISE * 1.5 + FIRST_NOISE
    third = second * NOISE_DECAY
    assert noises == [0.0, first, second, third, 3e-4, 3e-4, 3e-4]


def test_noise_that_waits_for_nothing_is_there_at_once_and_stays():
    config = TrainingConfig(state_noise=0.4, noise_below=0.0)
    assert {p.noise for p in after([5.0, 0.0, 1.0], config)} == {0.4}


def test_solved_waits_for_the_last_stage_and_the_full_noise():
    config = TrainingConfig(
        loss_memory=0.0, curriculum=(4,), stage_below=1.0, state_noise=2.5e-4, noise_below=1.0, solved_below=1.0
    )
    path = after([0.0] * 12, config)
    assert path[-1].solved_at == next(p.step for p in path if p.stage == 1 and p.noise == 2.5e-4)


def test_solved_below_zero_trains_to_the_end():
    config = TrainingConfig(steps=50, loss_memory=0.0)
    path = after([0.0] * 50, config)
    assert path[-1].solved_at is None
    assert [p.step for p in path if p.step >= p.last_step(config)] == [50]


@pytest.mark.parametrize("solved_at", [None, 20, 96])
@pytest.mark.parametrize("cooldown", [0, 1, 10])
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_the_learning_rate_warms_up_and_cools_down_to_almost_nothing(solved_at, cooldown: int, schedule: str):
    config = TrainingConfig(steps=100, lr=1.0, warmup=5, cooldown=cooldown, schedule=schedule)
    last = min(100, solved_at + cooldown) if solved_at is not None else 100
    assert Progress(solved_at=solved_at, step=last).last_step(config) == last
    rates = [
        Progress(step=s, solved_at=solved_at if solved_at and s >= solved_at else None).lr(config) for s in range(last)
    ]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0], rel=0.01)
    cosine = [0.5 + 0.5 * math.cos(math.pi * s / 100) if schedule == "cosine" else 1.0 for s in range(last)]
    for step in range(5, last):
        cooling = step >= last - cooldown and (solved_at is None or step >= solved_at or last == 100)
        expected = (last - step) / cooldown if cooling else 1.0
        assert rates[step] == pytest.approx(expected * cosine[step])
    if cooldown == 10 and (solved_at or 0) < 90:
        assert rates[-1] <= 0.1
