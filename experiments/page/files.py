"""The files of a page: page.json or a table, page.md that is made from it, and the pictures beside them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from experiments.page.compact import dense
from experiments.page.layout import page_of, stored
from experiments.page.markdown import markdown
from experiments.page.record import Page, PagePicture, to_json
from regulargpt import plots
from regulargpt.objectives.measures import measure
from regulargpt.storage import atomic

RECORD, PAGE = "page.json", "page.md"
# Pages that are made of a table, each by `page_in(place)` of a module.
MADE_OF = {
    "runs.csv": "experiments.score_page",
    "atlas.csv": "experiments.atlas.page",
    "random-dfas.csv": "experiments.random_dfas",
}


def write(place: Path, page: Page) -> dict[str, Any]:
    """Write page.json, the pictures and page.md into a folder; what the page says, and where it is."""
    atomic.make_folder(place)
    atomic.write_text(place / RECORD, rendered(page))
    write_again(place, drawn=True)
    return {**plain(place), "page": str(place / PAGE)}


def rendered(page: Page) -> str:
    """page.json: a line for each value or column, so that a change shows where it is."""
    return spread(stored(page), 5) + "\n"


def spread(value: Any, depth: int) -> str:
    """JSON with a line for each value down to a depth, lists of plain values whole.

    >>> print(spread({"a": [1, 2], "b": [{"c": 3}]}, 2))
    {"a":[1,2],
    "b":[{"c":3}]}
    """
    if depth and isinstance(value, dict):
        return "{" + ",\n".join(f"{dense(key)}:{spread(item, depth - 1)}" for key, item in value.items()) + "}"
    if depth and isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "[" + ",\n".join(spread(item, depth - 1) for item in value) + "]"
    return dense(value)


def write_again(place: Path, drawn: bool) -> None:
    """Write page.md anew from what is kept, with its pictures if they are to be `drawn`; FormatError for no record."""
    write_shown(place, read(place), drawn)


def write_shown(place: Path, page: Page, drawn: bool = True) -> None:
    """Write the page for people, with its pictures if they are to be `drawn`."""
    for picture in page.pictures if drawn else ():
        draw(picture, place)
    atomic.write_text(place / PAGE, markdown(page, drawn))


def has_page(place: Path) -> bool:
    """Whether a folder has what a page is made of."""
    return any((place / name).exists() for name in (RECORD, *MADE_OF))


def draw(picture: PagePicture, place: Path) -> None:
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
    """The page of a folder, of page.json or of the table that it is made of; FormatError if there is none."""
    path = place / RECORD
    for table, module in MADE_OF.items():
        if (place / table).exists():
            return import_module(module).page_in(place)
    values = atomic.parse_json(atomic.read_bytes(path), path)
    try:
        return page_of(values)
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        raise atomic.FormatError(f"{atomic.shown(path)} is no record of a page: {error}; make it anew") from error


def plain(place: Path) -> dict[str, Any]:
    """All that a page says, as plain values."""
    return json.loads(json.dumps(to_json(read(place))))
