"""The weights of a network at steps on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regulargpt.config.schema import RunConfig
from regulargpt.storage.folder import RunFolder
from regulargpt.training.observers import SnapshotsOptions

if TYPE_CHECKING:
    from regulargpt.training.trainer import Trainer


class Snapshots:
    """Writes the weights when training is at one of the steps. A resumed run writes the same once more."""

    def __init__(self, options: SnapshotsOptions, config: RunConfig):
        self.steps = set(options.steps(config.training.steps))

    def see(self, trainer: Trainer, folder: RunFolder) -> None:
        """Training is at this step: none taken, or a step more."""
        if trainer.step_count in self.steps:
            folder.write_snapshot(trainer.step_count, trainer.model.state_dict())
