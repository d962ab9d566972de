"""The files of a page: page.json, page.md that is made from it, and the pictures beside them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.page.compact import packed, unpacked
from experiments.page.markdown import markdown
from experiments.page.record import Page, Picture, from_json, to_json
from regulargpt import plots
from regulargpt.objectives.measures import measure
from regulargpt.storage import atomic

RECORD, PAGE = "page.json", "page.md"


def write(place: Path, page: Page) -> dict[str, Any]:
    """Write page.json, the pictures and page.md into a folder; what page.json holds, and where the page is."""
    values = to_json(page)
    atomic.make_folder(place)
    atomic.write_text(place / RECORD, rendered(values))
    write_again(place, drawn=True)
    return {**json.loads(json.dumps(values)), "page": str(place / PAGE)}


def rendered(values: dict[str, Any]) -> str:
    """page.json: a line for each block, of a table for each row; a change shows where it is."""
    page = packed(values)
    head = ",\n".join(f"{dense(key)}:{dense(value)}" for key, value in page.items() if key != "sections")
    sections = ",\n".join(map(section, page["sections"]))
    return f'{{{head},\n"sections":[\n{sections}]}}\n'


def section(values: dict[str, Any]) -> str:
    """A section of page.json."""
    blocks = ",\n".join(map(block, values["blocks"]))
    return f'{{"title":{dense(values["title"])},"blocks":[\n{blocks}]}}'


def block(value: Any) -> str:
    """A block of page.json."""
    if not isinstance(value, dict) or not (several := value.get("rows") or value.get("lines")):
        return dense(value)
    key = "rows" if "rows" in value else "lines"
    each = ",\n".join(map(dense, several))
    return dense({**value, key: []}).replace(f'"{key}":[]', f'"{key}":[\n{each}]', 1)


def dense(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write_again(place: Path, drawn: bool) -> None:
    """Write page.md anew from page.json, with its pictures if they are to be `drawn`; FormatError for no record."""
    page = read(place)
    for picture in page.pictures if drawn else ():
        draw(picture, place)
    atomic.write_text(place / PAGE, markdown(page, drawn))


def draw(picture: Picture, place: Path) -> None:
    """Draw the curves of a picture into its file; a picture that is a file already stays."""
    if not picture.lines:
        return
    long = {"even": math.inf, "log": 0, "": plots.LOG_FROM}[picture.scale]
    lines = [bent(line) if picture.from_drawing else line for line in picture.lines]
    figure = plots.single(lines, measure(picture.measure), label=picture.label, marks=picture.marks, long=long)
    axes, places = figure.axes[0], sorted({place for line in lines for place in line.lengths})
    axes.set_xlabel(picture.axis)
    if picture.scale == "log" and len(places) <= plots.MAX_DOTS:
        axes.set_xticks(places, [f"{place:,.0f}" for place in places])  # powers of ten would say little of them
        axes.minorticks_off()
    atomic.make_folder((place / picture.file).parent)
    plots.save(place / picture.file, figure)


def bent(line: plots.Line) -> plots.Line:
    """A line that is known where it bends, at every length: that it is drawn as it was, without dots at its bends."""
    lengths = range(line.lengths[0], line.lengths[-1] + 1)
    values, low, high = (np.interp(lengths, line.lengths, of).tolist() for of in (line.values, line.low, line.high))
    return replace(line, lengths=lengths, values=values, low=low, high=high)


def read(place: Path) -> Page:
    """page.json of a folder; FormatError if it is none."""
    try:
        return from_json(plain(place))
    except (KeyError, TypeError) as error:
        raise atomic.FormatError(
            f"{atomic.shown(place / RECORD)} is no record of a page: {error}; make it anew"
        ) from error


def plain(place: Path) -> dict[str, Any]:
    """The plain values of page.json, which has them without repetitions."""
    path = place / RECORD
    return unpacked(atomic.parse_json(atomic.read_bytes(path), path))
