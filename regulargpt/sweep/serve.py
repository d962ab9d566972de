"""A worker that serves a driver: run after run in one process, since importing torch takes longer than a small run.

Names come on stdin, a line each; a byte on stdout answers each run after which another one is welcome. When stdin ends,
the driver is gone, and the worker stops: with its state saved if that is possible in time.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time

from regulargpt.exits import STOPPED
from regulargpt.sweep.folder import SweepFolder
from regulargpt.sweep.worker import work

GRACE = 10.0
"""Seconds in which a worker without a driver may save: fewer than another worker waits for its run folder."""
READY = b"."


def serve(folder: SweepFolder) -> int:
    """Work on the runs named on stdin until one fails, is stopped, or leaves traces; the exit status."""
    answers = os.dup(1)
    # What a library prints must not look like an answer.
    os.dup2(2, 1)
    names: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(sys.stdin.fileno(), names), daemon=True).start()
    while True:
        name = names.get()
        status = work(folder, name)
        if status or leaves_traces(folder, name):
            return status
        os.write(answers, READY)


def listen(handle: int, names: queue.SimpleQueue[str]) -> None:
    """Pass on the names; when there can be no more, stop this process."""
    with os.fdopen(handle, encoding="utf-8", closefd=False) as lines:
        for line in lines:
            names.put(line.rstrip("\n"))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(STOPPED)


def leaves_traces(folder: SweepFolder, name: str) -> bool:
    """Whether a later run in this process could differ from one in a fresh one; memory on a GPU is given back."""
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    # torch.compile gives up on code that it has compiled several times.
    return folder.config(name).compile
