"""Where training stands, as a value: the running loss decides on curriculum stage, state noise and the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from regulargpt.config import TrainingConfig

# The running loss may jump by chance while it remembers few steps; nothing is decided before this many memories.
MEMORIES = 2
# The noise grows from here, and shrinks by this factor a step while the loss is too high for it.
FIRST_NOISE, NOISE_DECAY = 1e-4, 0.995
# The share of the anchoring in which its learning rate falls to 0.
ANCHOR_FALL = 0.6
# An anchoring that has not brought the certificate in so many steps begins anew if it has mended half of what was
# missed; else it is given up.
MENDING, MENDED = 1000, 0.5


@dataclass(frozen=True)
class Progress:
    """After `step` steps: the running loss, the stage and its age, the noise, when it was solved, anchored, certified.

    `cooldowns` counts those that ended without a certificate, `given_up` anchorings that did; `missed` is the share of
    the table that was missed when the anchoring began.

    >>> config = TrainingConfig(loss_memory=0.5, solved_below=0.1, cooldown=10, steps=100)
    >>> progress = Progress()
    >>> for loss in (1.0, 0.1, 0.01, 0.01, 0.01):
    ...     progress = progress.after(loss, config)
    >>> progress.solved_at, progress.last_step(config)
    (5, 15)
    """

    step: int = 0
    loss: float = math.inf
    stage: int = 0
    stage_age: int = 0
    noise: float = 0.0
    solved_at: int | None = None
    anchored_at: int | None = None
    certified_at: int | None = None
    cooldowns: int = 0
    missed: float = 1.0
    given_up: int = 0

    @classmethod
    def start(cls, config: TrainingConfig) -> Progress:
        """Before the first step: noise that waits for nothing is there at once."""
        return cls(noise=0.0 if config.noise_below > 0 else config.state_noise)

    def longest(self, config: TrainingConfig, train_len: int) -> int:
        """The longest word of the current stage; without a curriculum, and after it, the train length."""
        return min(config.curriculum[self.stage], train_len) if self.stage < len(config.curriculum) else train_len

    def last_step(self, config: TrainingConfig) -> int:
        """The step training ends at, as far as is known."""
        if self.certified_at is not None:
            return self.certified_at + config.anchor_steps
        return config.steps if config.certify_every else self.cooled_at(config)

    def known_end(self, config: TrainingConfig) -> int | None:
        """The step at which training ends, if it no longer depends on the loss or on a certificate that is not there.

        >>> config = TrainingConfig(solved_below=0.1, cooldown=10, steps=100)
        >>> Progress(step=5).known_end(config), Progress(step=5, solved_at=5).known_end(config)
        (None, 15)
        """
        if config.certify_every and self.certified_at is None:
            return None
        unsolved = bool(config.solved_below) and self.solved_at is None and not config.certify_every
        return None if unsolved and self.step + config.cooldown < config.steps else self.last_step(config)

    def awaited(self, config: TrainingConfig, missed: float | None = None) -> list[str]:
        """What the end waits for and how near it is, in words; nothing if the end is known.

        `missed` is the share of its table that the certificate missed when it was last tried.

        >>> config = TrainingConfig(state_noise=0.4, noise_below=0.2, solved_below=0.05, cooldown=10)
        >>> Progress(step=900, loss=0.061, noise=0.4).awaited(config)
        ['waits for loss 0.061 < 0.05']
        """
        if self.known_end(config) is not None:
            return []
        tried = f"tried every {config.certify_every} steps" if missed is None else f"{100 * missed:.1f} % missed"
        certificate = [f"waits for a proof ({tried})"] if config.certify_every else []
        if self.anchoring_began is not None:
            done = self.step - self.anchoring_began
            return [*certificate, f"anchoring {done:,} of {self.anchoring_steps(config):,}"]
        return [*certificate, *self._awaited_of_words(config)]

    def _awaited_of_words(self, config: TrainingConfig) -> list[str]:
        """What training on words waits for."""
        if self.stage < len(config.curriculum):
            return [f"stage {self.stage + 1} waits for loss {self.loss:.3f} < {config.stage_below:g}"]
        if self.noise < config.state_noise:
            rising = f"which waits for loss {self.loss:.3f} < {config.noise_below:g}"
            return [f"waits for noise {self.noise:.2f} of {config.state_noise:g}", rising]
        if self.solved_at is not None:
            return [f"cooldown {self.step - self.solved_at:,} of {config.cooldown:,}"]
        return [f"waits for loss {self.loss:.3f} < {config.solved_below:g}"] if config.solved_below else []

    def cooled_at(self, config: TrainingConfig) -> int:
        """The step at which the learning rate comes to 0."""
        return config.steps if self.solved_at is None else min(config.steps, self.solved_at + config.cooldown)

    @property
    def anchoring_began(self) -> int | None:
        """The step at which the anchoring began; what begins before the certificate begins anew with it."""
        return self.anchored_at if self.certified_at is None else self.certified_at

    def anchoring_left(self, config: TrainingConfig) -> float:
        """1 in the first part of the anchoring, then falling to 0: its learning rate and its noise; 1 before it."""
        if self.anchoring_began is None:
            return 1.0
        left = self.anchoring_began + self.anchoring_steps(config) - self.step
        return min(1.0, left / max(1.0, ANCHOR_FALL * self.anchoring_steps(config)))

    def anchoring_steps(self, config: TrainingConfig) -> int:
        """How long the anchoring lasts; without certificate no longer than `MENDING`."""
        return config.anchor_steps if self.certified_at is not None else min(config.anchor_steps, MENDING)

    def anchoring_ends(self, config: TrainingConfig) -> bool:
        """Whether the anchoring has had its steps."""
        return self.anchoring_began is not None and self.step >= self.anchoring_began + self.anchoring_steps(config)

    def allowed(self, config: TrainingConfig) -> float:
        """The share of the table that may be missed when anchoring begins: half as much after one was given up."""
        return config.anchor_missed * 0.5**self.given_up if config.anchor_steps else 0.0

    def anchored(self, certain: bool, missed: float) -> Progress:
        """Anchoring from here on, or anew, on a table of which the network misses the share `missed`.

        If it is `certain`, the certificate holds, since now or since before; else it does not, or no longer.
        """
        if not certain:
            return replace(self, anchored_at=self.step, certified_at=None, missed=missed)
        begun = self.step if self.anchored_at is None else self.anchored_at
        holds = self.step if self.certified_at is None else self.certified_at
        return replace(self, anchored_at=begun, certified_at=holds, missed=missed)

    def unanchored(self) -> Progress:
        """Words again: the anchoring was given up."""
        return replace(self, anchored_at=None, certified_at=None, given_up=self.given_up + 1)

    def asks_for_certificate(self, config: TrainingConfig) -> bool:
        """Whether the certificate is to be tried after this step: every so many steps and at an end.

        Where nothing is anchored before it holds, in the last stage only.
        """
        if not config.certify_every or (self.stage < len(config.curriculum) and not config.anchor_missed):
            return False
        if self.certified_at is not None:
            return self.anchoring_ends(config)
        return self.step % config.certify_every == 0 or self.step == config.steps or self.anchoring_ends(config)

    def lr(self, config: TrainingConfig) -> float:
        """The learning rate of the next step: warm-up, then constant or cosine, and the cooldown to 0 at the end."""
        if self.anchored_at is not None:
            return config.anchor_lr * self.anchoring_left(config)
        warmup = min(1.0, (self.step + 1) / max(1, config.warmup))
        # A cooldown can be over before this step: it goes on running while an anchoring is tried that is given up.
        cooldown = max(0.0, min(1.0, (self.cooled_at(config) - self.step) / max(1, config.cooldown)))
        cosine = 0.5 + 0.5 * math.cos(math.pi * self.step / config.steps) if config.schedule == "cosine" else 1.0
        return config.lr * warmup * cosine * cooldown

    def after(self, loss: float, config: TrainingConfig) -> Progress:
        """One step on, having seen this loss."""
        if self.anchored_at is not None:
            return replace(self, step=self.step + 1)
        memory = config.loss_memory
        running = loss if self.stage_age == 0 else memory * self.loss + (1 - memory) * loss
        then = replace(self, step=self.step + 1, loss=running, stage_age=self.stage_age + 1)
        if config.certify_every and then.solved_at is not None and then.step >= then.cooled_at(config):
            then = replace(then, solved_at=None, stage_age=0, cooldowns=then.cooldowns + 1)
        settled = then.stage_age * (1 - memory) >= MEMORIES
        if settled and then.stage < len(config.curriculum) and running < config.stage_below:
            return replace(then, stage=then.stage + 1, stage_age=0)
        if config.noise_below > 0:
            then = replace(then, noise=_noise(then.noise, running < config.noise_below, config))
        ready = settled and then.stage == len(config.curriculum) and then.noise == config.state_noise
        if ready and then.solved_at is None and running < config.solved_below:
            then = replace(then, solved_at=then.step)
        return then


def _noise(noise: float, quiet: bool, config: TrainingConfig) -> float:
    grown = noise * config.noise_growth + FIRST_NOISE if quiet else noise * NOISE_DECAY
    return min(config.state_noise, grown)
