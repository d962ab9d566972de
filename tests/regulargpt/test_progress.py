"""Progress as a state machine: curriculum, noise, solved, cooldown, and a way back from a checkpoint."""

import dataclasses
import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regulargpt.certificate.tuning.state import Certified, Mending, Stage
from regulargpt.config.schema import TrainingOptions
from regulargpt.models.options import Noise
from regulargpt.training.progress import FIRST_NOISE, MEMORIES, NOISE_DECAY, SILENT, Plan, Progress
from regulargpt.training.table_fine_tuning import TableFineTuningOptions

LOSSES = st.lists(st.floats(0, 4), max_size=60)
OPTIONS = st.builds(
    TrainingOptions,
    steps=st.integers(1, 80),
    warmup=st.integers(0, 10),
    cooldown=st.integers(0, 10),
    schedule=st.sampled_from(["constant", "cosine"]),
    loss_memory=st.sampled_from([0.0, 0.5, 0.8]),
    curriculum=st.sampled_from([(), (4,), (4, 8)]),
    stage_loss=st.just(1.0),
    solved_loss=st.sampled_from([0.0, 1.0]),
)
NOISES = st.builds(Noise, st.sampled_from([0.0, 0.001]), st.sampled_from([0.0, 1.0]), st.just(1.01))
PLANS = st.builds(Plan, OPTIONS, st.just(40), NOISES, goes_on=st.booleans())


def plan_of(noise: Noise = SILENT, goes_on: bool = False, **options) -> Plan:
    return Plan(TrainingOptions(**options), 40, noise, goes_on)


def after(losses: list[float], plan: Plan) -> list[Progress]:
    """Where the training stands before the first step and after each."""
    found = [Progress.start(plan)]
    for step, loss in enumerate(losses, start=1):
        found.append(found[-1].after(step, loss, plan))
    return found


@given(LOSSES, PLANS)
def test_laws(losses: list[float], plan: Plan):
    for step, (before, then) in enumerate(itertools.pairwise(after(losses, plan)), start=1):
        assert before.stage <= then.stage <= min(before.stage + 1, plan.stages)
        assert 0.0 <= then.noise <= plan.noise.full
        if before.solved_at is not None and then.cooldowns == before.cooldowns:
            assert then.solved_at == before.solved_at
        elif then.solved_at is not None:
            assert then.solved_at == step
            assert then.loss < plan.options.solved_loss
            assert (then.stage, then.noise) == (plan.stages, plan.noise.full)
        if then.cooldowns > before.cooldowns:
            assert plan.goes_on
            assert step < plan.options.steps
            assert step >= before.last_step(plan)
        if then.stage > before.stage:
            assert then.loss < plan.options.stage_loss
            assert then.stage_age == 0
        assert then.last_step(plan) <= plan.options.steps
        if step < then.last_step(plan):
            assert 0.0 <= then.lr(step, plan) <= plan.options.lr


EVENTS = st.lists(st.sampled_from(["step", "table", "certain", "given up"]), max_size=60)


@given(EVENTS, st.integers(0, 8))
def test_the_learning_rate_on_the_table_is_never_negative_whatever_the_certificate_says(events: list[str], steps: int):
    options, step = TableFineTuningOptions("table_fine_tuning", steps=steps), 0
    stage: Stage | None = None
    for event in events:
        if event == "step":
            step += 1
        elif event == "given up":
            stage = None
        elif event == "certain":
            stage = Certified(step if stage is None else stage.began_at, 0.1, 0, step)
        else:
            stage = Mending(step, 0.1, 0, step)
        if stage is not None and step >= stage.end(options):
            stage = None
        assert stage is None or 0.0 <= stage.left(step, options) <= 1.0


@given(LOSSES, PLANS, st.integers(0, 60))
def test_what_a_checkpoint_holds_is_all_of_it(losses: list[float], plan: Plan, at: int):
    path = after(losses, plan)
    at = min(at, len(losses))
    progress = Progress(**dataclasses.asdict(path[at]))
    for step in range(at, len(losses)):
        progress = progress.after(step + 1, losses[step], plan)
        assert progress == path[step + 1]


def test_the_running_loss_is_the_exponential_mean_and_begins_anew_at_each_stage():
    plan = plan_of(loss_memory=0.5, curriculum=(4,), stage_loss=0.5)
    path = after([1.0, 0.5, 0.25, 0.125, 0.0625, 3.0, 1.0], plan)
    assert [p.loss for p in path[1:]] == [1.0, 0.75, 0.5, 0.3125, 0.0625, 1.5312500, 1.265625]
    assert [p.stage for p in path] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("memory", [0.5, 0.75, 0.98])
def test_nothing_is_decided_before_two_memories(memory: float):
    plan = plan_of(loss_memory=memory, curriculum=(4,), stage_loss=1.0, solved_loss=1.0)
    path = after([0.0] * 300, plan)
    wait = math.ceil(MEMORIES / (1 - memory) - 1e-9)
    assert next(step for step, p in enumerate(path) if p.stage == 1) == wait
    assert next(p.solved_at for p in path if p.solved_at) == 2 * wait


def test_the_longest_word_follows_the_curriculum_and_never_passes_the_train_length():
    plan = plan_of(curriculum=(4, 8, 100), stage_loss=1.0)
    assert [Progress(stage=n).longest(plan) for n in range(4)] == [4, 8, 40, 40]
    assert Progress().longest(plan_of()) == 40


def test_noise_grows_while_the_loss_is_low_shrinks_while_it_is_high_and_stops_at_its_level():
    plan = plan_of(Noise(3e-4, 0.2, 1.5), loss_memory=0.0)
    noises = [p.noise for p in after([0.1, 0.1, 0.3, 0.1, 0.1, 0.1], plan)]
    first, second = FIRST_NOISE, FIRST_NOISE * 1.5 + FIRST_NOISE
    third = second * NOISE_DECAY
    assert noises == [0.0, first, second, third, 3e-4, 3e-4, 3e-4]
    # Noise that waits for nothing is there at once and stays.
    assert {p.noise for p in after([5.0, 0.0, 1.0], plan_of(Noise(0.4, 0.0, 1.01)))} == {0.4}


def test_solved_waits_for_the_last_stage_and_the_full_noise():
    plan = plan_of(Noise(2.5e-4, 1.0, 1.01), loss_memory=0.0, curriculum=(4,), stage_loss=1.0, solved_loss=1.0)
    path = after([0.0] * 12, plan)
    assert path[-1].solved_at == next(step for step, p in enumerate(path) if p.stage == 1 and p.noise == 2.5e-4)
    # A solved loss of 0 trains to the end.
    to_the_end = plan_of(steps=50, loss_memory=0.0)
    path = after([0.0] * 50, to_the_end)
    assert path[-1].solved_at is None
    assert [step for step, p in enumerate(path) if step >= p.last_step(to_the_end)] == [50]


@pytest.mark.parametrize("solved_at", [None, 20, 96])
@pytest.mark.parametrize("cooldown", [0, 1, 10])
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_the_learning_rate_warms_up_and_cools_down_to_almost_nothing(solved_at, cooldown: int, schedule: str):
    plan = plan_of(steps=100, lr=1.0, warmup=5, cooldown=cooldown, schedule=schedule)
    last = min(100, solved_at + cooldown) if solved_at is not None else 100
    assert Progress(solved_at=solved_at).last_step(plan) == last
    rates = [Progress(solved_at=solved_at if solved_at and s >= solved_at else None).lr(s, plan) for s in range(last)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0], rel=0.01)
    cosine = [0.5 + 0.5 * math.cos(math.pi * s / 100) if schedule == "cosine" else 1.0 for s in range(last)]
    for step in range(5, last):
        cooling = step >= last - cooldown and (solved_at is None or step >= solved_at or last == 100)
        expected = (last - step) / cooldown if cooling else 1.0
        assert rates[step] == pytest.approx(expected * cosine[step])
    if cooldown == 10 and (solved_at or 0) < 90:
        assert rates[-1] <= 0.1
