"""Plain references of other packages, which are oracles where they are installed."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from typing import Any

import pytest


def flash_linear_attention(family: str) -> Any:
    """Its module of plain loops of a family, `fla.ops.FAMILY.naive`, from the file: the package itself needs triton.

    Skips the test where it is missing: `pip install --no-deps fla-core einops`.
    """
    found = util.find_spec("fla")
    if found is None or not found.submodule_search_locations:
        pytest.skip("its plain reference is an oracle here: pip install --no-deps fla-core einops")
    pytest.importorskip("einops", reason="the plain references import it: pip install --no-deps einops")
    path = Path(next(iter(found.submodule_search_locations)), "ops", *family.split("."), "naive.py")
    spec = util.spec_from_file_location(f"naive_{family}", path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
