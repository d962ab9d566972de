"""The files of a page: page.json, and page.md that is made from it; pictures lie beside them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from experiments.page import contents
from experiments.page.record import Record, from_json
from experiments.page.wording import texts
from experiments.text import page as text_page
from experiments.text.checkpoint import page as checkpoint_page
from experiments.text.checkpoint.record import CheckpointRecord, checkpoint_from_json
from experiments.text.record import TextRecord, text_from_json
from regulargpt.storage import atomic

AnyRecord: TypeAlias = Record | TextRecord | CheckpointRecord
RECORD, PAGE = "page.json", "page.md"


def to_json(record: AnyRecord) -> dict[str, Any]:
    """What page.json holds; beside each score's values, its texts as the page has them."""
    values = asdict(record)
    if isinstance(record, Record):
        values["cells"] = [asdict(cell) | {"texts": texts(cell)} for cell in record.cells]
    return json.loads(json.dumps(values))


def page(record: AnyRecord) -> str:
    """page.md."""
    if isinstance(record, CheckpointRecord):
        return checkpoint_page.page(record)
    return contents.page(record) if isinstance(record, Record) else text_page.page(record)


def write(place: Path, record: AnyRecord) -> dict[str, Any]:
    """Write page.json and page.md into a folder; what page.json holds."""
    values = to_json(record)
    # A line for each cell: half the bytes of indented JSON, and a change still shows where it is.
    cells = ",\n".join(map(dense, values["cells"]))
    atomic.write_text(
        place / RECORD, dense(values | {"cells": []}).replace('"cells":[]', f'"cells":[\n{cells}]', 1) + "\n"
    )
    write_from_record(place)
    return values


def dense(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write_from_record(place: Path) -> None:
    """Write page.md anew; UserError if the record cannot be read."""
    atomic.write_text(place / PAGE, page(read_record(place)))


def read_record(place: Path) -> AnyRecord:
    """page.json of a folder; FormatError if it is none."""
    path = place / RECORD
    values = atomic.parse_json(atomic.read_bytes(path), path)
    try:
        if "checkpoint" in values:
            return checkpoint_from_json(values)
        return text_from_json(values) if "claims" in values else from_json(values)
    except (KeyError, TypeError) as error:
        raise atomic.FormatError(f"{atomic.shown(path)} is no record of a page: {error}; make it anew") from error
