"""The three files of an analysis: the numbers, a table of them, a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from regulargpt import tables
from regulargpt.storage import atomic

Rows = Iterable[Sequence[Any]]


def write(out: Path, name: str, report: dict[str, Any], rows: Rows, picture: Callable[[Path], None]) -> None:
    """Write `name`.csv (the first row names the columns), .png and .json into the folder `out`.

    The JSON comes last: where it is, the others are.
    """
    atomic.make_folder(out)
    atomic.write_text(out / f"{name}.csv", tables.csv(rows))
    picture(out / f"{name}.png")
    atomic.write_json(out / f"{name}.json", report)
