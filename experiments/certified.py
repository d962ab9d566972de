"""What it took to certify: the certified runs of a sweep as Markdown, a row for all runs that differ in the seed alone.

    python -m experiments.certified SWEEP

Lists are over the seeds, in their order. Failed and unfinished runs are not shown: `regulargpt results` names them. A
proof is not asked for where the table is too large. Proven are runs whose certificate the checker accepts now, of the
run's own language. "As it is" is the slack of the proof about the network as it is, "no" if there is none; mean and
worst length are those of the scored lengths, and of the network as it is.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from languages.errors import UserError
from regulargpt.certificate.verdict import verdict
from regulargpt.config.schema import RunConfig, value_of
from regulargpt.runs.exits import REFUSED
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.storage import atomic
from regulargpt.storage.folder import CERTIFICATE, RunFolder
from regulargpt.tables import Table, markdown, percent

COLUMNS = (
    *("language", "recipe", "most steps", "proven", "at step", "training, s", "prototypes"),
    *("as it is", "mean", "worst length", "at the longest length"),
)


@dataclass(frozen=True)
class CertifiedRun:
    """A finished run that was trained until its certificate holds."""

    config: RunConfig
    summary: dict[str, Any]
    certificate: dict[str, Any]  # empty unless the run is proven now, of its language

    @property
    def cell(self) -> RunConfig:
        """The row it belongs to: its config, whatever the seed."""
        return self.config.replaced({"seed": 0})

    @property
    def slack(self) -> str:
        """The rounding that the proof about the network as it is allows."""
        balls = self.certificate.get("unquantised")
        return f"{balls['slack']:.2g}" if balls else "no"

    @property
    def longest(self) -> tuple[int, float]:
        """The longest length tested, and the accuracy there; the lowest, if several protocols test it."""
        tests = (self.summary, *self.summary.get("extra_protocols", {}).values())
        longest_tests = [(int(T), a) for test in tests for T, a in test["measures"]["accuracy"]["values"].items()]
        return min(longest_tests, key=lambda point: (-point[0], point[1]))


def certified_at(summary: Mapping[str, Any]) -> int | None:
    """The step at which a run's certificate held for the first time; None if it never did."""
    return summary["phases"].get("table_fine_tuning", {}).get("certified_at")


def certified(folder: SweepFolder) -> list[CertifiedRun]:
    """The finished runs of a sweep that were asked for a certificate, in the order of the sweep."""
    runs = []
    for name in folder.names:
        config = folder.config(name)
        if not value_of(config, "phases.table_fine_tuning.every") or folder.state(name) != "done":
            continue
        run = RunFolder(folder.run_path(name))
        path, proof = run.path / CERTIFICATE, verdict(run, config.data.name)
        certificate = atomic.parse_json(atomic.read_bytes(path), path) if proof.proven else {}
        runs.append(CertifiedRun(config, run.load_summary(), certificate))
    return runs


def row(runs: Sequence[CertifiedRun]) -> tuple[str, ...]:
    """The cells of a row."""
    config = runs[0].config
    C = value_of(config, "model.chunk_size")
    proven = [run for run in runs if run.certificate]
    requested = [run for run in runs if run.summary["proven"] is not None]
    lengths, shares = zip(*(run.longest for run in runs), strict=True)
    return (
        config.data.name + (f", C = {C}" if C != 2 else ""),
        config.recipe,
        f"{config.training.steps:,}",
        f"{len(proven)} of {len(requested)}" if requested else "not asked",
        listed(str(certified_at(run.summary) or "-") for run in runs),
        listed(f"{run.summary['train_seconds']:.0f}" for run in runs),
        listed(dict.fromkeys(str(len(run.certificate["prototypes"])) for run in proven)) or "-",
        listed(run.slack for run in runs),
        listed(percent(run.summary["score"]) for run in runs),
        listed(percent(run.summary["worst"]) for run in runs),
        f"{listed(map(percent, shares))} at {max(lengths):,}",
    )


def listed(texts: Iterable[str]) -> str:
    """One text if all are the same, else all.

    >>> listed(["100", "100"]), listed(["100", "98.2"])
    ('100', '100, 98.2')
    """
    texts = list(texts)
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def table(runs: Iterable[CertifiedRun]) -> str:
    """All rows as Markdown."""
    cells: defaultdict[RunConfig, list[CertifiedRun]] = defaultdict(list)
    for run in runs:
        cells[run.cell].append(run)
    rows = [row(sorted(of_cell, key=lambda run: run.config.seed)) for of_cell in cells.values()]
    return markdown(Table(COLUMNS, rows, names=len(COLUMNS)))


def main(arguments: list[str]) -> int:
    """Print the table of a sweep."""
    if len(arguments) != 1:
        print("error: give a sweep, as in python -m experiments.certified sweeps/mine", file=sys.stderr)
        return REFUSED
    try:
        runs = certified(SweepFolder.open(arguments[0]))
        if not runs:
            raise UserError(f"{arguments[0]} has no finished run with --certify; see regulargpt sweep --help")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    print(table(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
