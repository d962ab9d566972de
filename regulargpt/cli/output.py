"""What the verbs print: JSON objects on stdout, tables for people, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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


@contextmanager
def checking() -> Iterator[Callable[[str, int, int], None]]:
    """What shows how far the checker has come: a bar for each part of a table, where somebody watches stderr."""
    if not progress_to_stderr():
        yield lambda part, done, count: None
        return
    from tqdm import tqdm

    with tqdm(desc="checking", unit="entry", leave=False) as bar:

        def show(part: str, done: int, count: int) -> None:
            bar.set_description_str(f"checking {part}", refresh=False)
            bar.total, bar.n = count, done
            bar.refresh()

        yield show


def progress_to_stderr() -> bool:
    """Whether somebody watches stderr."""
    return sys.stderr.isatty()
