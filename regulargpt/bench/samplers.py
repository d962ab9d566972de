"""Labelled symbols a second from the tasks' samplers, words and labels together."""

from __future__ import annotations

from typing import Any

import languages
from languages.registry import FAMILIES
from languages.task import Task
from regulargpt.bench.timing import Effort, in_turn, quartiles

METHOD = (
    "Task.sample and Task.labels of words of one length; the automata of the sampler are built before the clock "
    "starts. One thread; the median of the rounds and their quartiles, in million symbols a second."
)
LENGTH = {"smoke": 40, "full": 512}
SYMBOLS = {"smoke": 1 << 10, "full": 1 << 20}
EFFORTS = {"smoke": Effort(2, 0, 0), "full": Effort(5, 0.3)}
WANTED = {"parity": 50.0}


def measure(scale: str) -> dict[str, Any]:
    """The part `samplers` of the bench: the first language of each family."""
    names = [family.names[0] for family in FAMILIES if family.names]
    return {"method": METHOD, "rows": [rate(name, scale) for name in [*names, "regex:(ab)*"]]}


def rate(name: str, scale: str) -> dict[str, Any]:
    """Million labelled symbols a second of one language."""
    task = languages.get(name)
    length = task.lengths(LENGTH[scale], LENGTH[scale] + 64)[0]
    count = max(2, SYMBOLS[scale] // length)
    seconds = in_turn({name: lambda: labelled(task, length, count)}, EFFORTS[scale])[name]
    low, median, high = quartiles([count * length / s / 1e6 for s in seconds])
    return {"language": name, "T": length, "rate": median, "low": low, "high": high, "wanted": WANTED.get(name)}


def labelled(task: Task, length: int, count: int) -> None:
    """Draw and label words."""
    task.labels(task.sample(languages.rng(0, "bench"), length, count))
