"""A run as the terminal shows it: progress on stderr, the result on stdout, exit codes for what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from regulargpt.cli import FAILED, STOPPED
from regulargpt.cli.output import emit, percent, table
from regulargpt.config import RunConfig
from regulargpt.evaluation import Point
from regulargpt.run import Watch
from regulargpt.training import Diverged, Interrupted, Trainer


class Bars:
    """One bar for the training steps, one for the tested lengths; silent where nobody watches."""

    def __init__(self, config: RunConfig, folder: Path, announced: bool):
        self.config, self.folder, self.announced = config, folder, announced
        self.silent = not sys.stderr.isatty()
        self.training: tqdm[Any] | None = None
        self.testing: tqdm[Any] | None = None
        self.row: dict[str, Any] = {}

    @property
    def watch(self) -> Watch:
        """To hand to the run."""
        return Watch(self.on_step, self.on_row, self.on_point, lambda text: click.echo(f"warning: {text}", err=True))

    def announce(self) -> None:
        """Say once what is done and where: when the first of it is done, so that a refusal stands alone."""
        if not self.announced:
            language, model, recipe = self.config.task.language, self.config.model.name, self.config.recipe
            click.echo(f"{language}: {model}, recipe {recipe}, into {self.folder}", err=True)
        self.announced = True

    def on_step(self, trainer: Trainer) -> None:
        """A training step is done."""
        self.announce()
        if self.training is None:
            self.training = tqdm(desc="training", unit="step", disable=self.silent, initial=trainer.progress.step - 1)
        self.training.total = trainer.progress.last_step(self.config.training)
        self.training.update()
        if trainer.finished:
            self.training.close()

    def on_row(self, row: dict[str, Any]) -> None:
        """A row of metrics is written."""
        if self.training is not None:
            self.training.set_postfix_str(f"loss {row['loss']:.4f}, accuracy {100 * row['accuracy']:.1f} %", False)

    def on_point(self, point: Point) -> None:
        """A length is tested."""
        self.announce()
        if self.testing is None:
            self.testing = tqdm(desc="testing", unit="length", disable=self.silent)
        self.testing.set_postfix_str(f"T = {point.length}: {percent(100 * point.accuracy)} %", False)
        self.testing.update()

    def close(self) -> None:
        """Leave the terminal tidy."""
        for bar in (self.training, self.testing):
            if bar is not None:
                bar.close()


def supervised(work: Callable[[Watch], dict[str, Any]], config: RunConfig, folder: Path, as_json: bool) -> int:
    """Do the work, print its summary; the exit code."""
    bars = Bars(config, folder, announced=as_json)
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
    except RuntimeError as error:
        # torch has no MemoryError of its own on the CPU.
        if "memory" not in str(error):
            raise
        raise MemoryError from error
    finally:
        bars.close()
    emit(summary) if as_json else click.echo(text(summary))
    return 0


def proof_row(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Whether the run was certified, if it was to be."""
    if summary.get("proven") is None:
        return []
    if summary["proven"]:
        return [("every length", f"proven, states replaced by prototypes: {summary['run_dir']}/certificate.json")]
    return [("every length", f"not proven; `regulargpt verify {summary['run_dir']}` says why")]


def also_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What the run scores under further protocols."""
    rows = []
    for name, result in summary.get("also", {}).items():
        low, high = result["test_from"], result["test_len"]
        rows.append((f"{name}, {low}..{high}", f"{percent(result['score'])} %"))
        beyond = {int(T): a for T, a in result["accuracy"].items() if int(T) > high}
        rows += [(f"{name}, {T:,}", f"{percent(a)} % of {result['samples'][str(T)]} words") for T, a in beyond.items()]
    return rows


def text(summary: dict[str, Any]) -> str:
    """The short table at the end of a run."""
    low, high = summary.get("test_from", summary["train_len"] + 1), summary["test_len"]
    beyond = dict(sorted((int(T), a) for T, a in summary["accuracy"].items() if int(T) > high))
    size = f"{summary['parameters']:,} parameters"
    rows = [
        ("training", f"{summary['steps']} steps, {summary['train_seconds']:.1f} s, {size}")
        if summary["steps"]
        else ("weights", f"{summary['recipe']}, {size}"),
        (f"score {low}..{high}", f"{percent(summary['score'])} %"),
        ("worst length", f"{percent(summary['min_accuracy'])} %"),
        ("first below 99 %", str(summary["first_below_99"] or "none")),
        ("first below 90 %", str(summary["first_below_90"] or "none")),
        *((f"length {T:,}", f"{percent(a)} % of {summary['samples'][str(T)]} words") for T, a in beyond.items()),
        *also_rows(summary),
        *proof_row(summary),
        ("always one answer", f"{percent(summary['majority'])} % (chance {percent(summary['chance'])} %)"),
        ("run folder", summary["run_dir"]),
        ("picture", f"{summary['run_dir']}/accuracy.png"),
    ]
    return table(rows)
