"""Beside the share of proven runs: why each other run is not proven, a shortest wrong word where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.cells import Compared, Comparison
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.storage.folder import RunFolder

PROOF = "stack_proof"
"""The phase whose summary has the word."""


def with_refutations(found: Comparison, folder: SweepFolder) -> Comparison:
    """The comparison with a sentence for each run that is not proven, in the cells that say how many are."""

    def beside(cell: Compared) -> Compared:
        return replace(cell, refuted=tuple(reasons(cell, folder))) if cell.shows.what == "proven" else cell

    return replace(found, cells=tuple(tuple(map(beside, row)) for row in found.cells))


def reasons(cell: Compared, folder: SweepFolder) -> Iterator[str]:
    """Of each network with a stack that is not proven, what its last proof came to."""
    unproven = {row.run for row in cell.rows if row.is_done and row.proven is False}
    for config, name in zip(cell.configs, cell.names, strict=True):
        if name in unproven:
            phases = RunFolder.open(folder.run_path(name)).load_summary().get("phases", {})
            if why := phases.get(PROOF, {}).get("unproven"):
                yield f"seed {config.seed}: {why}"
