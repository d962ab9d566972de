"""Looking for words that a run's network answers wrongly: what `falsify` does, and `run` at its end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from languages.errors import UserError
from regulargpt import objectives
from regulargpt.certificate.verdict import refuted
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.data.language import LanguageData
from regulargpt.evaluation.by_length import seen_through
from regulargpt.falsification.asked import Examinee
from regulargpt.falsification.known import Known
from regulargpt.falsification.search import Progress, falsify
from regulargpt.models.base import Model
from regulargpt.objectives.answers import Objective
from regulargpt.runs.borne_out import encoded, read_family
from regulargpt.runs.opened import OpenedRun
from regulargpt.runs.refute import refutation_report
from regulargpt.storage.atomic import parse_json, read_bytes, write_json
from regulargpt.storage.folder import FALSIFIED, REFUTATION, WEIGHTS, RunFolder
from regulargpt.storage.manifest import digest

FAMILY = ("u", "v", "w", "from", "period", "residues", "evidence")


def falsified(run: OpenedRun, words: int, seconds: float, seed: int, progress: Progress) -> dict[str, Any]:
    """Look for wrong words of a finished run, and write falsified.json; the report.

    What was wrong in the run's test or in an earlier search stays, if the network is wrong on it now, too. A proof that
    it is wrong for ever may take as many seconds again; where the time is over before, an earlier report stands.
    Raises UserError for a run without right and wrong answers to words.
    """
    goal, device = objectives.build(run.config.objective, run.data), torch.device("cpu")
    budget = {"seconds": seconds, "seed": seed, "progress": progress, "known": known(run.folder, run.data)}
    report = report_of(run.model, run.data, goal, run.config, device, words, **budget)
    refutation = refutation_report(run.folder, progress, seconds) or {"refuted": False}
    if refutation.get("late"):
        report["budget"]["late"] = True
        refutation = earlier_refutation(run) or refutation
    if refutation["refuted"]:
        proved: dict[str, Any] = {name: refutation[name] for name in FAMILY} | {"to": None}
        observed = [family for family in report["families"] if not is_said(family, proved)]
        report = {**report, "families": [proved, *observed]}
    write(run.folder, run.folder.final_bytes(WEIGHTS), report)
    return report


def is_said(family: Mapping[str, Any], proved: Mapping[str, Any]) -> bool:
    """Whether a family that is proved to be wrong has all words of this family.

    >>> proved = {"u": "", "v": "1", "w": "", "from": 12, "period": 2, "residues": [0]}
    >>> [is_said({**proved, "from": start, "period": 4}, proved) for start in (10, 12)]
    [False, True]
    """
    same = all(family[name] == proved[name] for name in "uvw") and family["period"] % proved["period"] == 0
    inside = all(residue % proved["period"] in proved["residues"] for residue in family["residues"])
    return same and inside and family["from"] >= proved["from"]


def earlier_refutation(run: OpenedRun) -> dict[str, Any] | None:
    """The family of the refutation that lies there, if the checker accepts it now, and of the run's language."""
    assert isinstance(run.data, LanguageData), "a run on words has words"
    with suppress(UserError):
        earlier = refuted(run.folder, run.data.name)
        if earlier is not None and not earlier.reason:
            place, decode = run.folder.path / REFUTATION, run.data.task.machine.decode
            record = parse_json(read_bytes(place), place)
            words = {name: decode(np.array(record[name])) if record[name] else "" for name in "uvw"}
            numbers = {"from": record["from"], "period": record["period"], "residues": [record["residue"]]}
            return {"refuted": True, **words, **numbers, "evidence": "proved"}
    return None


def known(folder: RunFolder, data: Data) -> Known:
    """What was wrong in the run's test and in the last search, as far as it was written.

    It is queried again: what a damaged file has in its place is left out.
    """
    assert isinstance(data, LanguageData), "a run on words has words"
    last = folder.load_falsified() or {"wrong": [], "families": []}
    words = encoded(data, [folder.load_summary().get("wrong_word"), *(word["word"] for word in last["wrong"])])
    families = (read_family(data, family) for family in last["families"])
    return Known(words, [family for family in families if family is not None])


def report_of(
    model: Model, data: Data, goal: Objective, config: RunConfig, device: torch.device, words: int, **budget: Any
) -> dict[str, Any]:
    """The report on a network, as it is evaluated; the budget as `falsify` takes it.

    Raises UserError for what has no right and wrong answers to words.
    """
    if not isinstance(data, LanguageData):
        raise UserError(f"{data.name} has no right and wrong answers to words; give a run on a language")
    with seen_through(model, config.evaluation.attention, config.data.train_len):
        return falsify(Examinee.from_model(model, data, goal, device, config.network), words, **budget)


def write(folder: RunFolder, weights: bytes, report: Mapping[str, Any]) -> None:
    """falsified.json, with the digest of the weights that it is about."""
    write_json(folder.path / FALSIFIED, {"weights": {"file": WEIGHTS, "sha256": digest(weights)}, **report})
