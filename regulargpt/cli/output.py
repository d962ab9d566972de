"""What the verbs print: JSON objects on stdout, tables and lines for people, as wide as their terminal."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from languages.errors import shown
from languages.printable import printable
from regulargpt.cli.streams import Unwritable
from regulargpt.tables import Line, columns, wrapped

_WIDE = "regulargpt.wide"

JSON, WIDE = "Print one JSON object instead of text.", "Whole tables and lines, wider than the terminal."

as_json = click.option("--json", "as_json", is_flag=True, help=JSON)


def printing() -> list[click.Option]:
    """--json, and --wide, which `width` finds by itself."""
    wide = click.Option(["--wide"], is_flag=True, expose_value=False, callback=_remember_wide, help=WIDE)
    return [click.Option(["--json", "as_json"], is_flag=True, help=JSON), wide]


def printed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add both."""
    wide = click.option("--wide", is_flag=True, expose_value=False, callback=_remember_wide, help=WIDE)
    return as_json(wide(command))


def _remember_wide(context: click.Context, option: click.Parameter, value: bool) -> None:
    context.meta[_WIDE] = value


def width(err: bool = False) -> int | None:
    """How many columns the terminal has behind stdout, or stderr; None without one, or with --wide: no limit."""
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(_WIDE):
        return None
    stream = sys.stderr if err else sys.stdout
    return shutil.get_terminal_size().columns if stream.isatty() else None


def emit(value: Any) -> None:
    """One JSON object on stdout."""
    click.echo(as_line(value))


def as_line(value: Any) -> str:
    """JSON on one line; what a terminal would obey, such as marks that turn text around, is spelled out.

    >>> print(as_line({"é": "\\u202e"}))
    {"é": "\\u202e"}
    """
    written = json.dumps(value, ensure_ascii=False)
    if written.isprintable():  # a long sample is, at once
        return written
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in written)


def say(text: str, err: bool = False) -> None:
    """Text for people, printable: lines that are wider than the terminal are broken between words."""
    room, text = width(err), printable(text)
    click.echo(text if room is None else "\n".join(wrapped(line, room) for line in text.split("\n")), err=err)


def conclude(result: Any, text: Callable[[], str], folder: Path, as_json: bool) -> None:
    """Print the end of work whose result is in a folder: nothing has failed where nobody reads it."""
    try:
        emit(result) if as_json else say(text())
    except Unwritable as error:
        if not (error.is_pipe or error.is_closed):
            raise
        if error.is_closed:
            say(f"warning: {error}; the result is in {shown(folder)}", err=True)


def table(rows: Sequence[Line], header: Line = (), err: bool = False) -> str:
    """Columns side by side, no wider than the terminal behind stdout, or stderr (`regulargpt.tables.columns`)."""
    return columns(rows, header, width(err))


def described(name: str, summary: str, rows: Sequence[Line], *parts: str) -> str:
    """A thing for people: what it is, a line a fact, then further parts; a blank line lies between them.

    >>> print(described("parity", "the number of ones mod 2", [("states", "2")], "11 0"))
    parity: the number of ones mod 2
    <BLANKLINE>
    states  2
    <BLANKLINE>
    11 0
    """
    return "\n\n".join([f"{name}: {summary}", table(rows), *parts])


class CountBar:
    """Shows how much of a count is done, as a `Bar` does: call it, then close it."""

    unit = "update"

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.bar: Any = None

    def __call__(self, done: int, count: int) -> None:
        """So many are done."""
        if self.bar is None:
            self.bar = self.made(count)
        self.bar.set_description_str(self.name, refresh=False)
        self.bar.total, self.bar.n = count, done
        self.bar.refresh()

    def made(self, count: int | None = None) -> Any:
        """A bar with none done. A bar draws itself once as it is made: with all that it says."""
        from regulargpt.cli.progress import Bar

        return Bar(desc=self.name, total=count, unit=self.unit, leave=False)

    def begin(self) -> None:
        """Where stderr is no terminal, say from time to time that there is work, before anything is counted."""
        if self.bar is None and not progress_to_stderr():
            self.bar = self.made()

    def close(self) -> None:
        """Leave the terminal tidy."""
        if self.bar is not None:
            self.bar.close()


class CheckBar:
    """The same of what goes through one part after another, such as the checker of certificates."""

    def __init__(self, doing: str = "checking", unit: str = "entry") -> None:
        self.bar, self.doing = CountBar(), doing
        self.bar.unit = unit

    def __call__(self, part: str, done: int, count: int) -> None:
        """So many of a part are done."""
        self.bar.name = f"{self.doing} {part}"
        self.bar(done, count)

    def close(self) -> None:
        """Leave the terminal tidy."""
        self.bar.close()


def progress_to_stderr() -> bool:
    """Whether somebody watches stderr."""
    return sys.stderr.isatty()
