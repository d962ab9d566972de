"""Looking for words that a run's network answers wrongly: what `falsify` does, and `run` at its end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import torch

from languages.errors import UserError
from regulargpt import objectives
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.data.language import LanguageData
from regulargpt.evaluation.by_length import seen_through
from regulargpt.falsification.asked import Asked, Word
from regulargpt.falsification.search import Progress, falsify
from regulargpt.models.base import Model
from regulargpt.objectives.answers import Objective
from regulargpt.runs.opened import OpenedRun
from regulargpt.runs.refute import refutation_report
from regulargpt.storage.atomic import write_json
from regulargpt.storage.folder import FALSIFIED, WEIGHTS, RunFolder
from regulargpt.storage.manifest import digest

FAMILY = ("u", "v", "w", "from", "period", "residues", "evidence")


def falsified(run: OpenedRun, words: int, seconds: float, seed: int, progress: Progress) -> dict[str, Any]:
    """Look for wrong words of a finished run, and write falsified.json; the report.

    A proof that it is wrong for ever may take as many seconds again.
    Raises UserError for a run without right and wrong answers to words.
    """
    goal, device = objectives.build(run.config.objective, run.data), torch.device("cpu")
    budget = {"seconds": seconds, "seed": seed, "progress": progress, "known": known(run.folder, run.data)}
    found = report_of(run.model, run.data, goal, run.config, device, words, **budget)
    refutation = refutation_report(run.folder, progress, seconds) or {"refuted": False}
    if refutation.get("late"):
        found["budget"]["late"] = True
    if refutation["refuted"]:
        proved: dict[str, Any] = {name: refutation[name] for name in FAMILY} | {"to": None}
        observed = [family for family in found["families"] if any(family[name] != proved[name] for name in "uvw")]
        found = {**found, "families": [proved, *observed]}
    write(run.folder, run.folder.final_bytes(WEIGHTS), found)
    return found


def known(folder: RunFolder, data: Data) -> list[Word]:
    """The words that were wrong in the run's test and in the last search, as far as they were written.

    They are asked again: what a damaged file has in their place is left out.
    """
    written = [folder.load_summary().get("wrong_word")]
    written += [word["word"] for word in (folder.load_falsified() or {"wrong": []})["wrong"]]
    assert isinstance(data, LanguageData), "a run on words has words"
    found = []
    for word in filter(None, dict.fromkeys(written)):
        with suppress(UserError):
            found.append(data.whole(tuple(data.encode(word).tolist())))
    return found


def report_of(
    model: Model, data: Data, goal: Objective, config: RunConfig, device: torch.device, words: int, **budget: Any
) -> dict[str, Any]:
    """The report on a network, as it is evaluated; the budget as `falsify` takes it.

    Raises UserError for what has no right and wrong answers to words.
    """
    if not isinstance(data, LanguageData):
        raise UserError(f"{data.name} has no right and wrong answers to words; give a run on a language")
    with seen_through(model, config.evaluation.attention, config.data.train_len):
        return falsify(Asked.of(model, data, goal, device, config.network), words, **budget)


def write(folder: RunFolder, weights: bytes, report: Mapping[str, Any]) -> None:
    """falsified.json, with the digest of the weights that it is about."""
    write_json(folder.path / FALSIFIED, {"weights": {"file": WEIGHTS, "sha256": digest(weights)}, **report})
