"""The engine of one machine: a process a run, as many at once as there are cores, or places on GPUs."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from regulargpt.storage.signals import StopRequested
from regulargpt.sweep.folder import State, SweepFolder
from regulargpt.sweep.process import Worker

PAUSE = 0.05
"""Seconds between two looks at the workers."""
TRIES = 2
"""Times that a run is started whose worker was ended by a signal."""


@dataclass(frozen=True)
class LocalEngine:
    """Workers as processes of this machine; they end with the driver, however that ends.

    `jobs` at once, by default one a core, less if the runs have several threads. With `gpus` (numbers or names as in
    CUDA_VISIBLE_DEVICES) each worker sees one of them, and a GPU has `per_gpu` workers at once.

    >>> LocalEngine(jobs=2).places(threads=1), LocalEngine(gpus=(0, 1), per_gpu=2).places(threads=1)
    ([None, None], ['0', '1', '0', '1'])
    """

    jobs: int | None = None
    gpus: Sequence[int | str] = ()
    per_gpu: int = 1

    def places(self, threads: int) -> Sequence[str | None]:
        """Where workers may be at once: the GPU of each, None for none of its own."""
        if self.gpus:
            return [str(gpu) for _ in range(self.per_gpu) for gpu in self.gpus][: self.jobs]
        return [None] * (self.jobs or max(1, cores() // threads))

    def execute(
        self, folder: SweepFolder, names: Sequence[str], on_done: Callable[[str, State], None], stop: StopRequested
    ) -> None:
        """Run all, as `Engine` says. A run whose worker was ended by a signal is started once more, at the end."""
        queue, tries = deque(names), Counter[str]()
        free = list(self.places(max((folder.config(name).threads for name in names), default=1)))
        with tied() as tie, running() as workers:
            while workers or (queue and not stop):
                while queue and free and not stop:
                    name, place = queue.popleft(), free.pop(0)
                    tries[name] += 1
                    workers.append(Worker.start(folder, name, place, tie))
                for worker in [worker for worker in workers if worker.has_ended]:
                    workers.remove(worker)
                    free.append(worker.place)
                    state = worker.outcome(again=tries[worker.name] < TRIES, stopped=bool(stop))
                    if state == "missing":
                        queue.append(worker.name)
                    else:
                        on_done(worker.name, state)
                if stop:
                    for worker in workers:
                        worker.stop()
                time.sleep(PAUSE)


@contextmanager
def tied() -> Iterator[int]:
    """The reading end of a pipe whose other end only this process holds: it ends when this process does."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


@contextmanager
def running() -> Iterator[list[Worker]]:
    """A list of workers, of which none outlives the block: what goes wrong here leaves no process behind."""
    workers: list[Worker] = []
    try:
        yield workers
    finally:
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.wait()
            worker.log.close()


def cores() -> int:
    """The CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
