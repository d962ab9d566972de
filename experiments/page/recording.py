"""From a comparison to the record of its page, and to the pictures beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.cells import Compared, Comparison
from experiments.experiment import Shows
from experiments.page.details import source
from experiments.page.record import Cell, Picture, Record
from experiments.published import published
from regulargpt import plots
from regulargpt.config.protocols import PROTOCOLS
from regulargpt.config.schema import value_of
from regulargpt.plots import Line
from regulargpt.results import curves as results
from regulargpt.runs.sweep.names import plain
from regulargpt.storage import atomic
from regulargpt.tables import percent


def record(
    found: Comparison,
    command: str,
    session_seconds: Sequence[float],
    environments: Iterable[tuple[Mapping[str, Any], int]],
) -> Record:
    """The page as values; `environments` are those that runs were made in, with how many."""
    experiment = found.experiment
    trained = {row.run: row.train_seconds or 0.0 for cell in found.all for row in cell.rows}
    return Record(
        experiment=experiment.name,
        scale=found.scale,
        heading=heading(found),
        title=experiment.title,
        lead=tuple(lead(found)),
        statistics=found.statistics,
        is_published=experiment.published is not None,
        cells=tuple(cell(one, found.statistics) for one in found.all),
        notes=found.notes,
        everywhere=found.everywhere,
        protocols=tuple(protocols(found)),
        pictures=tuple(picture for picture, _ in pictures(found)),
        curves=tuple(picture for picture, _ in curves(found)),
        related=experiment.related,
        left_out=found.left_out,
        failed=tuple({"run": name, "reason": reason} for name, reason in sorted(found.failures.items())),
        missing=tuple(found.missing),
        command=command,
        session_seconds=tuple(session_seconds),
        train_seconds=round(sum(trained.values()), 3),
        environments=tuple({**known, "runs": count} for known, count in environments),
    )


def cell(found: Compared, statistics: tuple[str, ...]) -> Cell:
    """One cell as values."""
    seconds = [row.train_seconds for row in found.rows if row.is_done]
    return Cell(
        row=found.row,
        column=found.column.name,
        title=found.column.title,
        shows=found.shows,
        levels=levels(found),
        published=dict(zip(statistics, found.published, strict=True)),
        ours=dict(zip(statistics, found.ours, strict=True)),
        difference={s: None if d is None else round(d, 6) for s, d in zip(statistics, found.differences, strict=True)},
        runs=len(found.names),
        done=found.done,
        missing=len(found.missing),
        group=found.group,
        steps=found.steps,
        train_seconds=None if None in seconds else round(found.seconds, 3),
        shortcuts=found.shortcuts,
        found=(*(sentence for finding in found.found for sentence in finding.sentences), *failing(found)),
        notes=found.notes,
    )


def failing(found: Compared) -> Iterator[str]:
    """Where a run first fails, in a column that says so."""
    if found.column.fails_at and found.group and found.group.scores:
        first = found.group.first_below_99
        yield f"below 99 % at {first}" if first else "never below 99 %"


def levels(found: Compared) -> int | None:
    """How many levels a word has, where a cell shows that."""
    if found.shows.what != "depth" or not found.configs:
        return None
    from regulargpt.models.tree.depth import depth

    assert found.shows.length is not None
    return depth(found.shows.length, value_of(found.configs[0], "model.chunk_size"))


def heading(found: Comparison) -> str:
    """What is reproduced, as it is called in print; the title where that has no name, as a sentence of an abstract."""
    name = found.experiment.published or found.experiment.statements
    printed = published(name) if name else None
    return f"{printed.printed}, reproduced" if printed and printed.section else found.experiment.title


def lead(found: Comparison) -> list[str]:
    """The first sentences: the source, and how much of it is here."""
    experiment = found.experiment
    printed = experiment.published or experiment.statements
    lines = [source(published(printed))] if printed else []
    if experiment.statements:
        lines += dict.fromkeys(f"“{row.line}”" for row in published(experiment.statements).rows)
    runs, missing, failed = len(found.names), len(found.missing), len(found.failures)
    there = f"{runs - missing - failed} of {runs} runs are done"
    rest = [f"{failed} failed"] * bool(failed) + [f"{missing} missing"] * bool(missing)
    lines.append(f"Scale {found.scale}: {', '.join([there, *rest])}.")
    if found.scale == "smoke":
        lines.append("At this scale the networks are hardly trained: it shows that everything runs, and nothing else.")
    if found.left_out:
        lines.append(f"Not asked for yet: {', '.join(found.left_out)}.")
    return lines


def protocols(found: Comparison) -> list[str]:
    """The protocols that cells were tested under, in words."""
    tested = dict.fromkeys(test.tested for cell in found.all for test in cell.rows if test.is_done and test.tested)
    known = [PROTOCOLS[name] for name in tested if name in PROTOCOLS]
    return [". ".join([f"{p.id}: {p.summary}", *(f"Unlike its source: {d}" for d in p.departures)]) for p in known]


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


def curves(found: Comparison) -> list[tuple[Picture, list[Line]]]:
    """Accuracy by length, a picture a row and a line a column, with a band over its runs."""
    rows = [(cells[0].row, lines(cells)) for cells in found.cells]
    return [(Picture(row, f"curves/{plain(row)}.svg", worst(row, drawn)), drawn) for row, drawn in rows if drawn]


def lines(cells: Sequence[Compared]) -> list[Line]:
    """The lines of a row; columns that show the same runs share one."""
    drawn: dict[tuple[str, ...], Line] = {}
    for cell in cells:
        if cell.shows == Shows() and cell.done and not cell.column.fails_at:
            drawn.setdefault(cell.names, results.curves(cell.rows, [])[0].line(cell.column.title))
    return [line for line in drawn.values() if line.lengths]


def worst(row: str, found: Sequence[Line]) -> str:
    """What a picture shows, in words."""
    low, high = min(line.lengths[0] for line in found), max(line.lengths[-1] for line in found)
    each = "; ".join(f"{line.name}: {percent(min(line.values))} % at worst" for line in found)
    return f"{row}, lengths {low} to {high}: {each}"


def draw(found: Comparison, place: Path) -> None:
    """Write the pictures of the page into its folder."""
    for picture, source_file in pictures(found):
        atomic.make_folder((place / picture.file).parent)
        atomic.write_bytes(place / picture.file, atomic.read_bytes(source_file))
    for picture, drawn in curves(found):
        atomic.make_folder((place / picture.file).parent)
        plots.save(place / picture.file, plots.single(drawn, results.ACCURACY))
