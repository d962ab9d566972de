"""`regulargpt bench`: speed and memory side by side in one process, as ratios with their spread.

Each part is a file with a function `measure(scale)`; to add one, write its file and name it in PARTS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

PARTS = {
    "tree": "the answer at the last position, against dense attention and the plain tree",
    "every": "the answers at all positions, against dense attention",
    "forward": "one word of 1,000,000 symbols",
    "samplers": "labelled symbols a second of each family of languages",
    "models": "training steps a second of each model",
    "text": "language models: training, long texts, decoding, memory",
}
SCALES = ("smoke", "full")


def measure(
    parts: Sequence[str], scale: str, threads: int, on_part: Callable[[str], None] = lambda part: None
) -> dict[str, Any]:
    """The results of the parts, with the environment they were measured in. Sets this process's threads.

    >>> sorted(measure(["samplers"], "smoke", threads=1))
    ['clock', 'environment', 'parts', 'scale', 'seconds', 'threads']
    """
    import torch

    from regulargpt.storage.environment import environment

    torch.set_num_threads(threads)
    results, began = {}, time.perf_counter()
    for part in parts:
        on_part(part)
        results[part] = import_module(f"regulargpt.bench.{part}").measure(scale)
    return {
        "scale": scale,
        "threads": threads,
        "clock": "processor" if threads == 1 else "wall",
        "environment": environment(),
        "seconds": round(time.perf_counter() - began, 1),
        "parts": results,
    }
