"""How far work has come, on stderr: a bar on a terminal, and a line from time to time where stderr is a file."""

from __future__ import annotations

import sys
from io import StringIO
from threading import Event, Thread
from typing import Any, ClassVar

import click
from tqdm import tqdm

from regulargpt.cli.streams import Unwritable

SECONDS = 30.0
"""Between two lines on a stderr that is no terminal."""


class Bar(tqdm):
    """A bar of tqdm. Where stderr is no terminal, the last one that is open says a line every `SECONDS`.

    The line comes by the clock, from a thread: a single step may take longer than that.
    """

    at_work: ClassVar[list[Bar]] = []

    def __init__(self, **known: Any):
        self.is_watched, self.ended = sys.stderr.isatty(), Event()
        # A file keeps every byte: what tqdm draws again and again goes nowhere.
        place = sys.stderr if self.is_watched else StringIO()
        super().__init__(file=place, dynamic_ncols=self.is_watched, **known)
        if self.is_watched:
            size_bar(self)
        else:
            self.at_work.append(self)
            Thread(target=self.speak, daemon=True).start()

    def speak(self) -> None:
        """Say a line from time to time, until the work ends or nobody can read it."""
        while not self.ended.wait(SECONDS):
            try:
                if self.at_work[-1:] == [self]:
                    click.echo(", ".join(self.parts()), err=True)
            except (OSError, ValueError, Unwritable):
                return

    def display(self, *given: Any, **more: Any) -> Any:
        """Draw the bar, on a terminal."""
        return super().display(*given, **more) if self.is_watched else None

    def close(self) -> None:
        """End the bar, or the lines."""
        self.ended.set()
        self.at_work[:] = [bar for bar in self.at_work if bar is not self]
        super().close()

    def parts(self) -> list[str]:
        """What a line says, the most important first."""
        done = f"{self.desc}: " + (f"{self.n:,} of {self.total:,}" if self.total else "at work")
        return [done, *self.left(), self.elapsed()]

    def elapsed(self) -> str:
        """The time since the work began."""
        return f"{self.format_interval(self.format_dict['elapsed'])} elapsed"

    def left(self) -> list[str]:
        """The time that is left, where the total is known."""
        ahead, rate = (self.total or self.n) - self.n, self.format_dict["rate"]
        return [f"{self.format_interval(ahead / rate)} left"] if ahead > 0 and rate else []


UNSAID = (79, 23)
"""The columns and rows that are taken of a terminal that does not say them, less the last of each."""


def size_bar(bar: Any) -> None:
    """Give a bar of tqdm a size on a terminal that says none: it would take that for no columns and no rows."""
    if not bar.disable and min(bar.ncols or 0, bar.nrows or 0) < 0:
        bar.dynamic_ncols = lambda stream: UNSAID
        bar.ncols, bar.nrows = UNSAID
        bar.refresh()
