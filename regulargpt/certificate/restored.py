"""What a finished run still owes where its process was killed, and what is proven of it now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from languages.errors import UserError, shown
from regulargpt.certificate.verdict import Verdict, verdict
from regulargpt.storage.folder import RunFolder


def restored(
    folder: RunFolder, summary: dict[str, Any], phase: str, now: Callable[[RunFolder, Verdict], Mapping[str, Any]]
) -> dict[str, Any]:
    """Write the certificate, or why there is none, if that is missing; the summary with what the checker says now.

    `now` gives what the summary has of the phase then. Raises UserError where a proof that there was is found no more.
    """
    if folder.owes_outcome(summary):
        from regulargpt.runs.certify import certificate_report

        report = certificate_report(folder)
        if summary["proven"] and not report["proven"]:
            raise UserError(f"{shown(folder.path)} was proven, and is not again: {report['reason']}; train it anew")
    if summary.get("proven") is None:
        return summary
    found = verdict(folder, summary["language"])
    of_phase = {**summary["phases"].get(phase, {}), **now(folder, found)}
    return summary | {"proven": found.proven, "phases": {**summary["phases"], phase: of_phase}}
