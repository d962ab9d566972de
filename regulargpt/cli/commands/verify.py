"""`regulargpt verify RUN`: the clusters of its hidden states, then whether it is proven at every length."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from regulargpt.cli.measuring import verb
from regulargpt.cli.output import CheckBar, emit, say, width


def verify(place: Path, out: Path | None, as_json: bool, **values: Any) -> None:
    """The measurement, then under `certificate` what `certificate_report` says."""
    from regulargpt.findings import text
    from regulargpt.measurements.measuring import measured

    finding = measured("clusters", place, out, **values)

    from regulargpt.certificate.sentences import sentences
    from regulargpt.runs.certify import certificate_report
    from regulargpt.storage.folder import RunFolder

    with closing(CheckBar()) as progress:
        certificate = certificate_report(RunFolder.open(place), progress)
    if as_json:
        emit({**finding.report, "certificate": certificate})
    else:
        say("\n".join([text(finding, width()), *sentences(certificate)]))


command = verb("clusters", verify)
