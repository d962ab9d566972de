"""The jobs of a sweep, from one driver to the next: submitted, watched, tried again, cancelled."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from regulargpt.sweep.slurm import queue
from regulargpt.sweep.slurm.attempt import FOLDER, Attempt
from regulargpt.sweep.slurm.submission import submit_array

if TYPE_CHECKING:
    from regulargpt.storage.signals import StopRequested
    from regulargpt.sweep.folder import State, SweepFolder
    from regulargpt.sweep.slurm.engine import SlurmEngine

RETRIES = 1
"""How often a run is submitted again whose job died: was cancelled, ran out of memory, lost its node."""
TICK = 0.2
"""Seconds until a request to stop is seen."""


class Driving:
    """The jobs that a driver waits for: `jobs` says the number of each run's."""

    def __init__(self, engine: SlurmEngine, folder: SweepFolder, on_done: Callable[[str, State], None]):
        self.engine, self.folder, self.on_done = engine, folder, on_done
        self.path = folder.path.absolute() / FOLDER
        self.record = queue.Jobs.open(self.path)
        self.jobs: dict[str, str] = {}
        self.deaths: Counter[str] = Counter()
        self.ended: dict[str, float] = {}
        self.noticed: set[str] = set()
        self.began = time.monotonic()

    def adopt(self, names: Sequence[str]) -> None:
        """Take over the jobs of a driver that was killed; cancel those that it had no time to write down."""
        alive = queue.alive(self.ask())
        self.record = self.record.only(alive).saved(self.path)
        self.jobs = {name: job for name, job in self.record.jobs.items() if name in names}
        self.end(alive - set(self.record.jobs.values()), self.ask)

    def submit(self, names: Sequence[str]) -> None:
        """Job arrays over the names, each written down as soon as Slurm has it."""
        if not names:
            return
        engine, folder, size = self.engine, str(self.folder.path.absolute()), queue.largest_array()
        resources = engine.resources(max(self.folder.config(name).threads for name in names))
        for some in (names[start : start + size] for start in range(0, len(names), size)):
            attempts = [Attempt(folder, name) for name in some]
            numbers = submit_array(self.path, attempts, self.record.title, resources, engine.jobs, engine.slices)
            new = dict(zip(some, numbers, strict=True))
            self.record = self.record.joined(new).saved(self.path)
            self.jobs |= new

    def pause(self, stop: StopRequested) -> bool:
        """Wait for the next time to ask; whether a stop was requested meanwhile."""
        now = time.monotonic()
        end = now + min(self.engine.poll_seconds, 0.5 + (now - self.began) / 20)
        while not stop and time.monotonic() < end:
            time.sleep(TICK)
        return bool(stop)

    def poll(self) -> None:
        """Tell what has ended; submit again what died."""
        # Slurm is asked before the folder: a job that has ended by then has written what it ever will.
        states = queue.states(self.record.title)
        if states and "RUNNING" not in states.values():
            self.notice_reasons()
        again = []
        for name, job in list(self.jobs.items()):
            state = self.folder.state(name)
            if state != "missing":
                del self.jobs[name]
                self.on_done(name, state)
            elif states is not None and self.is_dead(name, job, states):
                del self.jobs[name], self.ended[name]
                self.deaths[name] += 1
                if self.deaths[name] <= RETRIES:
                    again.append(name)
                else:
                    self.give_up(name, job, queue.state(job, states))
        self.submit(again)

    def notice_reasons(self) -> None:
        """Tell, once each, reasons to wait for which Slurm may never start a job."""
        for reason in sorted(queue.reasons(self.record.title) - self.noticed):
            self.engine.on_notice(f"no job of the sweep runs, Slurm says: {reason}")
            self.noticed.add(reason)

    def is_dead(self, name: str, job: str, states: Mapping[str, str]) -> bool:
        """Whether the job has ended so long ago that its run is known to be unfinished."""
        if job in queue.alive(states):
            self.ended.pop(name, None)
            return False
        since = self.ended.setdefault(name, time.monotonic())
        return time.monotonic() - since >= self.engine.settle_seconds

    def give_up(self, name: str, job: str, state: str) -> None:
        """A failed row for a run whose jobs died."""
        path = self.path / f"{job}_0_log.err"
        log = path.read_text(errors="replace") if path.exists() else ""
        reason = f"Slurm job {job} ended as {state}, the run's second that died; see {FOLDER}/{path.name}"
        self.folder.record_failure(name, reason, "memory" if state == "OUT_OF_MEMORY" else "crashed", log)
        self.on_done(name, "failed")

    def cancel(self) -> None:
        """End all jobs; their workers save their runs. If Slurm is silent they go on, and the next driver has them."""
        self.end(set(self.jobs.values()), lambda: queue.states(self.record.title))

    def end(self, jobs: set[str], ask: Callable[[], dict[str, str] | None]) -> None:
        """Cancel the jobs, and wait until none of them runs any more."""
        while jobs and (states := ask()) is not None:
            jobs = jobs & queue.alive(states)
            # Again and again: one may have asked to be requeued at the same moment.
            queue.cancel(jobs)
            time.sleep(min(1.0, self.engine.poll_seconds))

    def ask(self) -> dict[str, str]:
        """The states of this sweep's jobs, however long Slurm takes to answer."""
        while (states := queue.states(self.record.title)) is None:
            time.sleep(self.engine.poll_seconds)
        return states
