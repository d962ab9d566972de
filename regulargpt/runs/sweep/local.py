"""The engine of a machine: as many processes as there are cores, or places on GPUs, each at one run at a time."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regulargpt.runs.sweep.folder import State, SweepFolder
from regulargpt.runs.sweep.process import Worker
from regulargpt.storage.signals import StopRequested

PAUSE = 0.05
"""Seconds between two checks of the workers."""
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

    def check(self) -> None:
        """This machine is here."""

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
        crew = Crew(folder, self.places(max((folder.config(name).threads for name in names), default=1)))
        try:
            while (queue and not stop) or crew.busy:
                while queue and not stop and (worker := crew.free()) is not None:
                    tries[queue[0]] += 1
                    worker.give(queue.popleft())
                time.sleep(PAUSE)
                # After a stop no run is given out, and the loop goes on until every busy worker has saved and ended.
                for worker in crew.busy:
                    if stop:
                        worker.stop()
                    if worker.has_ended_run():
                        name, again = worker.name, tries[worker.name] < TRIES
                        state = worker.outcome(again, stopped=bool(stop))
                        # At the end of the queue: what was short for this run, memory above all, may be free by then.
                        queue.append(name) if state == "missing" else on_done(name, state)
        finally:
            crew.end()


class Crew:
    """The workers, one a place at most."""

    def __init__(self, folder: SweepFolder, places: Sequence[str | None]):
        self.folder, self.places = folder, list(places)
        self.workers: list[Worker] = []

    @property
    def busy(self) -> list[Worker]:
        """Those that have a run."""
        return [worker for worker in self.workers if worker.name]

    def free(self) -> Worker | None:
        """One that has no run, started if there is a place for it; else None."""
        for worker in [worker for worker in self.workers if not worker.name]:
            if worker.is_alive:
                return worker
            self.workers.remove(worker)
            self.places.append(worker.place)
            worker.end()
        if not self.places:
            return None
        self.workers.append(Worker.start(self.folder, self.places.pop(0)))
        return self.workers[-1]

    def end(self) -> None:
        """End them all: whatever happened, none is left behind."""
        for worker in self.workers:
            worker.end()


def cores() -> int:
    """The CPU cores that this process may use."""
    # Fewer than the machine has, in a container or under taskset. macOS has no affinity to ask for.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
