"""Runs of an earlier page whose folders are not here: what they came to stands in the new page with what runs here do.

Trainings of days end on several machines, and a page is often all that is kept of them. Each cell counts the earlier
runs as if their tests were read again: scores, steps and seconds together, curves as the mean over all runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from experiments.cells import Compared, Comparison, configs_digest, group_of
from experiments.experiment import Experiment, Scale
from experiments.page import files
from experiments.page.record import Page, Values
from languages.errors import UserError
from regulargpt.plots import Line as Curve
from regulargpt.results.statistics import joined, least
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage import atomic

FAILED = re.compile(r" \(\d+ of \d+ failed\)$")


def read(place: Path, experiment: Experiment, scale: Scale) -> Page:
    """The page in a folder; UserError if it is none of these scores, or of runs with other configs."""
    if not isinstance(experiment, Experiment) or experiment.analyse:
        raise UserError(f"--earlier is for tables of scores, and {experiment.name} is none; leave it out")
    page, where = files.read(place), atomic.shown(place)
    if (page.experiment, page.scale, page.layout) != (experiment.name, scale, "scores"):
        raise UserError(f"{where} is a page of {page.experiment} at scale {page.scale}; give one of what is asked for")
    for cell, names in cells_of(page, experiment):
        if cell["done"] and cell.get("configs") != configs_digest(names):
            place_of = f"{cell['row']}, {cell['title']}"
            raise UserError(f"{where} is of runs that now have other configs ({place_of}); leave --earlier out")
    return page


def cells_of(page: Page, experiment: Experiment) -> Iterator[tuple[Values, tuple[str, ...]]]:
    """The values of each cell, and the runs that it is of."""
    columns = {column.name: column for column in experiment.columns}
    scale, names = cast(Scale, page.scale), dict[tuple[str, str], tuple[str, ...]]()
    for cell in page.parts["cells"]:
        if cell["row"] not in experiment.rows or cell["column"] not in columns:
            yield cell, ()
            continue
        # Several columns show the same runs.
        runs = cell["row"], columns[cell["column"]].runs
        if runs not in names:
            names[runs] = tuple(map(name_of, experiment.configs(*runs, scale)))
        yield cell, names[runs]


def done(page: Page, experiment: Experiment) -> frozenset[str]:
    """The runs whose results the page has."""
    names = {name for _, names in cells_of(page, experiment) for name in names}
    return frozenset(names.difference(page.missing, (failure["run"] for failure in page.failed)))


def with_earlier(found: Comparison, page: Page) -> Comparison:
    """The comparison with the results of the page; UserError if a run is in both."""
    there, values = done(page, found.experiment), {(v["row"], v["column"]): v for v in page.parts["cells"]}
    for name in sorted(there.difference(found.missing)):
        raise UserError(f"{name} is in this folder and in the earlier page; leave --earlier out, or use another --out")

    def counted(cell: Compared) -> Compared:
        before = values.get((cell.row, cell.column.name), {"done": 0})
        return with_values(cell, before, there, found.statistics) if before["done"] else cell

    return replace(found, cells=tuple(tuple(map(counted, row)) for row in found.cells), earlier=page)


def with_values(cell: Compared, before: Values, there: frozenset[str], statistics: Sequence[str]) -> Compared:
    """The cell with the runs `there`, whose values it had `before`."""
    former = group_of(before)
    # A run that failed there is missing here.
    former = former and replace(former, n_runs=former.n_runs - former.n_failed, n_failed=0)
    group = joined(former, cell.group) if former and cell.group else former or cell.group
    ours: dict[str, Any] = dict(zip(statistics, cell.ours, strict=True))
    of = {"worst": least([ours.get("worst"), before["ours"].get("worst")])}
    return replace(
        cell,
        group=group,
        ours=tuple(of.get(name, getattr(group, name, None)) for name in statistics),
        missing=tuple(name for name in cell.missing if name not in there),
        before=before,
    )


def curves_of(page: Page | None, row: str) -> dict[str, Curve]:
    """The curves of a row in the page, by the titles of its columns, without the note on runs that failed there."""
    pictures = (picture for picture in page.pictures if picture.title == row) if page else ()
    named = ((FAILED.sub("", line.name), line) for picture in pictures for line in picture.lines)
    return {title: replace(line, name=title) for title, line in named}


def mean_curve(one: Curve, runs: int, other: Curve, others: int) -> Curve:
    """The curve of so many runs with that of others, over the lengths of both.

    >>> mean_curve(Curve("a", [41], [90.0], [80.0], [100.0]), 2, Curve("a", [41], [60.0], [60.0], [60.0]), 1)
    Line(name='a', lengths=(41,), values=(80.0,), low=(60.0,), high=(100.0,), like=None, dash='', chance=None, trained=None)
    """  # noqa: E501
    ours, theirs = (dict(zip(c.lengths, zip(c.values, c.low, c.high, strict=True), strict=True)) for c in (one, other))
    lengths = tuple(length for length in ours if length in theirs)
    pairs = [(ours[length], theirs[length]) for length in lengths]
    mean = tuple((a[0] * runs + b[0] * others) / (runs + others) for a, b in pairs)
    low, high = (tuple(of(a[at], b[at]) for a, b in pairs) for at, of in ((1, min), (2, max)))
    return replace(one, lengths=lengths, values=mean, low=low, high=high)
