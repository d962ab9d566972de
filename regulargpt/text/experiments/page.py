"""The page of a text table: the claims, then every row by length, conditions, curves, and every row in numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np

from experiments.claims import FEW_STEPS, RULE, Bound, number, quotient
from experiments.experiment import Scale
from experiments.page.layout import laid_out
from experiments.page.record import Block, Cell, CellLine, ItemList, Page, PagePicture, PageTable, Section, Values
from experiments.published import hardly_trained, source
from regulargpt.config.schema import value_of
from regulargpt.evaluation.interval import FILES, SEGMENTS, WORDS, Interval
from regulargpt.objectives.measures import exp
from regulargpt.plots import Line as Curve
from regulargpt.text.experiments.results import LOSSES, Unknown
from regulargpt.text.experiments.runs import TableRuns
from regulargpt.text.experiments.table import PublishedSource, TextTable

MEASURE = "bits_per_byte"
# More lines are too many for one picture.
MOST_LINES = 12
# What published conditions are called on the page, and the key of ours.
CONDITIONS = {
    "data": ("data", "data.name"),
    "parameters": ("parameters", ""),
    "model.n_layers": ("layers", "model.n_layers"),
    "model.d_model": ("width", "model.d_model"),
    "model.n_heads": ("heads", "model.n_heads"),
    "data.train_len": ("training length", "data.train_len"),
    "training.batch_size": ("segments a step", "training.batch_size"),
    "training.steps": ("steps", "training.steps"),
    "training.lr": ("learning rate", "training.lr"),
    "training.optimiser": ("optimiser", "training.optimiser"),
    "precision": ("precision", ""),
    "seeds": ("seeds", ""),
    "objective.protocol": ("symbols that count", "data.scoring"),
    "evaluation.attention": ("attention in the test", ""),
}
SCORINGS = {
    "last": "the last symbol of each test segment",
    "last_k": "the last symbols of each test segment, the same ones at every length",
    "nonoverlapping": "all symbols of test segments that lie side by side",
    "sliding": "the last symbols of windows a step apart",
    "by-position": "the symbols up to that position of the longest segments, from a factor of about 1.4 before it on",
}
# By what intervals are over, beside seeds.
INTERVALS = {
    FILES: "Figures are paired by seed and segment. Intervals are over seeds and over the files of the text, from "
    "three seeds on. Of fewer they are over files alone, hold the interval of each network, and the claim is about "
    "just these networks.",
    SEGMENTS: "The losses of single segments were not kept. So intervals are over segments of one network each, not "
    "clustered by file: they are up to 1.8 times narrower than they should be. Of several seeds they go from the "
    "lowest end to the highest. All claims here are about just these networks.",
    "": "The figures are exact, of just these networks.",
    WORDS: "Intervals are over words of one network each. Of several seeds they go from the lowest end to the highest. "
    "All claims here are about just these networks.",
}


BELOW = (
    "Below it: what was published, of other text and models hundreds of times as large. The two cannot be subtracted."
)


def text_page(runs: TableRuns, scale: Scale, made: Mapping[str, Any]) -> Page:
    """The page of the runs of a table; `made` says how it was made."""
    table, results, failed = runs.table, runs.results, runs.failed
    has_losses = LOSSES if results.losses else ""
    too_small = "hardly trained at this scale" if scale == "smoke" else ""
    facts = {
        **{"scoring": table.test.name, "measure": table.shown, "axis": table.axis, "train_len": results.train_len},
        **{"over": FILES, "losses": has_losses},
        "unlearned": [{"run": name, "value": value} for name, value in runs.unlearned.items()],
    }
    parts = {
        "title": table.title,
        "cells": [values for row in runs.configs for values in cells(row, runs)],
        "models": [model(row, runs) for row in runs.configs],
        "conditions": list(conditions(runs)),
        "doubts": list(doubts(table)),
        "notes": table.remarks,
        "curves": curves(runs),
    }
    return laid_out(
        "texts",
        facts,
        parts,
        experiment=table.name,
        scale=scale,
        heading=heading(table),
        lead=tuple(lead(runs, scale)),
        claims=tuple(claim.verdict(results, printed_figures(claim.bounds, table), too_small) for claim in table.claims),
        judged=judged(FILES, has_losses),
        left_out=runs.left_out,
        failed=tuple({"run": name, "reason": reason} for name, reason in failed.items()),
        missing=tuple(name for name in runs.names if name not in runs.summaries and name not in failed),
        train_seconds=round(sum(summary["train_seconds"] for summary in runs.summaries.values()), 3),
        **made,
    )


def judged(over: str, losses: str) -> str:
    """What a verdict means, and what it can be computed from."""
    again = f"The loss of each segment is in {losses}, from which these verdicts follow."
    return " ".join([RULE, FEW_STEPS, INTERVALS[over], *[again] * bool(losses)])


def sections(
    facts: Values,
    *,
    title: str,
    cells: Sequence[Values],
    models: Sequence[Values],
    conditions: Sequence[Sequence[str]],
    doubts: Sequence[str],
    notes: Sequence[str],
    curves: Sequence[PagePicture],
) -> tuple[Section, ...]:
    """The sections of a page of these cells and models."""
    scoring, measure, axis, train_len = (facts[key] for key in ("scoring", "measure", "axis", "train_len"))
    beyond = "What a network has not learned at its training length it cannot lose beyond it."
    few = tuple(f"{run['run']}: {run['value']:.4g} % at the training length" for run in facts["unlearned"])
    each = {
        title: lengths(cells, scoring, measure, axis, train_len, doubts),
        "Conditions": [
            PageTable(("", "as published", "here"), tuple(map(tuple, conditions))),
            *[ItemList(tuple(notes))] * bool(notes),
        ],
        f"By {axis}": curves,
        "Every row in numbers": [numbers(cells, models, measure, axis)],
        "Runs that learned too little to count": [beyond, ItemList(few)] if few else [],
    }
    return tuple(Section(name, tuple(blocks)) for name, blocks in each.items() if blocks)


def lengths(
    cells: Sequence[Values], scoring: str, measure: str, axis: str, train_len: int, doubts: Sequence[str]
) -> Iterator[Block]:
    """A row a model, a column a length."""
    columns = dict.fromkeys((values["multiple"], values["length"]) for values in cells)
    header = ("", *(f"{multiple}x ({length:,})" for multiple, length in columns))
    rows = [[*of_row] for _, of_row in groupby(cells, key=lambda values: values["row"])]
    what = measure or "bits per byte, and the perplexity over that of the first column"
    printed = [printed_value for values in cells for printed_value in values["published"]]
    text = [f"In each cell: our {what}.", *[BELOW] * bool(printed)]
    if not measure:
        text.append(f"Ours are of {SCORINGS.get(scoring, scoring)}.")
    yield " ".join([*text, f"Columns are by {axis}: 1x is the training length, {train_len} symbols."])
    yield PageTable(header, tuple((row[0]["title"], *map(cell, row)) for row in rows))
    if any(value["mark"] or value["doubt"] for value in printed):
        yield "† and * are the published signs of significance; ? is a doubtful value."
    if doubts:
        yield "Doubtful values:"
        yield ItemList(tuple(doubts))


def cell(values: Values) -> Cell:
    """Ours, then the published values."""
    lines, bits, ratio = (
        [CellLine(published_text(value)) for value in values["published"]],
        values["bits"],
        values["ratio"],
    )
    if values["measure"]:
        lines.insert(0, CellLine(number(values["measure"]["value"]), "ours"))
    elif bits:
        times = f" (×{number(ratio['value'])})" if ratio else ""
        lines.insert(0, CellLine(f"{bits['value']:.3f}{times}", "ours"))
    return Cell(tuple(lines) or (CellLine("–", "state"),), values=values)


def published_text(printed: Values) -> str:
    """A published value.

    >>> published_text({"data": "ArXiv", "value": 5.58, "sd": 0.4, "mark": "†", "ratio": 1.0629, "doubt": ""})
    'ArXiv 5.58 ± 0.4† (×1.06)'
    """
    value, sd, ratio = printed["value"], printed["sd"], printed["ratio"]
    deviation = f" ± {sd:g}" if sd is not None else ""
    times = f" (×{ratio:.3g})" if ratio is not None else ""
    doubt = "?" * bool(printed["doubt"])
    return f"{printed['data'] or 'published'} {value:g}{deviation}{printed['mark']}{doubt}{times}"


def numbers(cells: Sequence[Values], models: Sequence[Values], measure: str, axis: str) -> PageTable:
    """A row a model: its runs, and its intervals at every length."""
    has_losses = any(values["bits"] for values in cells) or not measure
    what = f"{'loss in bits per byte' if has_losses else measure} [95 %] by {axis}"
    header = ("row", "attention", "seeds done", "trained on", "training, s", what)
    rows = []
    for of_row in models:
        shown = "bits" if has_losses else "measure"
        ours = [(values["length"], values[shown]) for values in cells if values["row"] == of_row["row"]]
        trained = f"{of_row['tokens']:,} symbols in segments of {of_row['train_len']:,}"
        done = f"{of_row['done']} of {of_row['runs']}"
        done += f", {of_row['unlearned']} learned too little" * bool(of_row["unlearned"])
        known = "; ".join(filter(None, (of_row["problem"], by_length(ours)))) or "–"
        first = Cell((CellLine(of_row["title"]),), values=of_row)
        rows.append((first, of_row["attention"], done, trained, f"{of_row['train_seconds']:.0f}", known))
    return PageTable(header, tuple(rows), folded="Runs, symbols trained on, and intervals")


def by_length(by_length_values: Iterable[tuple[int, Values | None]]) -> str:
    """Each length with what was measured there."""
    return "; ".join(
        f"{n:,}: {value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
        for n, value in by_length_values
        if value
    )


def heading(table: TextTable) -> str:
    """Where it was published, or what it is."""
    if not table.sources:
        return table.title
    return f"{table.sources[0].table.printed}{' of LEX' * table.name.startswith('lex')}, on small models"


def lead(runs: TableRuns, scale: Scale) -> Iterator[str]:
    """The source, what this page is about, and how much of it is here."""
    yield from (source(origin.table) for origin in runs.table.sources)
    yield runs.table.about
    yield f"Scale {scale}: {len(runs.summaries)} of {len(runs.names)} runs are done."
    yield from hardly_trained(scale)
    if runs.left_out:
        yield f"Not asked for yet: {', '.join(runs.left_out)}."


def printed_figures(bounds: Iterable[Bound], table: TextTable) -> str:
    """The published figures that decide."""
    return "; ".join(dict.fromkeys(text for bound in bounds if (text := printed_figure(bound, table))))


def printed_figure(test: Bound, table: TextTable) -> str:
    """The published figure that decides, by data."""
    by_data: dict[str, float] = {}
    for origin in table.sources:
        for data, title in origin.data.items():
            if (value := test.printed(points(table, origin, data))) is not None:
                by_data.setdefault(title, value)
    return ", ".join(f"{title} {value:.3g}".strip() for title, value in by_data.items())


def points(table: TextTable, first: PublishedSource, data: str) -> Any:
    """Published values of a data set: of one source and, for rows that it lacks, of the others that have that data."""
    others = [origin for origin in table.sources if data in origin.data and origin is not first]

    def value(row: str, multiple: int) -> float | None:
        known = (origin.point(data)(row, multiple) for origin in (first, *others))
        return next((number for number in known if number is not None), None)

    return value


def cells(row: str, runs: TableRuns) -> Iterator[Values]:
    """A row at every multiple: bits per byte here, the perplexity over that at the shortest length, another measure
    where the table shows any, and what was published."""
    table, results, first = runs.table, runs.results, runs.table.multiples[0]
    for multiple in table.multiples:
        loss = known(results.loss, row, multiple)
        longer = known(results.difference, (row, multiple), (row, first)) if multiple != first else None
        measure = known(results.measure, table.shown, row, multiple) if table.shown else None
        yield {
            "row": row,
            "title": table.subjects[row].title,
            "multiple": multiple,
            "length": results.train_len * multiple,
            "bits": loss and asdict(loss.through(in_bits)),
            "ratio": longer and asdict(longer.through(exp)),
            "measure": measure and asdict(measure),
            "published": list(published(table, row, multiple)),
        }


def known(ask: Callable[..., Interval], *of: Any) -> Interval | None:
    """An interval, None where it is not known."""
    try:
        return ask(*of)
    except Unknown:
        return None


def published(table: TextTable, row: str, multiple: int) -> Iterator[Values]:
    """The published values of a row at a multiple, one for each data set: with its deviation and mark, over that at the
    training length, and what makes it doubtful."""
    first, seen = table.multiples[0], set()
    for origin in table.sources:
        for data, title in origin.data.items():
            length = multiple * origin.train_len
            if title in seen or (value := origin.value(data, row, length)) is None:
                continue
            seen.add(title)
            place, column = origin.at(data, row, length)
            table_row, sd = origin.table.row(place), origin.table.value(place, column, "sd")
            base = points(table, origin, data)(row, first) if multiple != first and not table.shown else None
            mark = table_row.marks.get(column, "") if table_row else ""
            deviation = sd if isinstance(sd, float | int) else None
            known = {"sd": deviation, "mark": mark, "ratio": quotient(value, base)}
            yield {"data": title, "value": value, **known, "doubt": origin.table.doubt(place, column)}


def doubts(table: TextTable) -> Iterator[str]:
    """Why values of the tables are doubtful."""
    for origin in table.sources:
        for doubt in origin.table.doubts:
            columns = ", ".join(origin.table.columns[name] for name in doubt.columns) or "all"
            yield f"{origin.table.printed}, {columns}: {doubt.why}."


def model(row: str, runs: TableRuns) -> Values:
    """A row's runs: how many, how many are done, what each was trained on at most, why it was not tested, and how many
    learned too little to count."""
    configs, subject, done = runs.configs[row], runs.table.subjects[row], runs.ended(row)
    config, summaries = configs[0], [runs.summaries[name] for _, name in done]
    steps = runs.steps(row)
    return {
        "row": row,
        "title": subject.title,
        "attention": subject.view(config.data.train_len),
        "runs": len(configs),
        "done": len(done),
        "train_len": config.data.train_len,
        "steps": steps,
        "tokens": steps * config.training.batch_size * config.data.train_len,
        "train_seconds": round(sum(summary["train_seconds"] for summary in summaries), 1),
        "problem": runs.problems.get(row, ""),
        "unlearned": sum(name in runs.unlearned for _, name in done),
    }


def conditions(runs: TableRuns) -> Iterator[tuple[str, str, str]]:
    """Ours, and beside them what was published, if it was."""
    stated = [known for origin in runs.table.sources for known in origin.stated()]
    row = next(iter(runs.configs))
    configs = runs.configs[row]
    ours = {
        "parameters": distinct(f"{summary['parameters']:,}" for summary in runs.summaries.values()),
        "seeds": distinct(str(len(configs)) for configs in runs.configs.values()),
        "precision": "float32",
        "evaluation.attention": runs.table.subjects[row].view(configs[0].data.train_len),
    }
    for key, (name, own) in CONDITIONS.items():
        values = distinct(shown(known[key]) for known in stated if key in known)
        each = (shown(value_of(c, own)) for configs in runs.configs.values() for c in configs if own)
        if here := ours.get(key) or distinct(each):
            yield name, values or "–", here
    steps, batch, length = (configs[0].training.steps, configs[0].training.batch_size, configs[0].data.train_len)
    products = (
        k["training.steps"] * k["training.batch_size"] * k["data.train_len"]
        for k in stated
        if all(isinstance(k.get(p), int) for p in ("training.steps", "training.batch_size", "data.train_len"))
    )
    if symbols := distinct(f"{n:,}" for n in products):
        yield "symbols of training", symbols, f"{steps * batch * length:,}"


def shown(value: Any) -> str:
    """A condition in words."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def distinct(texts: Iterable[str]) -> str:
    """Texts, each once."""
    return "; ".join(dict.fromkeys(text for text in texts if text != "None"))


def curves(runs: TableRuns) -> list[PagePicture]:
    """Bits per byte by length, or what a figure draws: a line a row. Many rows have a picture a task."""
    drawn = {row: line for row in runs.configs if (line := line_of(row, runs)).lengths}
    if len(drawn) <= MOST_LINES or not all("/" in row for row in drawn):
        return [picture("", list(drawn.values()), runs)] if drawn else []
    tasks = groupby(sorted(drawn, key=task_of), key=task_of)
    return [picture(task, [drawn[row] for row in rows], runs) for task, rows in tasks]


def task_of(row: str) -> str:
    """What stands before the model."""
    return row.partition("/")[0]


def picture(task: str, lines: Sequence[Curve], runs: TableRuns) -> PagePicture:
    """What is drawn, of a task or of all rows."""
    table = runs.table
    what = table.drawn or "bits per byte"
    each = "; ".join(f"{line.name}: {line.values[0]:.2f} to {line.values[-1]:.2f}" for line in lines)
    name = "-".join(filter(None, (task, what.replace("%", "percent").replace(" ", "-"))))
    return PagePicture(
        f"{task}: {what}" if task else what,
        f"curves/{name}.svg",
        f"{what} by {table.axis}: {each}",
        tuple(lines),
        table.drawn or MEASURE,
        table.axis,
        {"training length": runs.results.train_len},
        # Distances and recent symbols are counted evenly, lengths and positions by doublings.
        scale="even" if table.drawn else "log",
    )


def line_of(row: str, runs: TableRuns) -> Curve:
    """A row over its axis, with the intervals over segments."""
    table, results = runs.table, runs.results
    if table.drawn:
        points = dict(results.curve(table.drawn, row))
    else:
        shown = [results.train_len * multiple for multiple in table.multiples]
        drawn = table.test.drawn(results.lengths(row), shown)
        points = {length: results.loss_at(row, length).through(in_bits) for length in drawn}
    values = (
        np.array([[interval.value, interval.low, interval.high] for interval in points.values()]).reshape(-1, 3).T
    )  # (3, points)
    return Curve(table.subjects[row].title, list(points), *map(list, values))


def in_bits(nats: float) -> float:
    """The same loss in bits."""
    return nats / math.log(2)
