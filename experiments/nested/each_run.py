"""What each run of the tables of nested words took, how it is proven, and on which machine: runs.csv beside the pages.

`python -m experiments.nested.each_run SWEEP` writes them from the run folders of a sweep. A run that was stopped has
the step that it had come to.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from experiments.experiment import Experiment
from experiments.nested.table import DEEP, NETWORKS, long
from experiments.registry import experiment
from regulargpt import tables
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import RunFolder

RESULTS = Path(__file__).parents[1] / "results"
FILE, DONE, STOPPED = "runs.csv", "done", "stopped"
NOT_PROVEN, PROTOTYPES, AS_IT_IS = "no", "with prototypes", "as it is"
COLUMNS = ("language", "network", "seed", "state", "steps", "train_seconds", "certify_seconds", "labels", "proven")
COLUMNS += ("accuracy", "worst", "long", "deep", "machine")
Line = Mapping[str, Any]


def lines(folder: SweepFolder, of: Experiment) -> Iterator[Line]:
    """A line each run of an experiment that ended or was stopped in the folder."""
    for row, network in product(of.rows, NETWORKS):
        for config in of.configs(row, network, "cpu"):
            run, named = RunFolder(folder.run_path(name_of(config))), (row, network, config.seed)
            known = dict(zip(COLUMNS, named, strict=False))
            if folder.state(name_of(config)) == "done":
                yield {**known, "state": DONE, **ended(run.load_summary(), long(row)), "machine": machine(run)}
            elif (steps := last_step(run)) is not None:
                yield {**known, "state": STOPPED, "steps": steps, "machine": machine(run)}


def ended(summary: Line, longest: int) -> Line:
    """What the summary of a run has of it; the long words have `longest` symbols."""
    table = summary["phases"].get("table_fine_tuning", {})
    return {
        **{key: summary.get(key) for key in ("steps", "train_seconds", "certify_seconds", "worst")},
        "labels": table.get("labels_used"),
        "proven": how_proven(summary["proven"], table),
        "accuracy": summary["score"],
        "long": summary["measures"]["accuracy"]["values"].get(str(longest)),
        "deep": summary["extra_protocols"].get(DEEP, {}).get("score"),
    }


def how_proven(is_proven: bool | None, table: Line) -> str:
    """Whether a run is proven, and whether its states are replaced by prototypes; "" where no proof was asked."""
    if is_proven is None:
        return ""
    return (AS_IT_IS if table.get("proven_unquantised") else PROTOTYPES) if is_proven else NOT_PROVEN


def machine(run: RunFolder) -> str:
    """The GPU, or one core of how many."""
    known = run.load_environment()
    return known["device_name"] if known["device"] != "cpu" else f"1 of {known['cpu_count']} cores"


def last_step(run: RunFolder) -> int | None:
    """The step of the newest checkpoint."""
    steps = [int(path.name) for path in (run.path / "checkpoints").glob("[0-9]*")]
    return max(steps, default=None)


def main(sweep: Path) -> None:
    """Both tables."""
    for name in ("nested", "nested-random"):
        found = lines(SweepFolder.open(sweep), experiment(name))
        text = tables.csv([COLUMNS, *([line.get(key) for key in COLUMNS] for line in found)])
        (RESULTS / f"{name}-cpu" / FILE).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]))
