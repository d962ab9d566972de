"""`regulargpt verify`: what a run has learned, measured in its hidden states and proven for every length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regulargpt.certificate.checker import Progress
from regulargpt.measurements.cluster_report import clusters
from regulargpt.runs.certify import certificate_report
from regulargpt.storage.folder import RunFolder


def verify(
    folder: RunFolder,
    *,
    length: int | None = None,
    words: int = 32,
    seed: int | None = None,
    out: Path | None = None,
    progress: Progress = lambda part, done, count: None,
) -> dict[str, Any]:
    """The clusters of a finished run's hidden states, and under `certificate` whether it holds at every length.

    Either is a function of its own, with files of its own: `clusters` and `certificate_report`. Raises UserError,
    before anything is written, as `subject` does.
    """
    report = clusters(folder, length=length, words=words, seed=seed, out=out)
    return {**report, "certificate": certificate_report(folder, progress)}
