"""`python -m regulargpt.runs.sweep.serve DIR`: run after run in a single process, since importing torch takes seconds.

Names come on stdin, a line each; a byte on stdout answers each run after which another run is welcome. When stdin ends,
the driver is gone, and the worker stops: with its state saved if that is possible in time.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path

from regulargpt.runs.exits import STOPPED
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.worker import work

GRACE = 10.0
"""Seconds in which a worker without a driver may save: fewer than another worker waits for its run folder."""
READY = b"."


def serve(folder: SweepFolder) -> int:
    """Work on the runs named on stdin until a run fails, is stopped, or leaves traces; the exit status."""
    answers = os.dup(1)
    # What a library prints must not look like an answer.
    os.dup2(2, 1)
    names: queue.SimpleQueue[str] = queue.SimpleQueue()
    # A thread, because the driver may die while a run is at work: stdin ends then, and nobody else would notice.
    threading.Thread(target=listen, args=(sys.stdin.fileno(), names), daemon=True).start()
    while True:
        name = names.get()
        status = work(folder, name)
        # After a failure the process is replaced: the next run must not inherit a broken state.
        if status or leaves_traces(folder, name):
            return status
        os.write(answers, READY)


def listen(handle: int, names: queue.SimpleQueue[str]) -> None:
    """Pass on the names; when there can be no more, stop this process."""
    with os.fdopen(handle, encoding="utf-8", closefd=False) as lines:
        for line in lines:
            names.put(line.rstrip("\n"))
    # The main thread handles it as any other stop: it saves. If a step takes too long, the next worker does it again.
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(STOPPED)


def leaves_traces(folder: SweepFolder, name: str) -> bool:
    """Whether a later run in this process could differ from a run in a fresh process; memory on a GPU is given back."""
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    # torch.compile gives up on code that it has compiled several times.
    return folder.config(name).compile


if __name__ == "__main__":
    sys.exit(serve(SweepFolder(Path(sys.argv[1]))))
