"""One run folder as rows of the table. Nothing is skipped silently: what cannot be read is a row that says why."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from languages.errors import UserError
from regulargpt.config import check
from regulargpt.results.places import Place
from regulargpt.results.row import DAMAGED, DONE, FAILED, Row
from regulargpt.storage import atomic, checkpoint, lock, toml
from regulargpt.storage.folder import ACCURACY, CONFIG, METRICS, WEIGHTS, RunFolder
from regulargpt.sweep.folder import UNKNOWN

# Of the config. A config of another version is read too: only these fields matter here.
FACTS: dict[str, tuple[str, type]] = {
    "language": ("task.language", str),
    "model": ("model.name", str),
    "chunk_size": ("model.chunk_size", int),
    "recipe": ("recipe", str),
    "supervision": ("task.supervision", str),
    "protocol": ("protocol", str),
    "seed": ("seed", int),
    "lr": ("training.lr", float),
    "d_model": ("model.d_model", int),
}


def read(place: Place) -> list[Row] | None:
    """The rows of a run, sorted by protocol tested under and length, its own protocol first; None if not finished."""
    folder = RunFolder(place.folder)
    try:
        # Also a run that was done and failed then, over its certificate, is not what was asked for.
        if place.failure and atomic.disk.exists(place.failure):
            return [failed(place, place.failure)]
        if folder.is_done:
            return finished(place.name, folder)
        return kept(place.name, place.folder) if is_kept(place.folder) else None
    except UserError as error:
        return [damaged(place, str(error))]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [damaged(place, f"its files are not what a run writes ({error!r}); restore them from a copy")]


def finished(name: str, folder: RunFolder) -> list[Row]:
    """The rows of a finished run, each file that says something of it checked against the manifest."""
    known, summary = facts(folder.config_text), folder.load_summary()
    folder.final_bytes(ACCURACY)
    known |= {key: summary.get(key) for key in ("steps", "train_seconds", "proven")}
    own = known.get("protocol", "")
    also = sorted(item for item in summary.get("also", {}).items() if item[0] != own)
    return [
        Row(name, DONE, **known, tested=tested, **point)
        for tested, result in [(own, summary), *also]
        for point in points(result, scored(result, summary))
    ]


def scored(result: Mapping[str, Any], summary: Mapping[str, Any]) -> range:
    """The lengths that make the score of a test.

    >>> scored({"test_len": 500}, {"train_len": 40})
    range(41, 501)
    """
    first = result.get("test_from") or summary["train_len"] + 1
    return range(first, result["test_len"] + 1, result.get("stride", 1))


def points(result: Mapping[str, Any], inside: range) -> list[dict[str, Any]]:
    """The columns that every length has of its own; of a test without lengths, one row without.

    >>> points({"accuracy": {"41": 99.0}, "samples": {"41": 512}}, range(41, 501))
    [{'length': 41, 'accuracy': 99.0, 'samples': 512, 'in_score': True}]
    """
    accuracy = {int(length): float(share) for length, share in result["accuracy"].items()}
    return [
        {"length": T, "accuracy": accuracy[T], "samples": result["samples"][str(T)], "in_score": T in inside}
        for T in sorted(accuracy)
    ] or [{}]


def is_kept(path: Path) -> bool:
    """Whether this is a config with its accuracies, kept without what a run works with, as in docs/results."""
    work = (METRICS, WEIGHTS, checkpoint.FOLDER, lock.NAME)
    return atomic.disk.exists(path / ACCURACY) and not any(atomic.disk.exists(path / name) for name in work)


def kept(name: str, path: Path) -> list[Row]:
    """The rows of such a copy. No digest vouches for it; steps, time and proof are not known."""
    text = atomic.parse_text(atomic.read_bytes(path / CONFIG), path / CONFIG)
    known, config = facts(text), toml.parse(text)
    evaluation = config.get("evaluation", {})
    inside = scored({"test_len": 0, **evaluation}, config["task"])
    table = csv.DictReader(io.StringIO(atomic.parse_text(atomic.read_bytes(path / ACCURACY), path / ACCURACY)))
    rows = sorted((int(row["length"]), 100 * float(row["accuracy"]), int(row["samples"])) for row in table)
    if not rows or len({T for T, *_ in rows}) < len(rows):
        raise ValueError("each length once, and at least one")
    if not all(T > 0 and 0 <= accuracy <= 100 and samples > 0 for T, accuracy, samples in rows):
        raise ValueError("shares from 0 to 1 of at least one word")
    tested = known.get("protocol", "")
    return [
        Row(name, DONE, **known, tested=tested, length=T, accuracy=accuracy, samples=samples, in_score=T in inside)
        for T, accuracy, samples in rows
    ]


def failed(place: Place, failure: Path) -> Row:
    """The row of a run that a sweep gave up."""
    known = facts_of(place)
    reason = atomic.parse_json(atomic.read_bytes(failure), failure).get("reason")
    return Row(place.name, FAILED, one_line(str(reason or UNKNOWN)), **known, tested=known["protocol"])


def damaged(place: Place, reason: str) -> Row:
    """The row of a run that cannot be read.

    Files are named from the run's folder or the sweep's on: the table says the same wherever it is made.
    """
    known = facts_of(place)
    for folder in [place.folder, *(place.config.parents[1:2] if place.config else ())]:
        reason = reason.replace(f"{atomic.shown(folder)}/", "")
    return Row(place.name, DAMAGED, one_line(reason), **known, tested=known["protocol"])


def facts_of(place: Place) -> dict[str, Any]:
    """What can still be known of the config of a run that went wrong."""
    for text in texts(place):
        with suppress(UserError):
            return {"protocol": "", **facts(text)}
    return {"protocol": ""}


def fields(place: Place) -> dict[str, Any]:
    """All fields of a run's config by their dotted keys, as far as they can be read."""
    for text in texts(place):
        with suppress(UserError):
            config = toml.parse(text)
            sections = {name: part for name, part in config.items() if isinstance(part, dict)}
            single = {key: value for key, value in config.items() if key not in sections}
            return single | {f"{name}.{key}": value for name, part in sections.items() for key, value in part.items()}
    return {}


def texts(place: Place) -> Iterator[str]:
    """The config.toml of a run, then that of its sweep: those that can be read."""
    with suppress(UserError):
        yield RunFolder(place.folder).config_text
    if place.config:
        with suppress(UserError):
            yield atomic.parse_text(atomic.read_bytes(place.config), place.config)


def facts(text: str) -> dict[str, Any]:
    """The columns that a config.toml knows; UserError if a field is not what it should be.

    >>> facts('seed = 1\\n[model]\\nname = "lstm"\\nchunk_size = 2')
    {'model': 'lstm', 'seed': 1}
    """
    config = toml.parse(text)
    found = {}
    for column, (key, kind) in FACTS.items():
        section, _, name = key.rpartition(".")
        values = config.get(section, {}) if section else config
        if isinstance(values, dict) and name in values:
            found[column] = check(key, kind, values[name])
    if found.get("model") != "regulargpt":
        found.pop("chunk_size", None)
    return found


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())
