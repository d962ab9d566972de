"""`regulargpt reproduce table-5.4 --model hf:PATH`: refusals first, then what is asked, and the page."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import sessions
from experiments.experiment import Scale
from languages.errors import UserError
from regulargpt.storage import atomic
from regulargpt.text.corpora.retrieval.prompts import PROMPTS
from regulargpt.text.experiments.checkpoint import asking
from regulargpt.text.experiments.checkpoint.answers import AnswerStore, Identity, refuse_other
from regulargpt.text.experiments.checkpoint.network import DiskCheckpoint, on_disk
from regulargpt.text.experiments.checkpoint.plan import STRATEGIES, TABLE, ColumnPlan, plan

OUT = Path("reproduced") / "checkpoints"


@dataclass(frozen=True)
class Session:
    """A checkpoint, what it is asked, and where its answers are kept."""

    disk: DiskCheckpoint
    plan: ColumnPlan
    store: AnswerStore
    command: str

    @property
    def states(self) -> dict[str, str]:
        """Each column and strategy: done or missing."""
        lacking = asking.missing(self.plan, self.store)
        return {
            f"{task}/{size} {strategy}": "missing" if strategy in lacking.get((task, size), ()) else "done"
            for task, size in self.plan.columns
            for strategy in STRATEGIES
        }

    def identity(self, environment: Mapping[str, Any]) -> Identity:
        """What the folder must be of. The weights are read for their digest."""
        plan, disk = self.plan, self.disk
        numbers = (plan.samples, plan.aligned, plan.seed)
        sizes = dict(disk.sizes)
        return Identity(disk.digest, disk.tokens.digest, plan.scale, *numbers, disk.name, sizes, environment)

    def refuse(self) -> dict[str, list[str]]:
        """The short prompts of each task.

        Raises UserError for a folder that is another checkpoint's, and CorpusError for a tokenizer by which the
        shortest prompt of a task is longer than the training length.
        """
        short = {task: self.plan.short(task, self.disk.count) for task in self.plan.sizes}
        if (earlier := self.store.identity) is not None:
            refuse_other(self.store.place, earlier, self.identity({}))
        return short

    def ask(self, notice: Callable[[str], None]) -> str:
        """Ask for what is missing; the name of the signal by which that was stopped, "" if it was not.

        Raises UserError, before anything is written, as `refuse` does and for weights that cannot be read.
        """
        short = self.refuse()
        if not asking.missing(self.plan, self.store):
            return ""
        network = self.disk.load()

        from regulargpt.storage.environment import environment
        from regulargpt.storage.lock import locked
        from regulargpt.storage.signals import StopRequested

        atomic.make_folder(self.store.place)
        started = time.monotonic()
        with atomic.at_work(), locked(self.store.place), StopRequested() as stop:
            self.store.claim(self.identity(environment()))
            try:
                asking.ask(self.plan, network, self.disk.count, self.store, short, notice, lambda: stop.requested)
            except asking.Stopped:
                return stop.name
            finally:
                sessions.add(self.store.place, time.monotonic() - started)
        return ""

    def page(self) -> dict[str, Any]:
        """Write the page of all that was ever asked here; what page.json holds, and where the page is.

        Raises UserError if nothing was.
        """
        from experiments.page.files import write
        from regulargpt.text.experiments.checkpoint.page import checkpoint_page

        columns, identity = self.store.all(), self.store.identity
        if identity is None:
            where = atomic.shown(self.store.place)
            raise UserError(f"nothing of {self.disk.name} was asked for in {where}; leave --page-only out")
        tasks = [task for task in PROMPTS if any(key[0] == task for key in columns) or task in self.plan.sizes]
        whole = plan(self.plan.scale, tasks, identity.samples)
        seconds = sessions.seconds_in(self.store.place)
        return write(self.store.place, checkpoint_page(whole, identity, columns, self.command, seconds))


def session(model: str | Path, scale: Scale, tasks: Sequence[str], samples: int | None, out: Path | None) -> Session:
    """The session of a checkpoint in `OUT`/table-5.4-NAME-SCALE, without torch.

    Raises UserError for an unknown task, no such folder, another architecture, and no tokenizer that fits.
    """
    planned, disk = plan(scale, tasks, samples), on_disk(model)
    place = (out or OUT) / f"{TABLE}-{disk.name}-{scale}"
    return Session(disk, planned, AnswerStore(place), command(model, scale, tasks, samples, out))


def command(model: str | Path, scale: Scale, tasks: Sequence[str], samples: int | None, out: Path | None) -> str:
    """What was called, as far as it matters for the page."""
    parts = ["regulargpt reproduce", TABLE, "--model", shlex.quote(str(model)), "--scale", scale]
    parts += ["--only", ",".join(tasks)] if tasks else []
    parts += ["--samples", str(samples)] if samples is not None else []
    parts += ["--out", shlex.quote(str(out))] if out is not None else []
    return " ".join(parts)
