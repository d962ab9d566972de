"""One run of a sweep: done, resumed, or recorded as a failure; the same for every engine."""

from __future__ import annotations

import os
import sys
import time
import traceback
from pathlib import Path

from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.runs.exits import FAILED, STOPPED, is_out_of_memory
from regulargpt.runs.sweep.folder import Kind, SweepFolder, refuse_other_run
from regulargpt.storage.folder import CONFIG, RunFolder
from regulargpt.storage.lock import LockedError

PATIENCE, PAUSE = 60.0, 0.2
"""Seconds to wait for a run folder that another process, a worker of a killed driver, is about to leave."""


def work(folder: SweepFolder, name: str) -> int:
    """Run or resume the run of this name; the exit status. Whatever goes wrong is recorded in the folder.

    0: it is done; 1: it failed, and failed/NAME.json says why; 75: stopped by SIGTERM or Ctrl-C, its state is saved.
    """
    try:
        config = folder.config(name)
        # Read by torch when it is imported.
        os.environ["OMP_NUM_THREADS"] = str(config.threads)
        patiently(config, folder.run_path(name), name)
    except KeyboardInterrupt:
        return STOPPED
    except Exception as error:
        # Not above: whoever imports this file for the name of a function shall not import torch.
        from regulargpt.training.trainer import Interrupted

        if isinstance(error, Interrupted):
            return STOPPED
        folder.record_failure(name, reason(error), kind(error), traceback.format_exc())
        return FAILED
    return 0


def patiently(config: RunConfig, path: Path, name: str) -> None:
    """Run or resume, as soon as no other process works in the run folder; LockedError if that does not end."""
    end = time.monotonic() + PATIENCE
    while True:
        # Seen before the attempt: afterwards nobody could say who made the folder.
        fresh = not (path / CONFIG).exists()
        try:
            return run_or_resume(config, path, name)
        except LockedError:
            if time.monotonic() > end:
                raise
            time.sleep(PAUSE)
        except UserError:
            # "The folder exists": the other process may have made it just now.
            if not (fresh and (path / CONFIG).exists()):
                raise


def run_or_resume(config: RunConfig, path: Path, name: str) -> None:
    """Run, or go on with what lies there already."""
    from regulargpt.runs import run

    watch = run.Watch(on_notice=lambda text: print(f"warning: {name}: {text}", file=sys.stderr, flush=True))
    if not (path / CONFIG).exists():
        run.run(config, path, watch)
        return
    # A folder that was copied or renamed here would otherwise be counted as this run.
    refuse_other_run(name, RunFolder.open(path))
    run.resume(path, watch)


def kind(error: Exception) -> Kind:
    """What kind of failure this is."""
    from regulargpt.training.trainer import Diverged

    if isinstance(error, Diverged):
        return "diverged"
    if isinstance(error, UserError):
        return "refused"
    if is_out_of_memory(error):
        return "memory"
    return "crashed"


def reason(error: Exception) -> str:
    """One line for the failed row."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    if kind(error) in ("diverged", "refused"):
        return first
    if kind(error) == "memory":
        return f"out of memory; choose a smaller model or batch, or fewer --jobs ({first or type(error).__name__})"
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
