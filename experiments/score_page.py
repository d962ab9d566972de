"""The page of a table of scores: published beside ours, conditions, rules without an automaton, curves, all numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from experiments.cells import (
    PERCENT,
    STANDINGS,
    Compared,
    Comparison,
    cell,
    group_of,
    is_published,
    standing,
    values_of,
)
from experiments.claims import Printed
from experiments.conditions import ITS_OWN
from experiments.earlier import curves_of, mean_curve
from experiments.experiment import Experiment, Shows
from experiments.page.layout import laid_out
from experiments.page.record import Block, Items, Page, Picture, Section, Table, Values, Verdict
from experiments.published import Published, published
from experiments.score_claims import JUDGED, Scores
from regulargpt.config.protocols import PROTOCOLS
from regulargpt.plots import Line as Curve
from regulargpt.results import curves as results
from regulargpt.results.render import ACCURACY, BELOW, INTERVAL, figures
from regulargpt.runs.sweep.names import plain
from regulargpt.tables import percent

# Columns side by side: more are another table below.
MAX_COLUMNS = 5
# Units of a table that has columns; a sentence of an abstract has none.
TABLES = ("percent", "scaled accuracy", "scaled accuracy in percent")
RULES = (
    "Logistic regression on features that need no automaton, fitted to words drawn as the training words are and "
    "tested on words drawn as the test words are. A network that scores no more than a rule may have learned it."
)
BY_MEAN = (
    "Each cell by its mean: within, if the published mean is one that lies between the worst and the best of our "
    "runs; else above or below it."
)


def score_page(found: Comparison, made: Mapping[str, Any]) -> Page:
    """The page of a comparison; `made` says how it was made."""
    experiment = found.experiment
    trained = {row.run: row.train_seconds or 0.0 for cell in found.all for row in cell.rows}
    before = (found.earlier and found.earlier.train_seconds) or 0.0
    facts = {
        "statistics": found.statistics,
        "is_published": experiment.published is not None,
        "everywhere": found.everywhere,
    }
    cells = [values_of(one, found.statistics) for one in found.all]
    parts = {
        "title": experiment.title,
        "cells": cells,
        "notes": found.notes,
        "protocols": protocols(found),
        "pictures": [picture for picture, _ in pictures(found)],
        "curves": curves(found),
        "related": experiment.related,
        "computed": sorted({f"PyTorch {of.get('torch')}, {of.get('device_name')}" for of in made["environments"]}),
    }
    return laid_out(
        "scores",
        facts,
        parts,
        experiment=experiment.name,
        scale=found.scale,
        heading=heading(found),
        lead=tuple(lead(found)),
        claims=tuple(verdicts(experiment, found.scale, cells)),
        judged=JUDGED if experiment.claims else "",
        left_out=found.left_out,
        failed=tuple({"run": name, "reason": reason} for name, reason in sorted(found.failures.items())),
        missing=tuple(found.missing),
        train_seconds=round(sum(trained.values()) + before, 3),
        **made,
    )


def verdicts(experiment: Experiment, scale: str, cells: Sequence[Values]) -> Iterator[Verdict]:
    """What the cells of a page say of each claim."""
    too_small = "hardly trained at this scale" if scale == "smoke" else ""
    printed = published(experiment.published) if experiment.published else None
    for claim in experiment.claims:
        figures = (test.printed(best(printed)) for test in claim.bounds) if printed else ()
        text = "; ".join(f"{figure:g}" for figure in figures if figure is not None)
        yield claim.verdict(cast(Any, Scores.of(cells)), text, too_small)


def best(printed: Published) -> Printed:
    """The published score by `row/column`, the best where there are several statistics."""

    def value(place: str, multiple: int) -> float | None:
        row, column = place.rsplit("/", 1)
        found = printed.value(row, column, printed.statistics[0])
        return found if isinstance(found, int | float) else None

    return value


def sections(
    facts: Values,
    *,
    title: str,
    cells: Sequence[Values],
    notes: Sequence[str],
    protocols: Sequence[str],
    pictures: Sequence[Picture],
    curves: Sequence[Picture],
    related: Sequence[str],
    computed: Sequence[str],
) -> tuple[Section, ...]:
    """The sections of a page of these cells, `computed` by these versions on these machines."""
    statistics, is_published, everywhere = facts["statistics"], facts["is_published"], facts["everywhere"]
    text = "Lines are means over the runs of a column, bands their range, from the worst run to the best."
    each = {
        title: [reading(cells, statistics, is_published), *tables(cells, everywhere)],
        "Ours against published, by column": standings(cells, statistics),
        "What differs in the conditions": conditions(is_published, everywhere, notes, protocols, computed),
        "Rules without an automaton": rules(cells),
        "What was found": pictures,
        "Accuracy by length": [text, *curves] if curves else [],
        "Newer results, under other protocols": [block for name in related for block in newer(published(name))],
        "Every cell in numbers": [numbers(cells)],
    }
    return tuple(Section(name, tuple(blocks)) for name, blocks in each.items() if blocks)


def tables(cells: Sequence[Values], everywhere: Sequence[int]) -> Iterator[Table]:
    """The table, in parts that fit side by side."""
    titles = list(dict.fromkeys(values["title"] for values in cells))
    rows = [(name, [*of_row]) for name, of_row in groupby(cells, key=lambda values: values["row"])]
    width = -(-len(titles) // -(-len(titles) // MAX_COLUMNS))
    for at in range(0, len(titles), width):
        shown = ((name, *(cell(values, everywhere) for values in row[at : at + width])) for name, row in rows)
        yield Table(("", *titles[at : at + width]), tuple(shown))


def reading(cells: Sequence[Values], statistics: Sequence[str], is_published_table: bool) -> str:
    """How to read an entry."""
    named, lines = " / ".join(statistics), []
    compared = any(map(is_published, cells))
    shown = {values["shows"]["what"] for values in cells}
    if is_percent(statistics):
        lines.append(
            f"In each cell, from above: published, ours, and the difference in percentage points ({named})."
            if compared
            else f"In each cell: {named} over its runs, in percent."
        )
        if "max" in statistics or is_published_table:
            lines.append("Maximum and mean are over the runs of the cell, seeds and learning rates together.")
        if "worst" in statistics:
            lines.append("Worst is the lowest at any length of any run.")
        if shown & {"seconds", "training"}:
            lines.append("Seconds are the mean wall time of a training, on a core that may have had other work.")
    else:
        lines.append("In each cell, one below the other: what was published, and what was found here.")
    if "proven" in shown:
        lines.append(
            "Proven is a run whose certificate the checker accepted when the runs were gathered, of the row's own "
            "language and in real arithmetic."
        )
    if any(values["shortcuts"] for values in cells):
        lines.append("Last: the best rule without an automaton, on words drawn the same way.")
    if compared and not all(map(is_published, cells)):
        lines.append("What has no published line was not published.")
    return " ".join(lines)


def is_percent(statistics: Sequence[str]) -> bool:
    """Whether the cells hold shares in percent."""
    return set(statistics) <= PERCENT


def standings(cells: Sequence[Values], statistics: Sequence[str]) -> list[Block]:
    """A row a column: in how many of its cells the published mean lies above, within or below our runs."""
    if not is_percent(statistics) or "mean" not in statistics:
        return []
    counted: dict[str, Counter[str]] = {}
    for values in cells:
        mean = values["published"]["mean"]
        if isinstance(mean, int | float):
            counted.setdefault(values["title"], Counter())[standing(values, mean)] += 1
    rows = tuple((title, *(str(counts[name]) for name in STANDINGS)) for title, counts in counted.items())
    return [BY_MEAN, Table(("ours, of so many cells", *STANDINGS), rows)] if rows else []


def conditions(
    is_published: bool,
    everywhere: Sequence[int],
    notes: Sequence[str],
    protocols: Sequence[str],
    computed: Sequence[str],
) -> list[Block]:
    """The notes, and what holds of every cell."""
    blocks: list[Block] = []
    if everywhere:
        which = "with a published value" if is_published else "that shows an accuracy"
        blocks.append(f"True of every cell {which}: {', '.join(map(str, everywhere))}. Others have their numbers.")
    if notes:
        blocks.append(Items(tuple(notes), numbered=True))
    if protocols:
        blocks += ["Protocols of the tests:", Items(tuple(protocols))]
    if is_published and computed:
        ours = f"Everywhere: computed by {'; '.join(computed)}"
        blocks.append(f"{ours}. The published code is other code, and its seeds are not ours.")
    return blocks


def rules(cells: Sequence[Values]) -> list[Block]:
    """What trivial rules score on the words of each score: a table for one answer a word, another for rows of them."""
    found: dict[tuple[str, ...], dict[tuple[str, str], dict[tuple[float, ...], Values]]] = {}
    for values in cells:
        if shortcuts := values["shortcuts"]:
            of_names = found.setdefault(tuple(shortcuts["scores"]), {})
            of_place = of_names.setdefault((values["row"], shortcuts["words"]), {})
            of_place.setdefault(tuple(shortcuts["scores"].values()), values)
    return [RULES, *(rule_table(names, places) for names, places in found.items())] if found else []


def rule_table(names: Sequence[str], places: Mapping[tuple[str, str], Mapping[tuple[float, ...], Values]]) -> Table:
    """A row for the words of a score, a column a rule."""
    # Words that are named alike may still be drawn otherwise in each column.
    rows = (
        (", ".join([row, *[values["title"]] * (len(alike) > 1), words]), *map(percent, scores))
        for (row, words), alike in places.items()
        for scores, values in alike.items()
    )
    return Table(("words", *names), tuple(rows), folded="All rules, in percent")


def newer(printed: Published) -> Iterator[Block]:
    """What others published since: no columns of the table, for their words, lengths and choices are others."""
    rows = tuple(
        (row.label, *(" ± ".join(map(str, row.values[c])) if c in row.values else "-" for c in printed.columns))
        for row in printed.rows
    )
    yield f"{source(printed)} {other_conditions(printed)}".strip()
    if printed.unit in TABLES:
        title = f"{' ± '.join(printed.statistics)}, {printed.unit}"
        yield Table(("", *printed.columns.values()), rows, folded=title)
    else:
        yield from (row.line for row in printed.rows)
    if printed.doubts:
        yield Items(tuple(doubted(printed)))


def doubted(printed: Published) -> Iterator[str]:
    """Why values of such a table are doubtful, and which."""
    labels = {row.row: row.label for row in printed.rows}
    for doubt in printed.doubts:
        which = [*(labels[row] for row in doubt.rows), *(printed.columns[column] for column in doubt.columns)]
        yield f"{', '.join(which) or 'All'}: {doubt.why}."


def other_conditions(printed: Published) -> str:
    """The conditions of a table of others, which are the same for all of its rows."""
    found = next(iter(printed.conditions.values()), {})
    if not found:
        return ""
    first = f"trained on lengths {found['data.train_from']}..{found['data.train_len']}"
    second = f"tested on {found['evaluation.test_from']}..{found['evaluation.test_len']}"
    return f"Other conditions: {first}, {second}, {found['seeds']} seeds, checkpoint: {found['checkpoint']}."


def source(printed: Published) -> str:
    """Where it was published."""
    work = printed.work
    place = f"{printed.printed}, section {printed.section}" if printed.section else printed.printed
    return f"Published: {place} of {work.author}, {work.title}, {work.where}, {work.year}."


def numbers(cells: Sequence[Values]) -> Table:
    """Every cell with all its statistics; the interval of the median only where a cell has one."""
    has_interval = any(values["group"] and values["group"]["low"] is not None for values in cells)
    names = ("max", "mean", "sd", "range", *[INTERVAL] * has_interval, BELOW)
    rows = tuple(number_row(values, names) for values in cells)
    header = ("cell", "runs", "done", *names, "steps", "training, s")
    return Table(header, rows, folded="Statistics over the runs of each cell")


def number_row(values: Values, names: Sequence[str]) -> tuple[str, ...]:
    """A row of that table: the statistics of these names, and a dash for what there is not."""
    group, trained = group_of(values), values["train_seconds"]
    known = figures(group, ACCURACY) if group else {}
    steps = "..".join(f"{n:,}" for n in dict.fromkeys(values["steps"] or ()))
    seconds = f"{trained:.1f}" if values["done"] and trained is not None else ""
    each = (*map(known.get, names), steps, seconds)
    place = f"{values['row']}, {values['title']}", str(values["runs"]), str(values["done"])
    return tuple(text or "–" for text in (*place, *each))


def heading(found: Comparison) -> str:
    """What is reproduced, as it is called in print; the title where that has no name, as a sentence of an abstract."""
    name = found.experiment.published or found.experiment.statements
    printed = published(name) if name else None
    return f"{printed.printed}, reproduced" if printed and printed.section else found.experiment.title


def lead(found: Comparison) -> Iterator[str]:
    """The first sentences: the source, and how much of it is here."""
    experiment = found.experiment
    if printed := experiment.published or experiment.statements:
        of = published(printed)
        yield source(of)
        if any(conditions.get("recipe") == ITS_OWN for conditions in of.conditions.values()):
            yield f"Conditions there: {of.conditions_from}."
    if experiment.statements:
        yield from dict.fromkeys(f"“{row.line}”" for row in published(experiment.statements).rows)
    runs, missing, failed = len(found.names), len(found.missing), len(found.failures)
    there = f"{runs - missing - failed} of {runs} runs are done"
    rest = [f"{failed} failed"] * bool(failed) + [f"{missing} missing"] * bool(missing)
    yield f"Scale {found.scale}: {', '.join([there, *rest])}."
    yield from hardly_trained(found.scale)
    if found.left_out:
        yield f"Not asked for yet: {', '.join(found.left_out)}."


def hardly_trained(scale: str) -> Iterator[str]:
    """What the smallest scale means."""
    if scale == "smoke":
        yield "At this scale the networks are hardly trained: it shows that everything runs, and nothing else."


def protocols(found: Comparison) -> list[str]:
    """The protocols that cells were tested under, in words."""
    tested = dict.fromkeys(test.tested for cell in found.all for test in cell.rows if test.is_done and test.tested)
    known = [PROTOCOLS[name] for name in tested if name in PROTOCOLS]
    told = [". ".join([f"{p.id}: {p.summary}", *(f"Unlike its source: {d}" for d in p.departures)]) for p in known]
    return list(dict.fromkeys([*told, *(found.earlier.parts["protocols"] if found.earlier else ())]))


def pictures(found: Comparison) -> list[tuple[Picture, Path]]:
    """The pictures of a figure's analysis, and where they lie."""
    return [
        (
            Picture(f"{cell.row}, {cell.column.title}", f"pictures/{plain(cell.row)}-{cell.column.name}.png", text),
            picture,
        )
        for cell in found.all
        if cell.found and (picture := cell.found[0].picture)
        for text in ["; ".join(cell.found[0].sentences)]
    ]


def curves(found: Comparison) -> list[Picture]:
    """Accuracy by length, a picture a row and a line a column, with a band over its runs."""
    rows = [(cells[0].row, lines(cells, curves_of(found.earlier, cells[0].row))) for cells in found.cells]
    return [Picture(row, f"curves/{plain(row)}.svg", worst(row, drawn), tuple(drawn)) for row, drawn in rows if drawn]


def lines(cells: Sequence[Compared], earlier: Mapping[str, Curve]) -> list[Curve]:
    """The lines of a row; columns that show the same runs share one."""
    drawn: dict[tuple[str, ...], Curve] = {}
    for one in cells:
        if one.shows == Shows() and one.done and not one.column.fails_at:
            drawn.setdefault(one.names, line_of(one, earlier.get(one.column.title)))
    return [line for line in drawn.values() if line.lengths]


def line_of(cell: Compared, earlier: Curve | None) -> Curve:
    """The line of a cell, with the runs of an `earlier` one."""
    if not cell.rows and earlier:
        return earlier
    line = results.curves(cell.rows, [])[0].line(cell.column.title)
    known = cell.before["done"] if cell.before else 0
    return mean_curve(line, cell.done - known, earlier, known) if earlier and known else line


def worst(row: str, found: Sequence[Curve]) -> str:
    """What a picture shows, in words."""
    low, high = min(line.lengths[0] for line in found), max(line.lengths[-1] for line in found)
    each = "; ".join(f"{line.name}: {percent(min(line.values))} % at worst" for line in found)
    return f"{row}, lengths {low} to {high}: {each}"
