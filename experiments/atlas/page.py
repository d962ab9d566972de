"""The page of the atlas, from its two tables alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from experiments.atlas import columns
from experiments.atlas.algebra import KINDS, NUMBERS
from experiments.atlas.columns import DONE, FAILED, Row
from experiments.atlas.correlation import spearman
from experiments.atlas.groups import SOLVED, accuracy, budgets, finished, mean, of_network, proven, solved
from experiments.atlas.networks import NETWORKS
from experiments.atlas.pictures import Measured, pictures
from experiments.atlas.rule import rule
from experiments.page.files import write_shown
from experiments.page.record import Block, Cell, CellLine, ItemList, Page, PageTable, Section
from regulargpt.evaluation.interval import Interval
from regulargpt.storage.atomic import parse_json, read_bytes

ENVIRONMENT = "environment.json"
ABOUT = (
    "Each network saw words of at most 40 symbols of a language and whether they are members. It is scored on words of "
    f"41 to 200 symbols, half of them members. A network extrapolates where its mean accuracy is {SOLVED:g} % or more. "
    "A tree is proven with its states above the symbols replaced by prototypes, a tanh RNN as it is or with its states "
    "replaced by points: at every length, in real arithmetic, and for the language itself. One seed each, and few "
    "steps: a failure says that so few steps did not do. Most steps are those that a run might have: it ends before "
    "when its loss is low or its proof holds, and a tree without a table, too. Intervals and bands are 95 %, by "
    "bootstrap over languages."
)
CORRELATIONS = (
    "Spearman's rank correlation of each column with the accuracy: below 0 where more of it goes with failure. An "
    "interval that does not hold 0 is bold. A dash stands where one of the two is the same for all languages."
)


def page_in(place: Path) -> Page:
    """The page of the folder's tables; and where runs were made, if a file beside it says so."""
    known = [parse_json(read_bytes(path), path)] if (path := place / ENVIRONMENT).exists() else []
    return atlas_page(columns.read(place / columns.FILE), known)


def write_page(out: Path) -> None:
    """Write the page of the folder's tables, with its pictures."""
    write_shown(out, page_in(out))


def atlas_page(rows: Sequence[Row], environments: Iterable[Mapping[str, Any]] = ()) -> Page:
    """The page of these rows."""
    said = finished(rows)
    failed = [row for row in rows if row["state"] == FAILED]
    sections = {
        "Networks": [summary(rows)],
        "Accuracy by number": [*pictures(said)],
        "Groups, aperiodic monoids, and others": [
            by_kind(said, "extrapolates, %", solved),
            by_kind(said, "accuracy, %", accuracy),
        ],
        "What predicts failure": [
            CORRELATIONS,
            correlations(said),
            ItemList(tuple(f"{name}: {text}" for name, text in NUMBERS.items())),
        ],
        "As a rule": [block for name in present(said) for block in as_rule(name, of_network(said, name))],
    }
    return Page(
        experiment="atlas",
        scale="cpu",
        heading="An atlas of small regular languages",
        lead=(ABOUT, counted(rows)),
        sections=tuple(Section(title, tuple(blocks)) for title, blocks in sections.items() if blocks),
        facts={"rows": len(rows), "done": sum(row["state"] == DONE for row in rows)},
        failed=tuple({"run": f"{row['language']}, {row['network']}", "reason": row["reason"]} for row in failed),
        command="python -m experiments.atlas OUT",
        train_seconds=round(sum(row["seconds"] or 0.0 for row in rows), 1),
        environments=tuple(environments),
    )


def counted(rows: Sequence[Row]) -> str:
    """How many languages there are, and how many of them say nothing."""
    every = {row["language"]: row for row in rows}.values()
    constant = sum(row["is_constant"] for row in every)
    return (
        f"{len(rows)} rows of {len(every)} languages. On {constant:g} languages all words of the scored lengths have "
        "the same answer. Those are in no figure below but the seconds and the failures."
    )


def shown(estimate: Interval | None, digits: int = 1, is_clear: bool = False) -> Cell:
    """A value with its interval, bold if it is clear; a dash where there is none.

    >>> shown(Interval(0.5, 0.25, 0.75), digits=2).lines[0].text, shown(None).lines[0].text
    ('0.50 [0.25, 0.75]', '–')
    """
    if estimate is None:
        return Cell((CellLine("–"),))
    text = f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
    return Cell((CellLine(text, "ours" if is_clear else ""),), values=asdict(estimate))


def present(rows: Sequence[Row]) -> list[str]:
    """The names of the networks that have rows."""
    return [name for name in NETWORKS if of_network(rows, name)]


def summary(rows: Sequence[Row]) -> PageTable:
    """A row each network."""
    header = (
        "network",
        "languages",
        "failed",
        "most steps",
        "accuracy, %",
        "extrapolates, %",
        "proven, %",
        "seconds a run",
    )
    return PageTable(header, tuple(of_one(name, of_network(rows, name)) for name in present(rows)))


def of_one(name: str, rows: Sequence[Row]) -> tuple[str | Cell, ...]:
    """A network in the table of networks."""
    said, done = finished(rows), [row for row in rows if row["state"] == DONE]
    is_asked = any(row["proven"] is not None for row in said)
    return (
        NETWORKS[name].title,
        str(len(said)),
        str(len(rows) - len(done)),
        budgets(rows),
        shown(mean(said, accuracy) if said else None),
        shown(mean(said, solved) if said else None),
        shown(mean(said, proven) if is_asked else None),
        f"{np.mean([row['seconds'] for row in done]):.1f}" if done else "–",
    )


def by_kind(rows: Sequence[Row], what: str, measured: Measured) -> PageTable:
    """The mean of each network over the languages of each kind."""
    lines = []
    for name in present(rows):
        groups = [[row for row in of_network(rows, name) if row["kind"] == kind] for kind in KINDS]
        cells = (counting(shown(mean(some, measured)), len(some)) if some else shown(None) for some in groups)
        lines.append((NETWORKS[name].title, *cells))
    return PageTable((what, *KINDS), tuple(lines))


def counting(cell: Cell, languages: int) -> Cell:
    """The cell, with how many languages it is of."""
    return Cell((*cell.lines, CellLine(f"of {languages}")), values=cell.values)


def correlations(rows: Sequence[Row]) -> PageTable:
    """A row each algebra column, a column each network."""
    names = present(rows)
    lines = ((column, *(correlated(of_network(rows, name), column) for name in names)) for column in NUMBERS)
    return PageTable(("column", *(NETWORKS[name].title for name in names)), tuple(lines))


def correlated(rows: Sequence[Row], column: str) -> Cell:
    """A cell of that table, bold where the interval does not hold 0."""
    x, y = (np.array([row[name] for row in rows], dtype=float) for name in (column, "accuracy"))
    correlation = spearman(x, y)
    return shown(correlation, 2, is_clear=correlation is not None and (correlation.low > 0 or correlation.high < 0))


def as_rule(name: str, rows: Sequence[Row]) -> list[Block]:
    """The tree of a network, in words."""
    return [f"{NETWORKS[name].title}:", ItemList(tuple(rule(rows)))]
