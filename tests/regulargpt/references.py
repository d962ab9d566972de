"""Oracles: plain functions in numpy, and the references of other packages where they are installed."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def silu(x: Any) -> Any:
    return x * sigmoid(x)


def softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


def rms(x: Any, gain: Any) -> Any:
    """RMSNorm of the last axis."""
    return gain * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)


def flash_linear_attention(family: str, in_float64: bool = False) -> Any:
    """Its module of plain loops of a family, `fla.ops.FAMILY.naive`, from the file: the package itself needs triton.

    They cast to float32, or here to float64. Skips the test where it is missing:
    `pip install --no-deps fla-core einops`.
    """
    found = util.find_spec("fla")
    if found is None or not found.submodule_search_locations:
        pytest.skip("its plain reference is an oracle here: pip install --no-deps fla-core einops")
    pytest.importorskip("einops", reason="the plain references import it: pip install --no-deps einops")
    path = Path(next(iter(found.submodule_search_locations)), "ops", *family.split("."), "naive.py")
    source, module = path.read_text("utf-8"), ModuleType(f"naive_{family}")
    if in_float64:
        source = source.replace("torch.float32", "torch.float64").replace(".float()", ".double()")
    exec(compile(source, path, "exec"), vars(module))
    return module
