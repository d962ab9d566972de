"""What comes with each of thousands of runs is made once a process: it took more time than training and testing.

Tests of these things call them themselves: `plots.of_run`, `source_digest`, and the calls of a disk that fails.
"""

from __future__ import annotations

import functools
import importlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regulargpt import plots
from regulargpt.runs import run as running
from regulargpt.storage import atomic

ENVIRONMENT = importlib.import_module("regulargpt.storage.environment")
REMEMBERED = ("source_digest", "_commit")


def pictures() -> SimpleNamespace:
    """`plots` for runs: of each kind of picture the first is drawn, and stands for those that differ in heights."""
    draw, drawn = plots.of_run, dict[tuple[Any, ...], bytes]()

    def of_run(path: Path, summary: Mapping[str, Any], title: str) -> None:
        lengths = sorted(summary["measures"][summary["measure"]]["values"])
        marks = (summary.get("scoring") is None, summary["steps"] > 0, summary.get("chance") is None)
        kind = (summary["measure"], *lengths, summary["train_len"], summary["test_len"], *marks)
        if kind in drawn:
            return atomic.write_bytes(path, drawn[kind])
        draw(path, summary, title)
        if path.exists():  # some tests write no pictures at all
            drawn[kind] = path.read_bytes()

    return SimpleNamespace(of_run=of_run, name_of=plots.name_of, title=plots.title)


def unsynced(handle: int) -> None:
    """Files and folders wait for no disk: no test cuts the power. What cannot be synced still fails."""
    kind = os.fstat(handle).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        SYNC(handle)


SYNC = os.fsync


def quicken(patch: pytest.MonkeyPatch) -> None:
    """From here on."""
    patch.setattr(running, "plots", pictures())
    patch.setattr(os, "fsync", unsynced)
    for name in REMEMBERED:
        patch.setattr(ENVIRONMENT, name, functools.cache(getattr(ENVIRONMENT, name)))
