"""A comparison as plain values: what page.json holds and `reproduce --json` prints."""

from __future__ import annotations

from typing import Any

from experiments.cells import Compared, Comparison
from experiments.page.wording import entry


def record(found: Comparison) -> dict[str, Any]:
    """Every cell, the notes, and what is not there."""
    return {
        "experiment": found.experiment.name,
        "scale": found.scale,
        "statistics": list(found.statistics),
        "cells": [cell(one, found.statistics) for one in found.all],
        "notes": list(found.notes),
        "left_out": list(found.left_out),
        "failed": [{"run": name, "reason": reason} for name, reason in sorted(found.failures.items())],
        "missing": found.missing,
    }


def texts(found: Compared) -> dict[str, str]:
    """Published, ours and difference as the page has them; for what is not there, why."""
    lines = entry(found).lines
    of = {kind: [line.text for line in lines if line.kind == kind] for kind in ("published", "difference")}
    ours = [line.text for line in lines if line.kind in ("ours", "state")]
    return {"published": " ".join(of["published"]), "ours": ", ".join(ours), "difference": " ".join(of["difference"])}


def cell(found: Compared, statistics: tuple[str, ...]) -> dict[str, Any]:
    """One cell."""
    group = found.group
    return {
        "row": found.row,
        "column": found.column.name,
        "title": found.column.title,
        "shows": found.shows.what,
        "tested": found.shows.tested,
        "length": found.shows.length,
        "published": dict(zip(statistics, found.published, strict=True)),
        "ours": dict(zip(statistics, found.ours, strict=True)),
        "difference": dict(zip(statistics, found.differences, strict=True)),
        "texts": texts(found),
        "runs": len(found.names),
        "done": found.done,
        "failed": len(found.failed),
        "missing": len(found.missing),
        "proven": group.n_proven if group and group.n_asked else None,
        "scores": list(group.scores) if group else [],
        "sd": group.sd if group else None,
        "first_below_99": group.first_below_99 if group else None,
        "steps": list(found.steps) if found.steps else None,
        "train_seconds": round(found.seconds, 3),
        "shortcuts": dict(found.panel.scores) if found.panel else None,
        "found": [sentence for finding in found.found for sentence in finding.sentences],
        "notes": list(found.notes),
    }
