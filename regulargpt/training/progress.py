"""Where the training on words stands, as a value: the running loss decides on curriculum stage, noise and the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from regulargpt.config.schema import TrainingOptions
from regulargpt.models.options import Noise

# The running loss may jump by chance while it remembers few steps; nothing is decided before this many memories.
MEMORIES = 2
# The noise grows from here, and shrinks by this factor a step while the loss is too high for it.
FIRST_NOISE, NOISE_DECAY = 1e-4, 0.995
SILENT = Noise(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Plan:
    """What does not change: the options, the longest training word, the model's noise, and whether the training goes on
    after a cooldown because another phase decides on its end."""

    options: TrainingOptions
    train_len: int
    noise: Noise = SILENT
    goes_on: bool = False

    @property
    def stages(self) -> int:
        """The stages before the last."""
        return len(self.options.curriculum)


@dataclass(frozen=True)
class Progress:
    """The running loss, the stage and its age, the noise, the step at which it was solved, the cooldowns undone.

    >>> plan = Plan(TrainingOptions(loss_memory=0.5, solved_loss=0.1, cooldown=10, steps=100), train_len=40)
    >>> progress = Progress()
    >>> for step, loss in enumerate((1.0, 0.1, 0.01, 0.01, 0.01), start=1):
    ...     progress = progress.after(step, loss, plan)
    >>> progress.solved_at, progress.last_step(plan)
    (5, 15)
    """

    loss: float = math.inf
    stage: int = 0
    stage_age: int = 0
    noise: float = 0.0
    solved_at: int | None = None
    cooldowns: int = 0

    @classmethod
    def start(cls, plan: Plan) -> Progress:
        """Before the first step: noise that waits for nothing is there at once."""
        return cls(noise=0.0 if plan.noise.loss > 0 else plan.noise.full)

    def longest(self, plan: Plan) -> int:
        """The longest word of the current stage; without a curriculum, and after it, the train length."""
        return min(plan.options.curriculum[self.stage], plan.train_len) if self.stage < plan.stages else plan.train_len

    def last_step(self, plan: Plan) -> int:
        """The step at which the learning rate comes to 0."""
        options = plan.options
        return options.steps if self.solved_at is None else min(options.steps, self.solved_at + options.cooldown)

    def known_end(self, step: int, plan: Plan) -> int | None:
        """The last step, if it no longer depends on the loss.

        >>> plan = Plan(TrainingOptions(solved_loss=0.1, cooldown=10, steps=100), train_len=40)
        >>> Progress().known_end(5, plan), Progress(solved_at=5).known_end(5, plan)
        (None, 15)
        """
        unsolved = bool(plan.options.solved_loss) and self.solved_at is None
        return None if unsolved and step + plan.options.cooldown < plan.options.steps else self.last_step(plan)

    def awaited(self, step: int, plan: Plan) -> list[str]:
        """What the training on words waits for and how near it is, in words.

        >>> plan = Plan(TrainingOptions(solved_loss=0.05, cooldown=10), 40, Noise(0.4, 0.2, 1.01))
        >>> Progress(loss=0.061, noise=0.4).awaited(900, plan)
        ['waits for loss 0.061 < 0.05']
        """
        options, noise = plan.options, plan.noise
        if self.stage < plan.stages:
            return [f"stage {self.stage + 1} waits for loss {self.loss:.3f} < {options.stage_loss:g}"]
        if self.noise < noise.full:
            rising = f"which waits for loss {self.loss:.3f} < {noise.loss:g}"
            return [f"waits for noise {self.noise:.2f} of {noise.full:g}", rising]
        if self.solved_at is not None:
            return [f"cooldown {step - self.solved_at:,} of {options.cooldown:,}"]
        return [f"waits for loss {self.loss:.3f} < {options.solved_loss:g}"] if options.solved_loss else []

    def lr(self, step: int, plan: Plan) -> float:
        """The learning rate of the next step: warm-up, then constant or cosine, and the cooldown to 0 at the end."""
        options = plan.options
        warmup = min(1.0, (step + 1) / max(1, options.warmup))
        # A cooldown can be over before this step: it goes on running while another phase is tried and given up.
        cooldown = max(0.0, min(1.0, (self.last_step(plan) - step) / max(1, options.cooldown)))
        cosine = 0.5 + 0.5 * math.cos(math.pi * step / options.steps) if options.schedule == "cosine" else 1.0
        return options.lr * warmup * cosine * cooldown

    def after(self, step: int, loss: float, plan: Plan) -> Progress:
        """After `step` steps, the last of which had this loss."""
        options, memory = plan.options, plan.options.loss_memory
        # A stage begins with a memory of its own: the loss of shorter words says nothing about longer ones.
        running = loss if self.stage_age == 0 else memory * self.loss + (1 - memory) * loss
        then = replace(self, loss=running, stage_age=self.stage_age + 1)
        # The cooldown is over and the proof is not there: the rate goes up again, and words go on, if steps are left.
        if plan.goes_on and then.solved_at is not None and then.last_step(plan) <= step < options.steps:
            then = replace(then, solved_at=None, stage_age=0, cooldowns=then.cooldowns + 1)
        settled = then.stage_age * (1 - memory) >= MEMORIES
        if settled and then.stage < plan.stages and running < options.stage_loss:
            return replace(then, stage=then.stage + 1, stage_age=0)
        if plan.noise.loss > 0:
            then = replace(then, noise=_noise(then.noise, running < plan.noise.loss, plan.noise))
        # Solved without the noise is not solved: long words need the states to come back.
        ready = settled and then.stage == plan.stages and then.noise == plan.noise.full
        if ready and then.solved_at is None and running < options.solved_loss:
            then = replace(then, solved_at=step)
        return then


def _noise(level: float, quiet: bool, noise: Noise) -> float:
    grown = level * noise.growth + FIRST_NOISE if quiet else level * NOISE_DECAY
    return min(noise.full, grown)
