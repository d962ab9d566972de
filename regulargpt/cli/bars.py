"""Progress on stderr: one line for the training, one for each test, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from regulargpt.cli.output import CheckBar, CountBar
from regulargpt.cli.progress import Bar
from regulargpt.evaluation.by_length import Point
from regulargpt.objectives.measures import MEASURES, measure, said
from regulargpt.runs.run import Watch
from regulargpt.training.trainer import Trainer


class Bars:
    """What a run or a test shows on its way.

    The `announcement` is said once, when the first of it is done: so a refusal stands alone.
    """

    def __init__(self, announcement: str | None = None):
        self.announcement = announcement
        self.training: StepsLine | None = None
        self.testing: LengthsLine | None = None
        self.checking, self.searching = CheckBar(), CheckBar("trying", "word")
        self.whole = CountBar("run")
        self.whole.begin()

    @property
    def watch(self) -> Watch:
        """To hand to the run."""
        return Watch(
            self.on_step, self.on_row, self.on_test, self.on_point, self.on_notice, self.checking, self.searching
        )

    def announce(self) -> None:
        """Say once what is done and where."""
        if self.announcement is not None:
            click.echo(self.announcement, err=True)
        self.announcement = None

    def on_step(self, trainer: Trainer) -> None:
        """A training step is done."""
        self.announce()
        if self.training is None:
            self.training = StepsLine(trainer)
        self.training.advance()

    def on_row(self, row: Mapping[str, Any]) -> None:
        """A row of metrics is written."""
        if self.training is not None:
            self.training.row = row

    def on_test(self, words: Mapping[int, int]) -> None:
        """A test begins."""
        self.close_lines()
        self.announce()
        self.testing = LengthsLine(words)

    def on_point(self, point: Point) -> None:
        """A length is tested."""
        assert self.testing is not None
        self.testing.advance(point)

    def on_notice(self, text: str) -> None:
        """Something is to be known that is no error."""
        click.echo(f"warning: {text}", err=True)

    def close(self) -> None:
        """Leave the terminal tidy."""
        self.close_lines()
        self.whole.close()

    def close_lines(self) -> None:
        """End what is shown of the training and the last test."""
        for line in (self.training, self.testing, self.checking, self.searching):
            if line is not None:
                line.close()


class BarLine(Bar):
    """A line of parts: those that do not fit the terminal are left out."""

    def __str__(self) -> str:
        return fitted(self.parts(), self.format_dict["ncols"])


class StepsLine(BarLine):
    """The training: its steps, and what it waits for; the time that is left only where the last step is known."""

    def __init__(self, trainer: Trainer):
        self.trainer = trainer
        self.row: Mapping[str, Any] = {}
        super().__init__(initial=trainer.step_count - 1)

    def advance(self) -> None:
        """A step is done."""
        self.total = self.trainer.known_end
        self.update()
        if self.trainer.finished:
            self.close()

    def parts(self) -> list[str]:
        """The step, the measure of the last row, what is awaited and at most until when, then the rest."""
        step = f"step {self.n:,} of {self.total:,}" if self.total else f"step {self.n:,}"
        most = [] if self.total else [f"at most {self.trainer.last_step:,} steps"]
        times = [*self.left(), *self.speed(), self.elapsed()]
        loss = [f"loss {self.row['loss']:.4f}"] if self.row else []
        return [f"training: {step}", *self.measured(), *self.trainer.awaited, *most, *times, *loss]

    def measured(self) -> list[str]:
        """The first measure of the last row, if the training is still on what it measures."""
        trainer = self.trainer
        measured = [said(MEASURES[name], value) for name, value in self.row.items() if name in MEASURES]
        return measured[:1] if trainer.phase is trainer.words else []

    def speed(self) -> list[str]:
        """The symbols of a text that are read a second."""
        config, rate = self.trainer.config, self.format_dict["rate"]
        if self.trainer.data.kind != "text" or not rate:
            return []
        return [f"{rate * config.training.batch_size * config.data.train_len:,.0f} symbols/s"]


class LengthsLine(BarLine):
    """A test: how many lengths are done, and the time that is left by the symbols that are left."""

    def __init__(self, words: Mapping[int, int]):
        self.words, self.lengths, self.values = words, list(words), []
        symbols = sum(length * count for length, count in words.items())
        # Shown after every length: the next one may take long.
        super().__init__(total=symbols, mininterval=0, miniters=1)

    def advance(self, point: Point) -> None:
        """A length is tested."""
        name, value = next(iter(point.measures.items()))
        self.measure = measure(name)
        self.values.append(value.value)
        self.update(point.length * self.words[point.length])
        if len(self.values) == len(self.lengths):
            self.close()

    def parts(self) -> list[str]:
        """How many lengths are done, which is next, the worst, the time."""
        done, worst = len(self.values), []
        if self.values:
            value = self.measure.worst(self.values)
            worst = [f"worst {said(self.measure, value)}"]
        next_one = [f"now {length:,}" for length in self.lengths[done : done + 1]]
        return [f"testing: {done} of {len(self.lengths)} lengths", *next_one, *worst, *self.left(), self.elapsed()]


def fitted(parts: Sequence[str], width: int | None) -> str:
    """As many of the parts as fit the width, from the first on; of the first as much as fits.

    >>> fitted(["testing: 3 of 9 lengths", "now 44", "00:12 left"], 32)
    'testing: 3 of 9 lengths, now 44'
    """
    line = parts[0]
    for part in parts[1:]:
        if width is not None and len(line) + len(", ") + len(part) > width:
            break
        line = f"{line}, {part}"
    return line[:width]
