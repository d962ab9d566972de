"""Every cell of an experiment: what was published, what its runs came to here, and what differs in the conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType

from experiments.cells import STATISTICS, Compared, Comparison, has_conditions
from experiments.conditions import differences, words_and_supervision
from experiments.experiment import Analysis, Column, Experiment, Scale, Shows
from experiments.published import Published, published
from regulargpt.config.schema import RunConfig
from regulargpt.results.beside import family
from regulargpt.results.row import Row
from regulargpt.results.statistics import groups
from regulargpt.runs.sweep.names import name_of


def compare(
    experiment: Experiment,
    scale: Scale,
    table: Sequence[Row],
    requested: Set[str],
    findings: Mapping[str, Analysis] = MappingProxyType({}),
) -> Comparison:
    """The experiment's cells from the rows of a folder (`regulargpt.results.rows`), for a figure with its findings.

    `requested` are the names of the sweep's runs: a row of the experiment with none of them is left out.
    """
    printed = published(experiment.published) if experiment.published else None
    by_run: dict[str, list[Row]] = {}
    for row in table:
        by_run.setdefault(row.run, []).append(row)
    notes: dict[str, int] = {}
    shown: list[tuple[Compared, ...]] = []
    left_out: list[str] = []
    for name in experiment.rows:
        runs = {column.runs: experiment.configs(name, column.runs, scale) for column in experiment.columns}
        if not {name_of(config) for configs in runs.values() for config in configs} & requested:
            left_out.append(name)
            continue
        cells = [cell_of(experiment, name, column, runs[column.runs], printed, by_run) for column in experiment.columns]
        if experiment.analyse:
            cells = [with_finding(cell, findings) for cell in cells]
        shown.append(tuple(with_notes(cell, experiment, notes) for cell in cells))
    if not (experiment.published or experiment.conditions):
        shown = among_ours(shown, experiment, notes)
    statistics = statistics_of(experiment, printed)
    return Comparison(experiment, scale, statistics, tuple(shown), tuple(left_out), tuple(notes))


def statistics_of(experiment: Experiment, printed: Published | None) -> tuple[str, ...]:
    """The statistics of the experiment, of the published table, or the usual ones."""
    return experiment.statistics or (printed.statistics if printed else STATISTICS)


def cell_of(
    experiment: Experiment,
    row: str,
    column: Column,
    configs: Sequence[RunConfig],
    printed: Published | None,
    by_run: Mapping[str, Sequence[Row]],
) -> Compared:
    """One cell, without its notes."""
    names = tuple(name_of(config) for config in configs)
    shows, statistics = experiment.shows(row, column), statistics_of(experiment, printed)
    tests = [test for name in names for test in by_run.get(name, ()) if is_shown(test, shows)]
    group = groups(tests, [])[0] if tests else None
    return Compared(
        row,
        column,
        shows,
        tuple(configs),
        names,
        tuple(printed.value(row, column.published, s) if printed and column.published else None for s in statistics),
        tuple(getattr(group, s, None) if group else None for s in statistics),
        tuple(tests),
        group,
        tuple(name for name in names if name not in by_run),
    )


def is_shown(test: Row, shows: Shows) -> bool:
    """Whether a row of the table is a test that the cell shows. A failed run is one of every cell."""
    if not test.is_done:
        return True
    if test.tested != (shows.tested or test.get("protocol") or ""):
        return False
    return test.length == shows.length if shows.what == "accuracy" and shows.length else bool(test.in_score)


def with_finding(cell: Compared, findings: Mapping[str, Analysis]) -> Compared:
    """The cell of a figure: what was found in the first of its runs stands for it."""
    found = tuple(findings[name] for name in cell.names if name in findings)
    return replace(cell, found=found, ours=(found[0].value if found else None,))


def with_notes(cell: Compared, experiment: Experiment, notes: dict[str, int]) -> Compared:
    """The cell with the numbers of its notes; new ones are added to `notes`."""
    table = experiment.published or experiment.conditions
    if table is None or not has_conditions(cell, experiment):
        return cell
    row = cell.row if experiment.published else cell.row.partition("/")[0]
    phrases = differences(cell.configs, published(table).conditions_of(row), cell.shows.length)
    return replace(cell, notes=tuple(sorted(notes.setdefault(phrase, len(notes) + 1) for phrase in phrases)))


def among_ours(
    rows: Sequence[tuple[Compared, ...]], experiment: Experiment, notes: dict[str, int]
) -> list[tuple[Compared, ...]]:
    """The cells with notes on words and supervision, where cells of one language differ in them."""
    of_language: dict[str, list[set[str]]] = {}
    for cell in (cell for row in rows for cell in row if has_conditions(cell, experiment)):
        phrases = set(words_and_supervision(cell.configs))
        of_language.setdefault(family(cell.configs[0].data.name), []).append(phrases)
    common = {language: set.intersection(*phrases) for language, phrases in of_language.items()}

    def noted(cell: Compared) -> Compared:
        if not has_conditions(cell, experiment):
            return cell
        alike = common[family(cell.configs[0].data.name)]
        phrases = [phrase for phrase in words_and_supervision(cell.configs) if phrase not in alike]
        return replace(cell, notes=tuple(sorted(notes.setdefault(phrase, len(notes) + 1) for phrase in phrases)))

    return [tuple(map(noted, row)) for row in rows]
