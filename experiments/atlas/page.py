"""atlas.md and its pictures, from atlas.csv alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.atlas import columns, pictures
from experiments.atlas.algebra import KINDS, NUMBERS
from experiments.atlas.columns import DONE, Row
from experiments.atlas.correlation import spearman
from experiments.atlas.groups import SOLVED, accuracy, finished, mean, of_network, proven, solved
from experiments.atlas.networks import NETWORKS
from experiments.atlas.rule import rule
from experiments.page.markdown import items, safe, table
from regulargpt.evaluation.interval import Interval
from regulargpt.storage.atomic import make_folder, write_text

PAGE = "atlas.md"
ABOUT = f"""\
Each network saw words of at most 40 symbols of a language and whether they are members. It is scored on words of 41 to
200 symbols, half of them members. A network *extrapolates* where its mean accuracy is {SOLVED:g} % or more. *Proven* is
the network with its states above the symbols replaced by prototypes, at every length, in real arithmetic, and for the
language itself. One seed each, and few steps: a failure says that so few steps did not do. Intervals and bands are
95 %, by bootstrap over languages."""


def write_page(out: Path) -> None:
    """The page of the folder's atlas.csv, with its pictures."""
    rows = columns.read(out / columns.FILE)
    make_folder(out / pictures.FOLDER)
    drawn = pictures.draw(finished(rows), out)
    write_text(out / PAGE, render(rows, drawn))


def render(rows: Sequence[Row], drawn: Sequence[pictures.Picture]) -> str:
    """The page as Markdown."""
    said = finished(rows)
    parts = ["# An atlas of small regular languages", ABOUT, safe(counted(rows)), "## Networks", summary(rows)]
    for picture in drawn:
        parts += [f"## {safe(picture.title)}", f"![{safe(picture.title)}]({picture.file})"]
    parts += ["## Groups, aperiodic monoids, and others", by_kind(said)]
    parts += ["## What predicts failure", f"{CORRELATIONS}\n\n{correlations(said)}", meanings()]
    return "\n\n".join([*parts, "### As a rule", rules(said)]) + "\n"


def counted(rows: Sequence[Row]) -> str:
    """How many languages there are, and how many of them say nothing."""
    every = {row["language"]: row for row in rows}.values()
    constant = sum(row["is_constant"] for row in every)
    return (
        f"{len(rows)} rows of {len(every)} languages. On {constant:g} languages all words of the scored lengths have "
        "the same answer. Those are in no figure below but the seconds and the failures."
    )


def shown(found: Interval | None, digits: int = 1) -> str:
    """A value with its interval.

    >>> shown(Interval(0.5, 0.25, 0.75), digits=2), shown(None)
    ('0.50 [0.25, 0.75]', '–')
    """
    if found is None:
        return "–"
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def present(rows: Sequence[Row]) -> list[str]:
    """The names of the networks that have rows."""
    return [name for name in NETWORKS if of_network(rows, name)]


def summary(rows: Sequence[Row]) -> str:
    """A row each network."""
    header = ("network", "languages", "failed", "accuracy, %", "extrapolates, %", "proven, %", "seconds a run")
    return table(header, [of_one(name, of_network(rows, name)) for name in present(rows)])


def of_one(name: str, rows: Sequence[Row]) -> list[str]:
    """A network in the table of networks."""
    said, done = finished(rows), [row for row in rows if row["state"] == DONE]
    is_asked = any(row["proven"] is not None for row in said)
    return [
        NETWORKS[name].title,
        str(len(said)),
        str(len(rows) - len(done)),
        shown(mean(said, accuracy) if said else None),
        shown(mean(said, solved) if said else None),
        shown(mean(said, proven) if is_asked else None),
        f"{np.mean([row['seconds'] for row in done]):.1f}" if done else "–",
    ]


def by_kind(rows: Sequence[Row]) -> str:
    """The share of languages of each kind on which each network extrapolates."""
    lines = []
    for name in present(rows):
        found = [[row for row in of_network(rows, name) if row["kind"] == kind] for kind in KINDS]
        cells = (f"{shown(mean(of_kind, solved))} of {len(of_kind)}" if of_kind else "–" for of_kind in found)
        lines.append([NETWORKS[name].title, *cells])
    return table(("extrapolates, %", *KINDS), lines)


CORRELATIONS = """\
Spearman's rank correlation of each column with the accuracy: below 0 where more of it goes with failure. An interval
that does not hold 0 is bold. A dash stands where one of the two is the same for all languages."""


def correlations(rows: Sequence[Row]) -> str:
    """A row each algebra column, a column each network."""
    names = present(rows)
    lines = [[column, *(correlated(of_network(rows, name), column) for name in names)] for column in NUMBERS]
    text = table(("column", *(NETWORKS[name].title for name in names)), lines)
    return text.replace("@", "**")


def correlated(rows: Sequence[Row], column: str) -> str:
    """A cell of that table; between two @ where the interval does not hold 0."""
    x, y = (np.array([row[name] for row in rows], dtype=float) for name in (column, "accuracy"))
    found = spearman(x, y)
    is_clear = found is not None and (found.low > 0 or found.high < 0)
    return f"@{shown(found, 2)}@" if is_clear else shown(found, 2)


def meanings() -> str:
    """What the columns are."""
    return items(f"{name}: {text}" for name, text in NUMBERS.items())


def rules(rows: Sequence[Row]) -> str:
    """The tree of each network, in words."""
    found = ((NETWORKS[name].title, rule(of_network(rows, name))) for name in present(rows))
    return "\n\n".join(f"**{safe(title)}**\n\n{items(lines)}" for title, lines in found)
