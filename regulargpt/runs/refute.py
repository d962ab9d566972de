"""The refutation of a finished run: what `verify` does beside the certificate, of networks whose states settle."""

from __future__ import annotations

import time
from math import inf
from typing import Any
from warnings import catch_warnings

from languages.errors import Notice, UserError
from languages.tasks import AnyTask
from regulargpt.certificate.checker import Progress
from regulargpt.certificate.refutation.outcome import (
    Refutation,
    answers_otherwise,
    may_be_refuted,
    none_of,
    refutation_of,
)
from regulargpt.data import of_words
from regulargpt.graph.export import written
from regulargpt.models.recurrent import Recurrent
from regulargpt.runs.configured import config_of
from regulargpt.runs.load import load_model
from regulargpt.runs.opened import refuse_other_data
from regulargpt.runs.outside import outside
from regulargpt.storage.folder import MODEL_CONFIG, REFUTATION, WEIGHTS, RunFolder


class Late(Exception):
    """The time is over."""


def refuted_within(
    seconds: float, progress: Progress, task: AnyTask, model: Recurrent, weights: bytes, network: bytes
) -> Refutation:
    """What `refutation_of` says of a network in so many seconds of this thread's processor time; else it is `late`."""
    end = time.thread_time() + seconds

    def watched(part: str, done: int, count: int) -> None:
        if time.thread_time() > end:
            raise Late
        progress(part, done, count)

    try:
        return refutation_of(task, model, weights, network, watched)
    except Late:
        return Refutation(none_of(f"nothing was proven in {seconds:g} seconds").report | {"late": True}, {})


def refutation_report(
    folder: RunFolder, progress: Progress = lambda part, done, count: None, seconds: float = inf
) -> dict[str, Any] | None:
    """Try to refute a finished run; write refutation.json and its automaton beside it if the checker accepts it.

    None for networks that carry no state, or one of which the checker knows nothing. After about so many `seconds` of
    this thread's processor time the report is `late`, and the files stay as they were. Raises UserError for a run that
    is not finished.
    """
    config, weights, network = config_of(folder), folder.final_bytes(WEIGHTS), folder.final_bytes(MODEL_CONFIG)
    with catch_warnings(action="ignore", category=Notice):  # the verbs say it of the run, once
        model = load_model(folder)
    is_outside = bool(outside(config))
    if not isinstance(model, Recurrent) or not (is_outside or may_be_refuted(model)):
        return None
    if (reason := answers_otherwise(network)) is not None:
        return none_of(reason).report
    words = of_words(config.data)
    refuse_other_data(folder, words)
    if is_outside:
        machine = words.finite.machine
        try:
            network = written(model, machine.alphabet, machine.output_names)
        except UserError as error:
            return none_of(str(error)).report
    refutation = refuted_within(seconds, progress, words.task, model, weights, network)
    if refutation.report.get("late"):
        return refutation.report
    refutation.write(folder)
    return refutation.report | ({"file": str(folder.path / REFUTATION)} if refutation.files else {})
