"""The files of a page: page.json and the pictures, and page.md and page.html that are made from them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.page import html, markdown
from experiments.page.contents import document
from experiments.page.document import Document
from experiments.page.record import Record, from_json
from experiments.page.wording import texts
from regulargpt.storage import atomic

RECORD, MARKDOWN, HTML = "page.json", "page.md", "page.html"


def to_json(record: Record) -> dict[str, Any]:
    """What page.json holds; beside each cell's values, its texts as the page has them."""
    values = asdict(record) | {"cells": [asdict(cell) | {"texts": texts(cell)} for cell in record.cells]}
    return json.loads(json.dumps(values))


def write_from_record(place: Path) -> None:
    """Write page.md and page.html anew; UserError if the record or a picture cannot be read."""
    page = read_page(place)
    atomic.write_text(place / MARKDOWN, markdown.render(page))
    atomic.write_text(place / HTML, html.render(page))


def read_page(place: Path) -> Document:
    """The page in a folder, from its record and its pictures."""
    record = read_record(place)
    files = [picture.file for picture in (*record.looks, *record.curves)]
    return document(record, {file: picture_of(place / file) for file in files})


def read_record(place: Path) -> Record:
    """page.json of a folder; FormatError if it is none."""
    path = place / RECORD
    values = atomic.parse_json(atomic.read_bytes(path), path)
    try:
        return from_json(values)
    except (KeyError, TypeError) as error:
        raise atomic.FormatError(f"{atomic.shown(path)} is no record of a page: {error}; make it anew") from error


def picture_of(path: Path) -> str | bytes:
    """What a picture's file holds: SVG as text, others as bytes."""
    data = atomic.read_bytes(path)
    return data.decode() if path.suffix == ".svg" else data
