"""What the verbs print: JSON objects on stdout, tables for people, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def emit(value: Any) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False))


def table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Columns aligned on the left, two spaces between them.

    >>> print(table([("parity", "2"), ("tomita-3", "5")], ("language", "states")))
    language  states
    parity    2
    tomita-3  5
    """
    lines = [tuple(header), *map(tuple, rows)] if header else [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


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
