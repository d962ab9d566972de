"""`regulargpt verify RUN`: the clusters of its hidden states, then whether it is proven at every length."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from regulargpt.cli.measuring import show, verb
from regulargpt.cli.output import CheckBar


def verify(place: Path, out: Path | None, as_json: bool, **values: Any) -> None:
    """The measurement, then under `certificate` what `certificate_report` says, and under `refutation`, of networks
    that can be refuted by a proof, what `refutation_report` says."""
    from regulargpt.measurements.measuring import measured
    from regulargpt.storage.folder import RunFolder

    if place.is_dir():
        RunFolder(place).load_falsified()  # what the certificate asks for is there, or refused before a file is written
    finding = measured("clusters", place, out, **values)

    from regulargpt.certificate.sentences import refutation_sentences, sentences
    from regulargpt.runs.certify import certificate_report
    from regulargpt.runs.refute import refutation_report

    with closing(CheckBar()) as progress:
        certificate = certificate_report(RunFolder.open(place), progress)
        is_proven = certificate["proven"] and certificate.get("unquantised", {}).get("proven", False)
        # What is proven as it is has no wrong word.
        refutation = None if is_proven else refutation_report(RunFolder.open(place), progress)
    values, notes = {**finding.values, "certificate": certificate}, [*finding.notes]
    notes += sentences({**certificate, "refuted": refutation is not None and refutation["refuted"]})
    if refutation is not None:
        values["refutation"] = refutation
        notes += refutation_sentences(refutation)
    show(replace(finding, values=values, notes=notes), as_json)


command = verb("clusters", verify)
