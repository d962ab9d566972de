"""A figure: an experiment whose cells are what an analysis finds in a trained run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.experiment import Experiment, Scale, configs
from experiments.published import Number
from experiments.table_6_1 import published
from regulargpt.config import RunConfig
from regulargpt.storage.folder import RunFolder

# As the thesis looks at its networks (section 6.6.3); as many words as `regulargpt verify` takes.
LENGTH, WORDS = 500, 32


@dataclass(frozen=True)
class Finding:
    """What was found in a run: the value that stands beside the published one, sentences, and a picture."""

    value: Number
    sentences: tuple[str, ...]
    picture: Path


@dataclass(frozen=True, kw_only=True)
class Figure(Experiment):
    """An experiment that looks into its runs; what `look` writes stays in the run's folder."""

    look: Callable[[RunFolder], Finding]


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """One network of the recipe in `name`, the same as in Table 6.1, so that a folder holds it once.

    >>> [(c.recipe, c.seed) for c in runs("parity", "paper", "cpu") + runs("parity", "robust", "cpu")]
    [('paper', 0), ('robust', 0)]
    """
