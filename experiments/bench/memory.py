"""Peak memory of one computation, in a process of its own: `python -m experiments.bench.memory` is the child."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import torch

STATUS = Path("/proc/self/status")
# glibc gives what is larger back as soon as it is free: else the peak has its gaps, which differ between processors.
GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536"}


def resident() -> tuple[int, int]:
    """Resident bytes of this process: now, and the most so far.

    Linux tells both of this very program; elsewhere it is getrusage's largest for both, which may hide small peaks.
    (On Linux that figure is inherited from the program that started this one, so it will not do.)
    """
    if STATUS.exists():
        sizes = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        return int(sizes["VmRSS"].split()[0]) * 1024, int(sizes["VmHWM"].split()[0]) * 1024
    import resource

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return largest, largest


def peaks(module: str, arguments: Sequence[str], lengths: Sequence[int]) -> list[int]:
    """Bytes by which the resident memory of a fresh process rises, at most, up to each length.

    The process calls the function that `module.working(*arguments)` returns with each length, in increasing order: the
    largest resident size never falls.
    """
    command = [sys.executable, "-m", "experiments.bench.memory", module, *arguments, *map(str, sorted(lengths))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **GIVEN_BACK})
    return json.loads(done.stdout)


def child(module: str, arguments: Sequence[str], lengths: Sequence[int]) -> list[int]:
    """What the child does: a small word first, for all that is loaded and set up once; then each length."""
    torch.set_num_threads(1)
    work = import_module(module).working(*arguments)
    work(64)
    base, _ = resident()
    bytes_added = []
    for length in lengths:
        work(length)
        bytes_added.append(resident()[1] - base)
    return bytes_added


if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    texts = [text for text in rest if not text.isdecimal()]
    print(json.dumps(child(name, texts, [int(text) for text in rest if text.isdecimal()])))
