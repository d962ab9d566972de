"""From a comparison to the record of its page, and its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.cells import Compared, Comparison
from experiments.page.curves import picture
from experiments.page.details import source
from experiments.page.document import Picture
from experiments.page.record import Cell, Record, Shown
from experiments.published import published
from regulargpt.protocols import PROTOCOLS
from regulargpt.storage import atomic
from regulargpt.sweep.names import plain


@dataclass(frozen=True)
class Made:
    """How the runs were made: the command, seconds of each sitting, and environments with how many runs each made."""

    command: str
    sittings: tuple[float, ...]
    environments: tuple[tuple[Mapping[str, Any], int], ...]


def record(found: Comparison, made: Made) -> tuple[Record, list[Picture]]:
    """The page as values, and the pictures that lie beside it."""
    experiment = found.experiment
    seen, drawn = looks(found), [drawing for row in found.cells if (drawing := picture(row)) is not None]
    trained = {row.run: row.train_seconds or 0.0 for cell in found.all for row in cell.rows}
    values = Record(
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
        looks=tuple(map(shown, seen)),
        curves=tuple(map(shown, drawn)),
        related=experiment.related,
        left_out=found.left_out,
        failed=tuple({"run": name, "reason": reason} for name, reason in sorted(found.failures.items())),
        missing=tuple(found.missing),
        command=made.command,
        seconds=made.sittings,
        train_seconds=round(sum(trained.values()), 3),
        environments=tuple({**known, "runs": count} for known, count in made.environments),
    )
    return values, [*seen, *drawn]


def cell(found: Compared, statistics: tuple[str, ...]) -> Cell:
    """One cell as values."""
    group, panel = found.group, found.panel
    seconds = [row.train_seconds for row in found.rows if row.is_done]
    return Cell(
        row=found.row,
        column=found.column.name,
        title=found.column.title,
        shows=found.shows.what,
        tested=found.shows.tested,
        length=found.shows.length,
        levels=levels(found),
        published=dict(zip(statistics, found.published, strict=True)),
        ours=dict(zip(statistics, found.ours, strict=True)),
        difference=dict(zip(statistics, found.differences, strict=True)),
        runs=len(found.names),
        done=found.done,
        failed=len(found.failed),
        missing=len(found.missing),
        proven=group.n_proven if group and group.n_asked else None,
        scores=group.scores if group else (),
        **{name: getattr(group, name, None) for name in ("max", "mean", "sd", "min", "low", "high", "first_below_99")},
        steps=found.steps,
        train_seconds=None if None in seconds else round(found.seconds, 3),
        words=panel.words if panel else "",
        shortcuts=dict(panel.scores) if panel else None,
        found=tuple(sentence for finding in found.found for sentence in finding.sentences),
        notes=found.notes,
    )


def levels(found: Compared) -> int | None:
    """How many levels a word has, where a cell shows that."""
    if found.shows.what != "depth" or not found.configs:
        return None
    from regulargpt.models.regulargpt.depth import depth

    assert found.shows.length is not None
    return depth(found.shows.length, found.configs[0].model.chunk_size)


def heading(found: Comparison) -> str:
    """What is reproduced, as it is called in print."""
    printed = found.experiment.published or found.experiment.statements
    return f"{published(printed).printed}, reproduced" if printed else found.experiment.title


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


def looks(found: Comparison) -> list[Picture]:
    """The pictures of a figure's analysis."""
    return [
        Picture(
            f"{cell.row}, {cell.column.title}",
            f"pictures/{plain(cell.row)}-{cell.column.name}.png",
            atomic.read_bytes(cell.found[0].picture),
            "; ".join(cell.found[0].sentences),
        )
        for cell in found.all
        if cell.found and cell.found[0].picture
    ]


def shown(found: Picture) -> Shown:
    """The picture without what is drawn."""
    return Shown(found.title, found.file, found.text)
