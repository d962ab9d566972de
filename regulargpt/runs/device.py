"""Where a network computes: the device that a config names, and the threads of the process."""

from __future__ import annotations

import torch

from languages.errors import UserError
from regulargpt.config.schema import RunConfig


def prepare(config: RunConfig) -> torch.device:
    """The device, with the process's threads set to the config's: results are equal only at equal thread counts."""
    torch.set_num_threads(config.threads)
    return device_named(config.device)


def device_named(name: str) -> torch.device:
    """The device auto, cpu or cuda; UserError where there is no GPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UserError("device = 'cuda': this machine has no GPU that torch can use; choose --device cpu or auto")
    return torch.device(name)
