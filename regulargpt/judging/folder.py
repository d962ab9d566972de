"""The folder of a judgement, and what it says in words. Never imports torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError, shown
from regulargpt.storage import atomic
from regulargpt.storage.folder import CERTIFICATE, REFUTATION

if TYPE_CHECKING:
    from regulargpt.judging.judge import Judgement

JUDGEMENT = "judgement.json"


def default_folder(network: str, language: str) -> Path:
    """Where a judgement lies if nothing else is said.

    >>> default_folder("my_lab.net:Net:width=8", "regex:(ab)*").as_posix()
    'judged/regex-ab-Net'
    """
    name = network.split(":")[1] if ":" in network else network
    return Path("judged") / "-".join(re.findall(r"[\w.]+", f"{language} {name}", re.ASCII))


def refuse_occupied(folder: Path) -> None:
    """Raise UserError where something lies already."""
    with atomic.reported(folder):
        if atomic.disk.exists(folder) and not (atomic.disk.is_folder(folder) and not atomic.disk.names(folder)):
            raise UserError(f"{shown(folder)} exists; choose another --out")


def write(folder: Path, judgement: Judgement) -> dict[str, Any]:
    """Write the files, the proofs behind what they are about; the report, with where they lie."""
    atomic.make_folder(folder)
    for name, data in judgement.files.items():
        atomic.write_bytes(folder / name, data)
    report = judgement.report
    for part, proof in (("certificate", CERTIFICATE), ("refutation", REFUTATION)):
        if proof in judgement.files:
            report[part] = {**report[part], "file": str(folder / proof)}
    atomic.write_json(folder / JUDGEMENT, report)
    return report


def lines(report: Mapping[str, Any]) -> list[str]:
    """All that is said of a network."""
    from regulargpt.certificate.sentences import refutation_sentences, sentences
    from regulargpt.falsification.sentences import lines as of_words

    certificate, refutation, falsified = (report[name] for name in ("certificate", "refutation", "falsified"))
    is_refuted = refutation["refuted"]
    found = sentences({**certificate, "refuted": is_refuted})
    if is_refuted or (certificate.get("kind") == "chain" and not certificate.get("unquantised", {}).get("proven")):
        found += refutation_sentences(refutation)
    return found + ([] if falsified is None else of_words(falsified))
