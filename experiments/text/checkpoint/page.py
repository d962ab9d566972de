"""The page of a checkpoint as Markdown: the claims, then a table for each task."""

from __future__ import annotations

from experiments.page import details
from experiments.page.contents import joined
from experiments.page.markdown import items, safe, table
from experiments.page.wording import Entry, Line
from experiments.text import page as text_page
from experiments.text.checkpoint.record import AskedCell, CheckpointRecord
from languages.text.retrieval.prompts import PROMPTS
from regulargpt.evaluation.interval import Interval

VERDICTS = (
    "A claim holds where the 95 % interval of each figure lies on its side of the bound, does not where one lies on "
    "the other side, and is not decidable here in between. Shares have Wilson's interval; that of a difference holds "
    "all differences of the two. A temperature is one number, and has none."
)


def page(found: CheckpointRecord) -> str:
    """page.md."""
    sections = {
        "Which published claims hold for this checkpoint": text_page.claims(found.claims, VERDICTS),
        found.title: tables(found),
        "Conditions": [table(("", "as published", "here"), found.conditions), items(found.notes)],
        "What is missing": missing(found),
        "How it was made": origin(found),
    }
    return joined(found, sections)


def tables(found: CheckpointRecord) -> list[str]:
    """A table a task: rows are strategies, columns are sizes."""
    text = ["In each cell: our share of right answers in percent, with its 95 % interval, and the temperature."]
    if found.published_as:
        text.append("Below each: what was published.")
    if any(cell.at_bound for cell in found.cells):
        text.append("! says that the search of a temperature ended at its bound.")
    blocks = [safe(" ".join(text))]
    for task, rows in found.tasks.items():
        first = next(iter(rows.values()))
        header = (task, *(title(cell) for cell in first))
        blocks.append(table(header, [(row[0].title, *map(entry, row)) for row in rows.values()]))
    return blocks


def title(cell: AskedCell) -> str:
    """The size of a column, and how many tokens that is."""
    tokens = "" if cell.tokens is None else f", about {cell.tokens:,} tokens"
    return f"{cell.size:,} {PROMPTS[cell.task].unit}{tokens}"


def entry(cell: AskedCell) -> Entry:
    """The share, the temperature, and both as published."""
    lines = [Line("missing", "state") if cell.exact is None else Line(share(cell.exact), "ours")]
    if cell.published is not None:
        lines.append(Line(f"published {cell.published:g}"))
    if cell.tau is not None:
        lines.append(Line(f"temperature {cell.tau:.3g}{'!' * cell.at_bound}"))
    if cell.published_tau is not None:
        lines.append(Line(f"published {cell.published_tau:g}"))
    return Entry(tuple(lines))


def share(found: Interval) -> str:
    """A share with its interval.

    >>> share(Interval(92.0, 85.0, 95.94))
    '92 [85.0, 95.9]'
    """
    return f"{found.value:.4g} [{found.low:.1f}, {found.high:.1f}]"


def missing(found: CheckpointRecord) -> list[str]:
    """Columns that were asked for and are not there, and tasks that were not asked for."""
    left_out = [f"Not asked for yet: {', '.join(found.left_out)}."] if found.left_out else []
    if not found.missing:
        return [*map(safe, left_out)] or ["Nothing."]
    return [items(found.missing), "The same command asks for them.", *map(safe, left_out)]


def origin(found: CheckpointRecord) -> list[str]:
    """Command, weights, time, and where the first session ran."""
    seconds = found.session_seconds
    sessions = f"{len(seconds)} session{'s' * (len(seconds) != 1)}"
    spent = f"{details.duration(sum(seconds))} in {sessions}" if seconds else "not known"
    facts = [f"Weights: SHA-256 {found.weights}", f"Time: {spent}", *map(details.environment, found.environments)]
    return [f"    {found.command}", items(facts)]
