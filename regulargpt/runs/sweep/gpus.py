"""The GPUs of this machine that the runs of a sweep may use."""

from __future__ import annotations

import os
from collections.abc import Iterable

from languages.errors import UserError
from regulargpt.config.schema import RunConfig


def gpus_for(configs: Iterable[RunConfig]) -> tuple[str, ...]:
    """The GPUs as CUDA_VISIBLE_DEVICES names them; none if no run would use any.

    Imports torch only if a run might. Raises UserError if a run needs a GPU and there is none.

    >>> gpus_for([RunConfig().replaced({"device": "cpu"})])
    ()
    """
    devices = {config.device for config in configs}
    if devices <= {"cpu"}:
        return ()
    import torch

    # Counted without a context: the driver takes no memory on any GPU.
    n = torch.cuda.device_count()
    if not n and "cuda" in devices:
        raise UserError("device = 'cuda': this machine has no GPU that torch can use; choose --device cpu or auto")
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return tuple(named.split(","))[:n] if named else tuple(map(str, range(n)))
