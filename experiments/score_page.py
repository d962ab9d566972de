"""The page of a table of scores, made of its runs.csv and claims.csv."""

from __future__ import annotations

import csv
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from experiments import recorded
from experiments.cells import cell, cells_in, group_of
from experiments.claims import Printed
from experiments.experiment import Experiment, Scale
from experiments.page.record import Block, ClaimVerdict, ItemList, Page, PagePicture, PageTable, Section, Values
from experiments.published import Published, hardly_trained, published, source
from experiments.recorded import DONE, FAILED, RecordedRun
from experiments.registry import EXPERIMENTS, recorded_as
from experiments.score_claims import JUDGED, PageScores
from regulargpt import tables
from regulargpt.plots import Line as Curve
from regulargpt.results.render import ACCURACY, BELOW, INTERVAL, figures
from regulargpt.runs.sweep.names import plain
from regulargpt.storage import atomic
from regulargpt.tables import percent

CLAIMS = "claims.csv"
# Columns side by side: more are another table below.
MAX_COLUMNS = 5
# Units of a table that has columns; a sentence of an abstract has none.
TABLES = ("percent", "scaled accuracy", "scaled accuracy in percent")
CELL = "In each cell, from above: published, ours ({}), ours minus published, the best rule without an automaton."
CLAIM = ("sentence", "source", "rules", "figure", "published", "answer", "seeds", "steps", "why")


def page_in(place: Path) -> Page:
    """The page of a folder with runs.csv, whose name says of which experiment and scale."""
    experiment, scale = recorded_as(place.name)
    runs, cells = recorded.read(place / recorded.FILE), cells_in(place)
    return Page(
        experiment=experiment.name,
        scale=scale,
        heading=heading(experiment),
        lead=(*lead(experiment), *counted(scale, runs), *hardly_trained(scale)),
        claims=tuple(claims_in(place)),
        judged=JUDGED if experiment.claims else "",
        sections=tuple(sections(experiment, cells, place)),
        failed=tuple({"run": named(run), "reason": run.note} for run in runs if run.state == FAILED),
        missing=tuple(named(run) for run in runs if run.is_open),
        command=f"regulargpt reproduce {experiment.name} --scale {scale}",
        train_seconds=round(sum(run.train_seconds or 0.0 for run in runs), 3),
        remarks=tuple(environments(runs)),
        layout="scores",
    )


def heading(experiment: Experiment) -> str:
    """What is reproduced, as it is called in print; the title where that has no name, as a sentence of an abstract."""
    name = experiment.published or experiment.statements
    printed = published(name) if name else None
    return f"{printed.printed}, reproduced" if printed and printed.section else experiment.title


def lead(experiment: Experiment) -> Iterator[str]:
    """What the experiment is, where its numbers were published, and under which conditions."""
    said = inspect.cleandoc(import_module(EXPERIMENTS[experiment.name]).__doc__ or "")
    yield from (" ".join(part.split()) for part in said.split("\n\n"))
    for name in filter(None, (experiment.published, experiment.statements)):
        yield f"{source(published(name))} {conditions(published(name))}".strip()
    if experiment.statements:
        yield from dict.fromkeys(f"“{row.line}”" for row in published(experiment.statements).rows)


def conditions(printed: Published) -> str:
    """What was published of how the rows were measured."""
    stated = {f"{key} {value}" for of in printed.conditions.values() for key, value in of.items()}
    return f"Conditions there: {'; '.join(sorted(stated))}." if stated else ""


def counted(scale: Scale, runs: Sequence[RecordedRun]) -> Iterator[str]:
    """How many runs are done."""
    count = Counter[str]()
    for run in runs:
        count["missing" if run.is_open else run.state] += run.n
    rest = [f"{count[state]} {state}" for state in (FAILED, "missing") if count[state]]
    yield f"Scale {scale}: {', '.join([f'{count[DONE]} of {count.total()} runs are done', *rest])}."


def named(run: RecordedRun) -> str:
    """A run by its name, or by its place."""
    return " ".join(run.names) or f"{run.n} of {', '.join(run.rows)}, {run.runs}"


def sections(experiment: Experiment, cells: Sequence[Values], place: Path) -> Iterator[Section]:
    """The table, rules without an automaton, pictures, curves, newer tables, and all statistics."""
    statistics = " / ".join(cells[0]["ours"]) if cells else ""
    runs, rules = recorded.read(place / recorded.FILE), recorded.read_rules(place / recorded.RULES)
    drawn = {row for run in runs if run.is_drawn for row in run.rows}
    printed = published(experiment.published) if experiment.published else None
    doubts = [ItemList(tuple(doubted(printed)))] if printed and printed.doubts else []
    notes = tuple(dict.fromkeys(run.note for run in runs if run.note and run.state == DONE))
    each: dict[str, Sequence[Block]] = {
        experiment.title: [CELL.format(statistics), *score_tables(cells), *doubts],
        "Rules without an automaton": list(rule_tables(rules)),
        "What was found": list(pictures(cells, place)),
        "Accuracy by length": curves(cells, drawn),
        "Newer results, under other protocols": [
            block for name in experiment.related for block in newer(published(name))
        ],
        "Every cell in numbers": [numbers(cells)],
        "Notes on runs": [ItemList(notes, folded="Conditions, and how runs were made")] if notes else [],
    }
    yield from (Section(title, tuple(blocks)) for title, blocks in each.items() if blocks)


def score_tables(cells: Sequence[Values]) -> Iterator[PageTable]:
    """The table, in parts that fit side by side."""
    titles = list(dict.fromkeys(values["title"] for values in cells))
    rows = [(name, [*of_row]) for name, of_row in groupby(cells, key=lambda values: values["row"])]
    width = -(-len(titles) // -(-len(titles) // MAX_COLUMNS))
    for at in range(0, len(titles), width):
        yield PageTable(
            ("", *titles[at : at + width]), tuple((name, *map(cell, row[at : at + width])) for name, row in rows)
        )


def rule_tables(rules: Sequence[recorded.Rules]) -> Iterator[PageTable]:
    """A table for each set of rules."""
    for names in dict.fromkeys(tuple(rule.scores) for rule in rules):
        of_names = [rule for rule in rules if tuple(rule.scores) == names]
        lines = ((", ".join([*r.rows, *r.runs, r.words]), *map(percent, r.scores.values())) for r in of_names)
        yield PageTable(("words", *names), tuple(lines), folded="All rules, in percent")


def pictures(cells: Sequence[Values], place: Path) -> Iterator[PagePicture]:
    """The pictures of a figure's analysis that lie beside the runs."""
    for values in cells:
        file = picture_of(values["row"], values["column"])
        if (place / file).exists():
            yield PagePicture(f"{values['row']}, {values['title']}", file, "; ".join(values["found"]))


def picture_of(row: str, column: str) -> str:
    """The file of the picture of a cell."""
    return f"pictures/{plain(row)}-{column}.png"


def curves(cells: Sequence[Values], drawn: set[str]) -> list[PagePicture]:
    """Accuracy by length, a picture a row and a line a column; columns that show the same runs share a line."""
    pictures: list[PagePicture] = []
    for row, of_row in groupby(cells, key=lambda values: values["row"]):
        known: dict[str, Curve] = {}
        for values in of_row:
            if values["curve"]:
                known.setdefault(values["behind"], values["curve"])
        if known:
            text = worst(row, list(known.values()))
            pictures.append(
                PagePicture(row, f"curves/{plain(row)}.svg", text, tuple(known.values()), from_drawing=row in drawn)
            )
    return pictures


def worst(row: str, lines: Sequence[Curve]) -> str:
    """What a picture shows, in words."""
    low, high = min(line.lengths[0] for line in lines), max(line.lengths[-1] for line in lines)
    each = "; ".join(f"{line.name}: {percent(min(line.values))} % at worst" for line in lines)
    return f"{row}, lengths {low} to {high}: {each}"


def newer(printed: Published) -> Iterator[Block]:
    """What others published since: no columns of the table, for their words, lengths and choices are others."""
    rows = tuple(
        (row.label, *(" ± ".join(map(str, row.values[c])) if c in row.values else "-" for c in printed.columns))
        for row in printed.rows
    )
    yield f"{source(printed)} {conditions(printed)}".strip()
    if printed.unit in TABLES:
        title = f"{' ± '.join(printed.statistics)}, {printed.unit}"
        yield PageTable(("", *printed.columns.values()), rows, folded=title)
    else:
        yield from (row.line for row in printed.rows)
    if printed.doubts:
        yield ItemList(tuple(doubted(printed)))


def doubted(printed: Published) -> Iterator[str]:
    """Why values of such a table are doubtful, and which."""
    labels = {row.row: row.label for row in printed.rows}
    for doubt in printed.doubts:
        which = [*(labels[row] for row in doubt.rows), *(printed.columns[column] for column in doubt.columns)]
        yield f"{', '.join(which) or 'All'}: {doubt.why}."


def numbers(cells: Sequence[Values]) -> PageTable:
    """Every cell with all its statistics; the interval of the median only where a cell has an interval."""
    has_interval = any(values["group"] and values["group"]["low"] is not None for values in cells)
    names = ("max", "mean", "sd", "range", *[INTERVAL] * has_interval, BELOW)
    header = ("cell", "runs", "done", *names, "steps", "training, s")
    rows = tuple(number_row(values, names) for values in cells)
    return PageTable(header, rows, folded="Statistics over the runs of each cell")


def number_row(values: Values, names: Sequence[str]) -> tuple[str, ...]:
    """A row of that table: the statistics of these names, and a dash for what there is not."""
    group, trained = group_of(values), values["train_seconds"]
    known: Mapping[str, str] = figures(group, ACCURACY) if group else {}
    steps = "..".join(f"{n:,}" for n in dict.fromkeys(values["steps"] or ()))
    seconds = f"{trained:.1f}" if values["done"] and trained is not None else ""
    each = (*map(known.get, names), steps, seconds)
    place = f"{values['row']}, {values['title']}", str(values["runs"]), str(values["done"])
    return tuple(text or "–" for text in (*place, *each))


def environments(runs: Sequence[RecordedRun]) -> Iterator[str]:
    """Versions and machines, with how many runs."""
    count = Counter[tuple[str, str, str]]()
    for run in runs:
        count[run.commit, run.torch, run.device] += run.n if run.state == DONE else 0
    for (commit, torch, device), n in count.most_common():
        if n and commit:
            yield f"Commit {commit}, PyTorch {torch}, {device}: {n} runs."


def verdicts(experiment: Experiment, scale: str, cells: Sequence[Values]) -> Iterator[ClaimVerdict]:
    """What the cells of a page say of each claim."""
    too_small = "hardly trained at this scale" if scale == "smoke" else ""
    printed = published(experiment.published) if experiment.published else None
    for claim in experiment.claims:
        figures = (test.printed(best(printed)) for test in claim.bounds) if printed else ()
        text = "; ".join(f"{figure:g}" for figure in figures if figure is not None)
        yield claim.verdict(cast(Any, PageScores.from_cells(cells)), text, too_small)


def best(printed: Published) -> Printed:
    """The published score by `row/column`, the best where there are several statistics."""

    def value(place: str, multiple: int) -> float | None:
        row, column = place.rsplit("/", 1)
        mean = printed.value(row, column, printed.statistics[0])
        return mean if isinstance(mean, int | float) else None

    return value


def write_claims(place: Path, verdicts: Sequence[ClaimVerdict]) -> None:
    """Write claims.csv; nothing where an experiment has none."""
    lines = ([*(getattr(claim, key) for key in CLAIM[:2]), " | ".join(claim.rules)] for claim in verdicts)
    rest = ([getattr(claim, key) for key in CLAIM[3:]] for claim in verdicts)
    if verdicts:
        atomic.write_text(place / CLAIMS, tables.csv([CLAIM, *map(list.__add__, lines, rest)]))


def claims_in(place: Path) -> Iterator[ClaimVerdict]:
    """The lines of claims.csv."""
    if (place / CLAIMS).exists():
        text = atomic.parse_text(atomic.read_bytes(place / CLAIMS), place / CLAIMS)
        for line in csv.DictReader(text.splitlines()):
            numbers = {key: int(line.pop(key)) for key in ("seeds", "steps")}
            yield ClaimVerdict(**{**line, **numbers, "rules": tuple(line.pop("rules").split(" | "))})  # type: ignore
