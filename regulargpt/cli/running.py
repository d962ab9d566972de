"""A run as the terminal shows it: progress on stderr, the result on stdout, exit codes for what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from regulargpt.cli import FAILED, STOPPED
from regulargpt.cli.bars import Bars
from regulargpt.cli.output import emit, say, table
from regulargpt.config.schema import RunConfig
from regulargpt.evaluation.measures import measure
from regulargpt.runs.run import Watch
from regulargpt.tables import number, percent
from regulargpt.training.trainer import Diverged, Interrupted


def announcement(config: RunConfig, folder: Path) -> str:
    """What is done and where."""
    return f"{config.data.name}: {config.model.name}, recipe {config.recipe}, into {folder}"


def supervised(work: Callable[[Watch], dict[str, Any]], config: RunConfig, folder: Path, as_json: bool) -> int:
    """Do the work, print its summary; the exit code."""
    bars = Bars(None if as_json else announcement(config, folder))
    try:
        summary = work(bars.watch)
    except Interrupted as stopped:
        bars.close()
        click.echo(f"{stopped}; `regulargpt resume {folder}` goes on from there", err=True)
        return STOPPED
    except Diverged as diverged:
        bars.close()
        click.echo(f"error: {diverged}; the state before it is kept in {folder}", err=True)
        return FAILED
    finally:
        bars.close()
    emit(summary) if as_json else say(text(summary))
    return 0


def time_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """How long the test took, and the decision on the certificate if one was asked for."""
    parts = {"testing": "test_seconds", "certifying": "certify_seconds"}
    return [(name, f"{summary[key]:.1f} s") for name, key in parts.items() if key in summary]


def proof_row(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Whether the run was certified, if it was to be."""
    if summary.get("proven") is None:
        return []
    if summary["proven"]:
        return [("every length", f"proven, states replaced by prototypes: {summary['run_dir']}/certificate.json")]
    return [("every length", f"not proven; `regulargpt verify {summary['run_dir']}` says why")]


def extra_lengths(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The lengths beyond the scored ones, and what was measured there."""
    unit, values = measure(result["measure"]).unit, result["measures"][result["measure"]]["values"]
    longer = sorted((int(T), value) for T, value in values.items() if int(T) > result["test_len"])
    return [(f"{T:,}", f"{number(value, unit)} {unit} of {result['samples'][str(T)]} words") for T, value in longer]


def protocol_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What the run scores under further protocols."""
    rows = []
    for name, result in summary.get("extra_protocols", {}).items():
        unit = measure(result["measure"]).unit
        rows.append((f"{name}, {result['test_from']}..{result['test_len']}", f"{number(result['score'], unit)} {unit}"))
        rows += [(f"{name}, {T}", found) for T, found in extra_lengths(result)]
    return rows


def guess_row(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What guessing scores, where that means something."""
    if summary["majority"] is None:
        return []
    return [("always one answer", f"{percent(summary['majority'])} % (chance {percent(summary['chance'])} %)")]


def text(summary: dict[str, Any]) -> str:
    """The short table at the end of a run."""
    unit = measure(summary["measure"]).unit
    size = f"{summary['parameters']:,} parameters"
    rows = [
        ("training", f"{summary['steps']} steps, {summary['train_seconds']:.1f} s, {size}")
        if summary["steps"]
        else ("weights", f"{summary['recipe']}, {size}"),
        *time_rows(summary),
        (f"score {summary['test_from']}..{summary['test_len']}", f"{number(summary['score'], unit)} {unit}"),
        ("worst length", f"{number(summary['worst'], unit)} {unit}"),
        ("first below 99 %", str(summary["first_below_99"] or "none")),
        ("first below 90 %", str(summary["first_below_90"] or "none")),
        *((f"length {T}", found) for T, found in extra_lengths(summary)),
        *protocol_rows(summary),
        *proof_row(summary),
        *guess_row(summary),
        ("run folder", summary["run_dir"]),
        ("picture", f"{summary['run_dir']}/accuracy.png"),
    ]
    return table(rows)
