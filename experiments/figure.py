"""A figure: an experiment whose cells are what an analysis finds in a trained run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.experiment import Column, Experiment, Scale
from experiments.published import Number
from experiments.table_6_1 import runs as runs_of_table
from regulargpt.config import RunConfig
from regulargpt.storage.folder import RunFolder

# As the thesis looks at its networks (section 6.6.3); as many words as `regulargpt verify` takes.
LENGTH, WORDS = 500, 32
COLUMNS = (
    Column("paper", "recipe paper, C = 2", "regulargpt-C2", published="regulargpt-C2"),
    Column("robust", "recipe robust, C = 2", "robust-C2", published="regulargpt-C2"),
)


@dataclass(frozen=True)
class Finding:
    """What was found in a run: the value that stands beside the published one, sentences, and a picture."""

    value: Number
    sentences: tuple[str, ...]
    picture: Path | None


@dataclass(frozen=True, kw_only=True)
class Figure(Experiment):
    """An experiment that looks into its runs; what `look` writes stays in the run's folder."""

    look: Callable[[RunFolder], Finding]


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """One network: the first of those of Table 6.1, so that a folder that has these need not train another.

    >>> [(c.recipe, c.seed) for name in ("regulargpt-C2", "robust-C2") for c in runs("parity", name, "cpu")]
    [('paper', 0), ('robust', 0)]
    """
    return runs_of_table(row, name, scale)[:1]


def kept(path: Path, config: RunConfig) -> dict[str, Any] | None:
    """The report in a file, if it is of the same look at the run."""
    if not path.exists():
        return None
    report = json.loads(path.read_text("utf-8"))
    return report if [report.get(k) for k in ("length", "words", "seed")] == [LENGTH, WORDS, config.seed] else None


def config_of(folder: RunFolder) -> RunConfig:
    """The config of a run."""
    return RunConfig.parse(folder.config_text)
