"""Figures, whose cells are what an analysis finds in a trained run: their runs, and reports that are there already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.experiment import Column, Scale
from experiments.table_6_1 import runs as runs_of_table
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

# As the thesis looks at its networks (section 6.6.3); as many words as `regulargpt verify` takes.
LENGTH, WORDS = 500, 32
COLUMNS = (
    Column("paper", "recipe paper, C = 2", "regulargpt-C2", published="regulargpt-C2"),
    Column("words", "recipe words, C = 2", "words-C2", published="regulargpt-C2"),
)


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """One network of those of Table 6.1, so that a folder that has these need not train another.

    The first seed, at the recipe's own learning rate.

    >>> [(c.recipe, c.seed, c.training.lr) for c in runs("parity", "regulargpt-C2", "full")]
    [('paper', 0, 0.0003)]
    """
    of_table = runs_of_table(row, name, scale)
    own = resolve(of_table[0].recipe, "regulargpt", row).training.lr
    return [next((config for config in of_table if config.training.lr == own), of_table[0])]


def saved_report(path: Path, config: RunConfig, *keys: str) -> dict[str, Any] | None:
    """The report in a file, if it is of the same words of the same run and has these entries."""
    if not path.exists():
        return None
    try:
        report = atomic.parse_json(atomic.read_bytes(path), path)
    except atomic.FormatError:
        return None  # made again
    same = [report.get(k) for k in ("length", "words", "seed")] == [LENGTH, WORDS, config.seed]
    return report if same and all(key in report for key in keys) else None


def config_of(folder: RunFolder) -> RunConfig:
    """The config of a run."""
    return RunConfig.parse(folder.config_text)
