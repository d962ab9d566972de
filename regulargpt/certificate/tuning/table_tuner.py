"""The table that a network is being trained on: its prototypes, which may learn, and the order of its windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.certificate.tuning.fine_tuning import TrainingTable
from regulargpt.certificate.tuning.mending import FreePrototypes, mending_loss
from regulargpt.certificate.tuning.settling import OwnErrors, settling_loss
from regulargpt.certificate.tuning.short_first import ShortFirst
from regulargpt.certificate.tuning.state import windows_a_step
from regulargpt.models.base import Model
from regulargpt.models.tree.base import Tree
from regulargpt.training.optimisers import Adam
from regulargpt.training.table_fine_tuning import TableFineTuningOptions

# Of its Adam; the second is short, for the errors shrink by orders of magnitude.
BETAS = (0.9, 0.98)


class TableTuner:
    """A table, and where the training on it stands.

    While it `mends` or `settles` its prototypes are `free`, and learn. While it mends its windows come in by `stages`;
    while it settles the network's `own` errors are kept. The optimiser is of its own, which begins with the table:
    the moments of the words' loss say nothing about this loss.
    """

    def __init__(self, model: Tree, table: TrainingTable, *, mends: bool, settles: bool):
        self.table = table
        self.free = FreePrototypes(model.state_norm, table.prototypes) if mends or settles else None
        self.stages = ShortFirst(table) if mends else None
        self.own = OwnErrors(table.prototypes) if settles else None
        self.optimiser = make_optimiser(model, self.free)

    @property
    def n_windows(self) -> int:
        """How many windows it has."""
        return len(self.table.windows)

    @property
    def is_whole(self) -> bool:
        """Whether all its windows have come in."""
        return self.stages is None or self.stages.is_whole

    def windows_a_step(self, options: TableFineTuningOptions) -> int:
        """By how many there are to be learned now; few, at a high rate, while more are to come in."""
        if self.stages is None or self.stages.is_whole:
            return windows_a_step(self.n_windows, options)
        return min(options.windows, windows_a_step(self.stages.n_windows, options))

    def loss(
        self, model: Tree, options: TableFineTuningOptions, contraction: float, left: float
    ) -> tuple[Float[Tensor, ""], float]:
        """What a step lowers, and the share of windows that come near their prototype; `left` is that of the noise."""
        n_windows = self.windows_a_step(options)
        if self.free is None:
            return self.table.loss(model, n_windows, options.noise, contraction, left)
        if self.own is not None:
            return settling_loss(self.table, self.free, model, n_windows, self.own, left)
        return mending_loss(self.table, self.free, model, n_windows, options.noise, self.stages)

    def current(self, model: Tree) -> TrainingTable:
        """The table over the prototypes as they are now."""
        return self.table if self.free is None else self.table.over(self.prototypes(model))

    def prototypes(self, model: Tree) -> Float[Tensor, "K d_model"]:
        """Where they are now."""
        learned = self.learned(model)
        return self.table.prototypes if learned is None else learned

    def learned(self, model: Tree) -> Float[Tensor, "K d_model"] | None:
        """Where they have come to, if they learn."""
        return None if self.free is None else self.free(model.state_norm).detach()

    def whole(self) -> None:
        """Let all its windows come in."""
        if self.stages is not None:
            self.stages.whole()

    def let_in(self, model: Tree, seed: int) -> bool:
        """More windows, if few of those before are missed; whether any came in."""
        if self.stages is None:
            return False
        generator, training = torch.Generator(self.table.windows.device).manual_seed(seed), model.training
        came = self.stages.open(self.current(model.eval()), model, generator)
        model.train(training)
        return came

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "table": self.table.state(),
            "free": None if self.free is None else self.free.state_dict(),
            "stage": None if self.stages is None else self.stages.stage,
            "hardest": None if self.stages is None else self.stages.hardest,
            "own": None if self.own is None else self.own.state(),
            "optimiser": self.optimiser.state_dict(),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any], model: Tree, device: torch.device) -> TableTuner:
        """From a checkpoint."""
        table = TrainingTable.load(state["table"]).to(device)
        tuned = cls(model, table, mends=state["stage"] is not None, settles=state["own"] is not None)
        if tuned.free is not None:
            tuned.free.load_state_dict(state["free"])
        if tuned.own is not None:
            tuned.own.load(state["own"])
        if tuned.stages is not None:
            tuned.stages.stage, tuned.stages.hardest = state["stage"], state["hardest"].to(device)
        tuned.optimiser.load_state_dict(state["optimiser"])
        return tuned


def make_optimiser(model: Model, free: FreePrototypes | None = None) -> torch.optim.Optimizer:
    """Adam over all parameters, in the groups that the model makes of them, and free prototypes; nothing decays."""
    groups = [*model.parameter_groups(), *([{"params": list(free.parameters())}] if free is not None else [])]
    return Adam([{**group, "weight_decay": 0.0} for group in groups], betas=BETAS, fused=True)
