"""What the verbs print: JSON objects on stdout, tables and lines for people, as wide as their terminal."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import click

Line = Sequence[str]

GAP = "  "
# A column is wrapped to no less than this, and a word in it is broken only if it is longer than that.
NARROW, LONG_WORD = 16, 40
_WIDE = "regulargpt.wide"

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def printed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --json, and --wide, which `width` finds by itself."""
    text = "Whole tables and lines, wider than the terminal."
    wide = click.option("--wide", is_flag=True, expose_value=False, callback=_remember_wide, help=text)
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
    click.echo(json.dumps(value, ensure_ascii=False))


def say(text: str, err: bool = False) -> None:
    """Text for people: lines that are wider than the terminal are broken between words."""
    room = width(err)
    click.echo(text if room is None else "\n".join(wrapped(line, room) for line in text.split("\n")), err=err)


def wrapped(line: str, room: int) -> str:
    """The line, broken between words where it is wider than this; a longer word, such as a path, stays whole.

    >>> print(wrapped("two principal components hold 95 %", 24))
    two principal components
    hold 95 %
    """
    return "\n".join(textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False)) or line


def table(rows: Sequence[Line], header: Line = (), err: bool = False) -> str:
    """Columns aligned on the left, two spaces between them; no wider than the terminal, if there is one.

    There texts are wrapped, and if that does not do, the last columns left out, as a line below says.

    >>> print(table([("parity", "2"), ("tomita-3", "5")], ("language", "states")))
    language  states
    parity    2
    tomita-3  5
    """
    lines = [tuple(header), *map(tuple, rows)] if header else [tuple(row) for row in rows]
    natural = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room = width(err)
    if room is None or total(natural) <= room:
        return aligned(lines, natural)
    widths = fitting(lines, natural, room) if header else [*natural[:-1], max(room - total(natural[:-1]) - 2, NARROW)]
    shown = aligned([line for cells in lines for line in broken(cells, widths, bool(header))], widths)
    hidden = ", ".join(header[len(widths) :])
    return f"{shown}\n{wrapped(f'not shown for want of room: {hidden}; --wide shows all', room)}" if hidden else shown


def aligned(lines: Sequence[Line], widths: Sequence[int]) -> str:
    """The cells side by side."""
    return "\n".join(
        GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def total(widths: Sequence[int]) -> int:
    """The width of a table with these columns.

    >>> total([8, 6])
    16
    """
    return sum(widths) + len(GAP) * (len(widths) - 1)


def fitting(lines: Sequence[Line], natural: Sequence[int], room: int) -> list[int]:
    """The widths of the first columns, as many as fit, the widest ones narrowed; of the first one at least.

    >>> fitting([("parity", "words with an even number of ones", "Table 6.1")], [6, 33, 9], 40)
    [6, 21, 9]
    >>> fitting([("parity", "words with an even number of ones", "Table 6.1")], [6, 33, 9], 30)
    [6, 22]
    """
    columns = zip(*lines, strict=True)
    words = [max((len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    least = [min(own, max(NARROW, min(word, LONG_WORD))) for own, word in zip(natural, words, strict=True)]
    kept = next((n for n in range(len(natural), 1, -1) if total(least[:n]) <= room), 1)
    for most in range(room, 0, -1):
        widths = [max(low, min(own, most)) for low, own in zip(least[:kept], natural, strict=False)]
        if total(widths) <= room:
            return widths
    return least[:1]


def broken(cells: Line, widths: Sequence[int], long_words: bool) -> list[Line]:
    """A line of a table as the lines that its cells are wrapped to."""
    columns = [
        textwrap.wrap(cell, width, break_long_words=long_words, break_on_hyphens=False) if len(cell) > width else [cell]
        for cell, width in zip(cells, widths, strict=False)
    ]
    return list(zip_longest(*columns, fillvalue=""))


def percent(value: float) -> str:
    """A share in percent, never rounded up to 100.

    >>> percent(100.0), percent(99.9996), percent(98.1234)
    ('100', '99.99', '98.12')
    """
    return "100" if value == 100 else f"{min(value, 99.99):.2f}"


class Checking:
    """Shows how far the checker of certificates has come, where somebody watches stderr: call it, then close it."""

    def __init__(self) -> None:
        self.bar: Any = None

    def __call__(self, part: str, done: int, count: int) -> None:
        """So many of a part's entries are done."""
        if not progress_to_stderr():
            return
        from tqdm import tqdm

        self.bar = self.bar or tqdm(unit="entry", leave=False, dynamic_ncols=True)
        self.bar.set_description_str(f"checking {part}", refresh=False)
        self.bar.total, self.bar.n = count, done
        self.bar.refresh()

    def close(self) -> None:
        """Leave the terminal tidy."""
        if self.bar is not None:
            self.bar.close()


def progress_to_stderr() -> bool:
    """Whether somebody watches stderr."""
    return sys.stderr.isatty()
