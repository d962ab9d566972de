"""The training on words: fresh ones every step, and the loss deciding when it is enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from languages.randomness import rng
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data, Words
from regulargpt.data.language import LanguageData
from regulargpt.objectives.answers import Objective
from regulargpt.training.progress import SILENT, Plan, Progress

if TYPE_CHECKING:
    from regulargpt.training.trainer import Trainer

# One step in so many is on words near a wrong word.
NEAR_EVERY = 4


class WordTraining:
    """The first phase of every training.

    `wrong` are words that the model answers wrong, if another phase has found some: after a cooldown that was undone,
    or before, if it `trains_on_errors`, every `NEAR_EVERY`-th step is on words near those no longer than the training
    words.
    """

    name = "words"
    is_active = True

    def __init__(self, config: RunConfig, data: Data, objective: Objective, goes_on: bool):
        self.config, self.data, self.objective = config, data, objective
        self.plan = Plan(config.training, config.data.train_len, config.model.noise or SILENT, goes_on)
        self.progress = Progress.start(self.plan)
        self.wrong: Sequence[tuple[int, ...]] = ()
        self.trains_on_errors = False

    @property
    def longest(self) -> int:
        """The longest word of the current stage."""
        return self.progress.longest(self.plan)

    @property
    def in_last_stage(self) -> bool:
        """Whether no stage of the curriculum is left."""
        return self.progress.stage == self.plan.stages

    def optimiser(self, trainer: Trainer) -> torch.optim.Optimizer:
        """The trainer's."""
        return trainer.optimiser

    def lr(self, trainer: Trainer) -> float:
        """Warm-up, schedule, cooldown."""
        return self.progress.lr(trainer.step_count, self.plan)

    def noise(self) -> float:
        """As far as it has grown."""
        return self.progress.noise

    def backward(self, trainer: Trainer) -> tuple[float, Mapping[str, float]]:
        """Gradients of the mean loss over this step's lengths."""
        training, step = self.config.training, trainer.step_count
        groups, longest = training.lengths_per_step, self.longest
        lengths = self.data.lengths(longest)
        # While the curriculum's words are short there are more of them: about the same symbols in every step.
        count = training.batch_size * self.config.data.train_len // longest // groups
        # Summed on the device: asking for each group's number would make a GPU wait.
        total = torch.zeros((), device=trainer.device)
        measured: dict[str, float] = {}
        # One batch for all groups: words near a wrong word have its length.
        near = self.near_wrong(step)
        for group in range(groups):
            words = (
                self.data.batch(self.config.seed, "train", step * groups + group, lengths, count)
                if near is None
                else near
            )
            loss, measures = self.objective.loss(trainer.model, words, trainer.device)
            (loss / groups).backward()
            total += loss.detach() / groups
            measured = {name: measured.get(name, 0.0) + value / groups for name, value in measures.items()}
        return total.item(), measured

    def near_wrong(self, step: int) -> Words | None:
        """Words near wrong ones, all of one length, if it is their turn."""
        training, seed, words = self.config.training, self.config.seed, self.data
        if not (wrong := self.wrong_at(step)) or not isinstance(words, LanguageData):
            return None
        random = rng(seed, "which wrong words", step)
        length = len(wrong[random.integers(len(wrong))])
        alike = np.array([word for word in wrong if len(word) == length])
        chosen = random.integers(len(alike), size=training.batch_size // training.lengths_per_step)
        return words.near(alike[chosen], seed, step)

    def wrong_at(self, step: int) -> list[tuple[int, ...]]:
        """The wrong words near which this step is trained; none where it is not their turn."""
        if not (self.trains_on_errors or self.progress.cooldowns) or step % NEAR_EVERY:
            return []
        words = self.data
        if not isinstance(words, LanguageData):  # only a machine's answers are right or wrong
            return []
        return [word for word in self.wrong if words.symbols(word) <= self.longest]

    def after(self, trainer: Trainer, loss: float) -> None:
        """The running loss moves, and with it stage, noise and end."""
        self.progress = self.progress.after(trainer.step_count, loss, self.plan)

    def between(self, trainer: Trainer) -> None:
        """Words are always there."""

    def last_step(self, trainer: Trainer) -> int:
        """Where the learning rate comes to 0."""
        return self.progress.last_step(self.plan)

    def known_end(self, trainer: Trainer) -> int | None:
        """That step, once the loss is low enough."""
        return self.progress.known_end(trainer.step_count, self.plan)

    def awaited(self, trainer: Trainer) -> list[str]:
        """What it waits for."""
        return self.progress.awaited(trainer.step_count, self.plan)

    def columns(self) -> dict[str, Any]:
        """The longest word and the noise of the next step."""
        return {"longest": self.longest, "noise": self.progress.noise}

    def summary(self) -> dict[str, Any]:
        """The step at which it was solved."""
        return {"solved_at": self.progress.solved_at}

    def state(self) -> dict[str, Any]:
        """Where it stands."""
        return {
            "progress": dataclasses.asdict(self.progress),
            "wrong": self.wrong,
            "trains_on_errors": self.trains_on_errors,
        }

    def load(self, state: Mapping[str, Any], model: nn.Module) -> None:
        """Where it stood."""
        self.progress = Progress(**state["progress"])
        self.wrong = [tuple(word) for word in state["wrong"]]
        self.trains_on_errors = state["trains_on_errors"]
