"""Training: fresh words every step, exact resume, and the loss deciding when it is enough."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from languages.task import Task
from regulargpt.anchors import Anchors, Verdict
from regulargpt.batches import Words, training_words, words_near
from regulargpt.config import RunConfig, TrainingConfig
from regulargpt.models.layers import seed_counted
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.objectives import Objective
from regulargpt.progress import MENDED, Progress
from regulargpt.storage.folder import RunFolder
from regulargpt.storage.signals import StopRequested

# After a cooldown without a certificate, one step in so many is on words near the last wrong one.
NEAR_EVERY = 4


class Diverged(RuntimeError):
    """The loss or its gradient is no longer a finite number. The state before that step is saved."""


class Interrupted(RuntimeError):
    """Ctrl-C or SIGTERM: the state is saved and `resume` goes on from here."""


@dataclass
class Trainer:
    """A model in training: everything a checkpoint holds, and the rules to go on from there.

    With `training.certify_every`, `judge` is asked whether the model's certificate holds, by its anchors if there are
    any: its verdict may bring anchors, or a word that is wrong. After a cooldown that did not bring the certificate,
    every `NEAR_EVERY`-th step is on words near the last wrong one, if that is no longer than the training words.
    `before` is what an anchoring without certificate is taken back to if it is given up; `missed` is the share of its
    table that the last verdict missed, None before the first.
    """

    config: RunConfig
    task: Task
    objective: Objective
    model: nn.Module
    device: torch.device
    optimiser: torch.optim.Optimizer = field(init=False)
    progress: Progress = field(init=False)
    judge: Callable[[nn.Module, Anchors | None, float], Verdict] = lambda model, anchors, allowed: Verdict()
    anchors: Anchors | None = None
    before: dict[str, Any] | None = None
    wrong: tuple[int, ...] | None = None
    missed: float | None = None
    seconds: float = 0.0
    since_log: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.optimiser = make_optimiser(self.model, self.config.training)
        self.progress = Progress.start(self.config.training)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.progress.step >= self.progress.last_step(self.config.training)

    def step(self) -> None:
        """One step: words, loss, gradients clipped, weights moved. Raises Diverged before a bad step is taken."""
        training, step = self.config.training, self.progress.step
        self.model.train()
        seed_counted(self.model, self.config.seed, step)
        set_state_noise(self.model, self.progress.noise if self.anchors is None else 0.0)
        for group in self.optimiser.param_groups:
            group["lr"] = self.progress.lr(training)
        self.optimiser.zero_grad(set_to_none=True)
        loss, accuracy = self._backward() if self.anchors is None else self._backward_anchored(self.anchors)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), training.clip).item()
        if not (math.isfinite(loss) and math.isfinite(norm)):
            what = f"the loss is {loss}" if not math.isfinite(loss) else f"the gradient's norm is {norm}"
            remedy = f"lower training.lr = {training.lr:g} or training.clip"
            if step == 0:
                remedy = "no weight has moved yet: another field is too large or too small for this model"
            raise Diverged(f"{what} at step {step + 1}; {remedy}")
        self.optimiser.step()
        self.progress = self.progress.after(loss, training)
        self.since_log.append((loss, accuracy))
        if self.progress.asks_for_certificate(training):
            self._ask()

    def _ask(self) -> None:
        """Ask for the certificate, and go on as the verdict says.

        By the network's own prototypes, which lie where its states are; at the end by those it was anchored at.
        """
        certified = self.progress.certified_at is not None
        allowed = self.progress.allowed(self.config.training)
        verdict = self.judge(self.model, self.anchors if certified else None, allowed)
        self.wrong, self.missed = verdict.wrong, verdict.missed
        if verdict.certain:
            self._anchor(verdict)
        elif self.anchors is None:
            self._begin(verdict)
        elif self.progress.anchoring_ends(self.config.training) or self._last:
            mended = verdict.table is not None and verdict.missed <= MENDED * self.progress.missed
            if mended and not self._last:
                self._anchor(verdict)
            else:
                self._give_up()

    @property
    def _last(self) -> bool:
        return self.progress.step == self.config.training.steps

    def _begin(self, verdict: Verdict) -> None:
        """Anchoring instead of words, if no more is missed than may be; what there was before is kept."""
        if verdict.table is not None and self.config.training.anchor_steps and not self._last:
            self.before = deepcopy({"weights": self.model.state_dict(), "optimiser": self.optimiser.state_dict()})
            self._anchor(verdict)

    def _anchor(self, verdict: Verdict) -> None:
        """Train on the verdict's table from here on."""
        assert verdict.table is not None
        self.anchors = verdict.table().to(self.device)
        self.progress = self.progress.anchored(verdict.certain, verdict.missed)
        if verdict.certain:
            self.before = None

    def _give_up(self) -> None:
        """Words again, with the weights from before an anchoring that brought no certificate."""
        if self.before is not None:
            self.model.load_state_dict(self.before["weights"])
            self.optimiser.load_state_dict(self.before["optimiser"])
        self.anchors = self.before = None
        self.progress = self.progress.unanchored()

    def _backward(self) -> tuple[float, float]:
        """Gradients of the mean loss over this step's lengths; the loss and the accuracy."""
        training = self.config.training
        groups = training.lengths_per_step
        longest = self.progress.longest(training, self.config.task.train_len)
        lengths = self.task.lengths(self.config.task.train_from, longest)
        # While the curriculum's words are short there are more of them: about the same symbols in every step.
        words_a_step = training.batch_size * self.config.task.train_len // longest
        total = torch.zeros((), device=self.device)
        accuracy = 0.0
        near = self.near_wrong(longest)
        for group in range(groups):
            words = (
                near
                if near is not None
                else training_words(
                    self.task,
                    self.config.task,
                    self.config.seed,
                    self.progress.step * groups + group,
                    lengths,
                    words_a_step // groups,
                )
            )
            loss, right = self.objective.loss(self.model, words, self.device)
            (loss / groups).backward()
            total += loss.detach() / groups
            accuracy += right / groups
        return total.item(), accuracy

    def near_wrong(self, longest: int) -> Words | None:
        """Words near the last wrong one, if it is their turn."""
        step, wrong, training = self.progress.step, self.wrong, self.config.training
        if wrong is None or not self.progress.cooldowns or len(wrong) > longest or step % NEAR_EVERY:
            return None
        return words_near(self.task, wrong, self.config.seed, step, training.batch_size // training.lengths_per_step)

    def _backward_anchored(self, anchors: Anchors) -> tuple[float, float]:
        """Gradients of the loss on the table; the loss and the share of windows that come near their prototype."""
        assert isinstance(self.model, RegularGPT), "only RegularGPT is certified"
        left = self.progress.anchoring_left(self.config.training)
        loss, near = anchors.loss(self.model, self.config.training, left)
        loss.backward()
        return loss.item(), near

    def log_row(self) -> dict[str, Any]:
        """The mean loss and accuracy since the last row, for metrics.jsonl."""
        n = len(self.since_log)
        row = {
            "step": self.progress.step,
            "loss": sum(loss for loss, _ in self.since_log) / n,
            "accuracy": sum(right for _, right in self.since_log) / n,
            "longest": self.progress.longest(self.config.training, self.config.task.train_len),
            "noise": self.progress.noise,
            "lr": self.progress.lr(self.config.training),
        }
        self.since_log = []
        return row

    def save(self, folder: RunFolder) -> None:
        """A checkpoint from which training goes on bit for bit."""
        state = {
            "optimiser": self.optimiser.state_dict(),
            "progress": dataclasses.asdict(self.progress),
            "seconds": self.seconds,
            "since_log": self.since_log,
            "wrong": self.wrong,
            "anchors": None if self.anchors is None else self.anchors.state(),
            "before": self.before,
        }
        folder.save_checkpoint(self.progress.step, self.model.state_dict(), state)

    def load(self, folder: RunFolder) -> tuple[str, ...]:
        """Go back to the newest valid checkpoint, or to the start; what was damaged and skipped."""
        checkpoint = folder.load_checkpoint()
        if checkpoint is None:
            return ()
        self.model.load_state_dict(checkpoint.weights)
        self.optimiser.load_state_dict(checkpoint.state["optimiser"])
        progress = checkpoint.state["progress"]
        # A checkpoint that does not say it is of a run that was anchored when it was certified.
        self.progress = Progress(**{"anchored_at": progress["certified_at"], **progress})
        self.seconds = checkpoint.state["seconds"]
        anchors, wrong = checkpoint.state["anchors"], checkpoint.state["wrong"]
        self.wrong = None if wrong is None else tuple(wrong)
        self.anchors = None if anchors is None else Anchors.load(anchors).to(self.device)
        self.before = checkpoint.state.get("before")
        self.since_log = [tuple(pair) for pair in checkpoint.state["since_log"]]
        return checkpoint.skipped


def train(
    trainer: Trainer,
    folder: RunFolder,
    stop: StopRequested,
    clock: Callable[[], float],
    on_step: Callable[[Trainer], None] = lambda trainer: None,
    on_row: Callable[[dict[str, Any]], None] = lambda row: None,
) -> None:
    """Train to the end, writing metrics and checkpoints on the way.

    Raises Interrupted when a stop was requested and Diverged for a loss that is not finite; the state is saved then.
    """
    training, began, before = trainer.config.training, clock(), trainer.seconds
    while not trainer.finished:
        try:
            trainer.step()
        except Diverged:
            trainer.save(folder)
            raise
        trainer.seconds = before + clock() - began
        step = trainer.progress.step
        if step % training.log_every == 0 or trainer.finished:
            row = trainer.log_row()
            folder.append_metrics([row])
            on_row(row)
        if step % training.checkpoint_every == 0 or trainer.finished or stop:
            trainer.save(folder)
        on_step(trainer)
        if stop:
            raise Interrupted(f"stopped by {stop.name} after step {step}")


def make_optimiser(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Adam or AdamW over all parameters."""
    cls = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.optimiser]
    betas = (config.beta1, config.beta2)
    return cls(model.parameters(), lr=config.lr, betas=betas, weight_decay=config.weight_decay, fused=True)


def set_state_noise(model: nn.Module, noise: float) -> None:
    """Give the model the noise of the coming step; models without state noise have none."""
    if hasattr(model, "state_noise"):
        model.state_noise.level = noise  # type: ignore[union-attr]
