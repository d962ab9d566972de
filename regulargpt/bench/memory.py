"""Peak memory of one computation, in a process of its own: `python -m regulargpt.bench.memory` is the child."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from regulargpt.bench.subjects import answering, every_all, last, masked_all, parity_sized, random_words, training

FORWARDS = {"every": every_all, "sdpa": masked_all, "tree": last("tree"), "plain-tree": last("plain-tree")}
STATUS = Path("/proc/self/status")


def resident() -> tuple[int, int]:
    """Resident bytes of this process: now, and the most so far.

    Linux tells both of this very program; elsewhere it is getrusage's largest for both, which may hide small peaks.
    (On Linux that one is inherited from the program that started this one, so it will not do.)
    """
    if STATUS.exists():
        sizes = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        return int(sizes["VmRSS"].split()[0]) * 1024, int(sizes["VmHWM"].split()[0]) * 1024
    import resource

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return largest, largest


def peaks(forward: str, what: str, chunk_size: int, lengths: Sequence[int]) -> list[int]:
    """Bytes by which the resident memory of a fresh process rises, at most, up to each length.

    The largest resident size never falls, so lengths are measured in increasing order.
    """
    arguments = [forward, what, str(chunk_size), *map(str, sorted(lengths))]
    command = [sys.executable, "-m", "regulargpt.bench.memory", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def child(forward: str, what: str, chunk_size: int, lengths: Sequence[int]) -> list[int]:
    """What the child does: a small word first, for all that is loaded and set up once; then each length."""
    torch.set_num_threads(1)
    model = parity_sized(chunk_size)
    make = {"training": training, "inference": answering}[what]

    def work(length: int) -> None:
        make(FORWARDS[forward], model, [random_words(1, length)])()

    work(64)
    base, _ = resident()
    found = []
    for length in lengths:
        work(length)
        found.append(resident()[1] - base)
    return found


if __name__ == "__main__":
    name, what, C, *texts = sys.argv[1:]
    print(json.dumps(child(name, what, int(C), [int(text) for text in texts])))
