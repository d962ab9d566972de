"""What options take: files and folders, finite numbers."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import click

from languages.errors import UserError, shown


class PathType(click.Path):
    """A path that names something: the empty one would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; BadParameter if it is empty."""
        if not os.fspath(value):
            self.fail("it is empty; name a file or folder", param, ctx)
        return super().convert(value, param, ctx)


class PlaceType(PathType):
    """The folder of a run, or hf:PATH, that of a checkpoint that others trained."""


class FiniteRange(click.FloatRange):
    """Numbers in a range; no comparison keeps out the one that is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; BadParameter if it is not finite."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def page_path(out: Path | None, default: Path, option: str = "--out") -> Path:
    """Where a page is written; UserError for a folder."""
    path = out or default
    if path.is_dir():
        raise UserError(f"{option} {shown(path)} is a folder; name a file, as in {option} {shown(path / default.name)}")
    return path


PATH = PathType(path_type=Path)
PLACE = PlaceType(path_type=Path)
FILE = PathType(path_type=Path, dir_okay=False)
