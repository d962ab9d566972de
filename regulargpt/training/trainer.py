"""The trainer: it runs phases, takes steps, and goes on from a checkpoint bit for bit; it knows no model, no proof."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from languages.errors import UserError, shown
from regulargpt.config.schema import RunConfig, TrainingOptions, flat, value_of
from regulargpt.data.base import Data
from regulargpt.models.base import Model, fill
from regulargpt.models.layers import seed_counted
from regulargpt.objectives.answers import Objective
from regulargpt.storage.folder import RunFolder
from regulargpt.storage.signals import StopRequested
from regulargpt.training.optimisers import Adam, AdamW
from regulargpt.training.phase import FurtherPhase, Phase
from regulargpt.training.words import WordTraining


class Diverged(RuntimeError):
    """The loss or its gradient is no longer a finite number. The state before that step is saved."""


class Interrupted(RuntimeError):
    """Ctrl-C or SIGTERM: the state is saved and `resume` goes on from here."""


@dataclass
class Trainer:
    """A model in training: everything a checkpoint holds, and the rules to go on from there.

    `further` are the phases beside the training on words; the last of them decides where training ends.
    """

    config: RunConfig
    data: Data
    objective: Objective
    model: Model
    device: torch.device
    further: Sequence[FurtherPhase] = ()
    words: WordTraining = field(init=False)
    optimiser: torch.optim.Optimizer = field(init=False)
    step_count: int = 0
    seconds: float = 0.0
    since_log: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.words = WordTraining(self.config, self.data, self.objective, goes_on=bool(self.further))
        self.optimiser = make_optimiser(self.model, self.config.training)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """All phases, the words first."""
        return (self.words, *self.further)

    @property
    def phase(self) -> Phase:
        """The phase of the next step."""
        return next(phase for phase in reversed(self.phases) if phase.is_active)

    @property
    def last_step(self) -> int:
        """The step at which training ends, as far as is known."""
        return self.phases[-1].last_step(self)

    @property
    def known_end(self) -> int | None:
        """The step at which training ends, if that no longer depends on the loss or on what a phase waits for."""
        return self.phases[-1].known_end(self)

    @property
    def awaited(self) -> list[str]:
        """What the end waits for and how near it is, in words; nothing if the end is known."""
        return [] if self.known_end is not None else self.phases[-1].awaited(self)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.step_count >= self.last_step

    def step(self) -> None:
        """One step: words, loss, gradients clipped, weights moved. Raises Diverged before a bad step is taken."""
        training, phase = self.config.training, self.phase
        self.model.train()
        # Dropout and noise are a function of (seed, step): a resumed run draws what it would have drawn.
        seed_counted(self.model, self.config.seed, self.step_count)
        self.model.set_noise(phase.noise())
        optimiser = phase.optimiser(self)
        for group in optimiser.param_groups:
            group["lr"] = phase.lr(self) * group.get("times", 1.0)
        # None rather than zeros: a parameter that this step does not use keeps its moments as they are.
        optimiser.zero_grad(set_to_none=True)
        loss, measured = phase.backward(self)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), training.clip).item()
        # Before the weights move: the state that is saved then is still a good state.
        self._refuse_infinite(phase, loss, norm)
        optimiser.step()
        # Here and not before the next pass: the last weights are those that are tested and kept.
        with torch.no_grad():
            self.model.project()
        self.step_count += 1
        self.since_log.append((loss, measured))
        phase.after(self, loss)
        # Only now may another phase begin or end: the step is whole, and a checkpoint can be taken.
        for other in self.phases:
            other.between(self)

    def _refuse_infinite(self, phase: Phase, loss: float, norm: float) -> None:
        if math.isfinite(loss) and math.isfinite(norm):
            return
        what = f"the loss is {loss}" if not math.isfinite(loss) else f"the gradient's norm is {norm}"
        own = f"phases.{phase.name}.lr"
        key = own if own in flat(self.config) else "training.lr"
        remedy = f"lower {key} = {value_of(self.config, key):g} or training.clip"
        if self.step_count == 0:
            remedy = "no weight has moved yet: another option is too large or too small for this model"
        raise Diverged(f"{what} at step {self.step_count + 1}; {remedy}")

    def log_row(self) -> dict[str, Any]:
        """The mean loss and measures since the last row, for metrics.jsonl."""
        losses, by_name = [loss for loss, _ in self.since_log], defaultdict(list)
        for _, measured in self.since_log:
            for name, value in measured.items():
                by_name[name].append(value)
        means = {name: sum(values) / len(values) for name, values in {"loss": losses, **by_name}.items()}
        columns = {key: value for phase in self.phases for key, value in phase.columns().items()}
        self.since_log = []
        return {"step": self.step_count, **means, **columns, "lr": self.phase.lr(self)}

    def save(self, folder: RunFolder) -> None:
        """A checkpoint from which training goes on bit for bit."""
        state = {
            "optimiser": self.optimiser.state_dict(),
            "seconds": self.seconds,
            "since_log": [(loss, dict(measured)) for loss, measured in self.since_log],
            "phases": {phase.name: phase.state() for phase in self.phases},
        }
        folder.save_checkpoint(self.step_count, self.model.state_dict(), state)

    def load(self, folder: RunFolder) -> tuple[str, ...]:
        """Go back to the newest valid checkpoint, or to the start; what was damaged and skipped.

        Raises UserError where the checkpoint has other phases: a phase that was left out then is not now, or was not.
        """
        checkpoint = folder.load_checkpoint()
        if checkpoint is None:
            return ()
        began, now = list(checkpoint.state["phases"]), [phase.name for phase in self.phases]
        if began != now:
            phases = f"{folder.path} was begun with the phases {', '.join(began)}, not {', '.join(now)}"
            raise UserError(f"{phases}; set LANGUAGES_BUDGET as it was then, or run anew")
        fill(self.model, checkpoint.weights, shown(folder.path))
        self.optimiser.load_state_dict(checkpoint.state["optimiser"])
        for phase in self.phases:
            phase.load(checkpoint.state["phases"][phase.name], self.model)
        self.step_count, self.seconds = checkpoint.step, checkpoint.state["seconds"]
        self.since_log = [(loss, measured) for loss, measured in checkpoint.state["since_log"]]
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
        step = trainer.step_count
        # The row before the checkpoint: what a checkpoint counts is on the disk.
        if step % training.log_every == 0 or trainer.finished:
            row = trainer.log_row()
            folder.append_metrics([row])
            on_row(row)
        is_stopped = bool(stop)  # read once: a signal that comes later stops behind the next step, which is saved
        if step % training.checkpoint_every == 0 or trainer.finished or is_stopped:
            trainer.save(folder)
        on_step(trainer)
        if is_stopped:
            raise Interrupted(f"stopped by {stop.name} after step {step}")


def make_optimiser(model: Model, config: TrainingOptions) -> torch.optim.Optimizer:
    """Adam, AMSGrad or AdamW over all parameters, in the groups that the model makes of them."""
    cls = AdamW if config.optimiser == "adamw" else Adam
    return cls(
        model.parameter_groups(),
        lr=config.lr,
        betas=(config.beta1, config.beta2),
        weight_decay=config.weight_decay,
        amsgrad=config.optimiser == "amsgrad",
        fused=True,
    )
