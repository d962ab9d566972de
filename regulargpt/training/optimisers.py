"""Adam and AdamW as torch has them, without the import of its compiler.

torch wraps the methods of an optimiser so that its compiler leaves them out, and imports the compiler for this at the
first call: a second at the start of each run. Nothing here compiles an optimiser. What was wrapped is called instead.
"""

from __future__ import annotations

from inspect import unwrap
from typing import Any

import torch

# Beside `step`, which torch runs without gradients.
WRAPPED = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")


def uncompiled(cls: type[torch.optim.Optimizer]) -> type[Any]:
    """The class with its methods as they were before torch wrapped them; one that it does not wrap stays as it is."""
    methods = {name: unwrap(getattr(cls, name)) for name in WRAPPED}
    return type(cls.__name__, (cls,), {**methods, "step": torch.no_grad()(unwrap(cls.step))})


Adam, AdamW = uncompiled(torch.optim.Adam), uncompiled(torch.optim.AdamW)
