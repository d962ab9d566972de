"""Looking for words that a run's network answers wrongly: what `falsify` does, and `run` at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import torch

from languages.errors import UserError
from regulargpt import objectives
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.data.language import LanguageData
from regulargpt.evaluation.by_length import seen_through
from regulargpt.falsification.asked import Asked
from regulargpt.falsification.hunt import SYMBOLS
from regulargpt.falsification.search import falsify
from regulargpt.models.base import Model
from regulargpt.objectives.answers import Objective
from regulargpt.runs.opened import OpenedRun
from regulargpt.storage.atomic import write_json
from regulargpt.storage.folder import FALSIFIED, WEIGHTS, RunFolder
from regulargpt.storage.manifest import digest

Progress = Callable[[str, int, int], None]


def falsified(run: OpenedRun, words: int, seconds: float, seed: int, progress: Progress) -> dict[str, Any]:
    """Look for wrong words of a finished run, and write falsified.json; the report.

    Raises UserError for a run without right and wrong answers to words.
    """
    goal = objectives.build(run.config.objective, run.data)
    found = report_of(run.model, run.data, goal, run.config, torch.device("cpu"), words, seconds, seed, progress)
    write(run.folder, run.folder.final_bytes(WEIGHTS), found)
    return found


def report_of(
    model: Model,
    data: Data,
    goal: Objective,
    config: RunConfig,
    device: torch.device,
    words: int,
    seconds: float,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """The report on a network, as it is evaluated."""
    if not isinstance(data, LanguageData):
        raise UserError(f"{data.name} has no right and wrong answers to words; give a run on a language")
    with seen_through(model, config.evaluation.attention, config.data.train_len):
        asked = Asked.of(model, data, goal, device, config.network)
        return falsify(asked, words, seconds, seed, progress)


def at_the_end(
    model: Model,
    data: Data,
    goal: Objective,
    config: RunConfig,
    device: torch.device,
    samples: Mapping[str, int],
    progress: Progress,
) -> dict[str, Any] | None:
    """The report at the end of a run: of no more words than were tested, by their symbols; None where none is due."""
    tested = sum(int(length) * count for length, count in samples.items())
    words = min(config.evaluation.falsify, tested // SYMBOLS)
    if not words or not isinstance(data, LanguageData):
        return None
    try:
        return report_of(model, data, goal, config, device, words, inf, config.seed, progress)
    except UserError:  # an objective from outside says itself what is right
        return None


def write(folder: RunFolder, weights: bytes, report: Mapping[str, Any]) -> None:
    """falsified.json, with the digest of the weights that it is about."""
    write_json(folder.path / FALSIFIED, {"weights": {"file": WEIGHTS, "sha256": digest(weights)}, **report})
