"""What comes with each of thousands of runs is made once a process: it took more time than training and testing.

Tests of these things call them themselves: `plots.of_run`, `refutation_of`, `source_digest`, and the calls of a disk
that fails.
"""

from __future__ import annotations

import functools
import importlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from languages.convert.machines import to_json
from languages.task import Task
from regulargpt import plots
from regulargpt.certificate.checker import Progress
from regulargpt.certificate.refutation.outcome import Refutation
from regulargpt.runs import falsify as falsifying
from regulargpt.runs import refute
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


def refutations() -> Callable[..., Refutation]:
    """`refutation_of` for runs: of a network and a machine the search is made once. Where time is over, it is over."""
    search, made = refute.refutation_of, dict[tuple[str, bytes, bytes], Refutation]()

    def refutation_of(task: Any, model: Any, weights: bytes, network: bytes, progress: Progress) -> Refutation:
        key = (to_json(task.machine) if isinstance(task, Task) else task.name, weights, network)
        progress("families", 0, 1)
        if key not in made:
            made[key] = search(task, model, weights, network, progress)
        return made[key]

    return refutation_of


def search_once(patch: pytest.MonkeyPatch) -> None:
    """The first search for wrong words stands for all that follow: of runs that end with the same network."""
    search, made = falsifying.report_of, list[dict[str, Any]]()

    def report_of(*subject: Any, **budget: Any) -> dict[str, Any]:
        if not made:
            made.append(search(*subject, **budget))
        return made[0]

    patch.setattr(falsifying, "report_of", report_of)


def unsynced(handle: int) -> None:
    """Files and folders wait for no disk: no test cuts the power. What cannot be synced still fails."""
    kind = os.fstat(handle).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        SYNC(handle)


SYNC = os.fsync


def quicken(patch: pytest.MonkeyPatch) -> None:
    """From here on."""
    patch.setattr(running, "plots", pictures())
    patch.setattr(refute, "refutation_of", refutations())
    patch.setattr(os, "fsync", unsynced)
    for name in REMEMBERED:
        patch.setattr(ENVIRONMENT, name, functools.cache(getattr(ENVIRONMENT, name)))
