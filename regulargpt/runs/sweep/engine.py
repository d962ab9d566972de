"""What runs the runs of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from regulargpt.runs.sweep.folder import State, SweepFolder
from regulargpt.storage.signals import StopRequested


class Engine(Protocol):
    """Runs workers (`regulargpt.runs.sweep.worker`), somewhere."""

    def check(self) -> None:
        """UserError in a line if nothing can be run from here; nothing is written."""
        ...

    def execute(
        self, folder: SweepFolder, names: Sequence[str], on_done: Callable[[str, State], None], stop: StopRequested
    ) -> None:
        """Bring all runs to "done" or "failed"; tell each as it ends.

        When a stop is requested: end the workers with SIGTERM, on which they save, wait for them, and return.
        """
        ...
