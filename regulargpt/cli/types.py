"""What options take: files and folders, finite numbers."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import click

from languages.errors import UserError, shown, whole


class PathType(click.Path):
    """A path that names something: the empty one would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; BadParameter if it is empty."""
        if not os.fspath(value):
            self.fail("it is empty; name a file or folder", param, ctx)
        return super().convert(value, param, ctx)


class PlaceType(PathType):
    """The folder of a run, or hf:PATH, that of a checkpoint that others trained."""


class FileType(PathType):
    """A file to read, which must be there; a folder is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path; UserError for a folder, or where there is no file."""
        path, option = Path(super().convert(value, param, ctx)), named(param)
        if os.path.isdir(path):
            raise UserError(f"{option}{shown(path)} is a folder; name a file in it")
        if not os.path.lexists(path):
            verb = re.search("`(regulargpt [a-z]+)`", getattr(param, "help", None) or "")
            remedy = f"`{verb[1]} RUN` writes one" if verb else "check the path"
            raise UserError(f"{option}{shown(path)}: no such file; {remedy}")
        return path


class NewFileType(PathType):
    """A file to write. Its folder must be there: a misspelt folder is more likely than a new one.

    An output that is a folder is made, with those above it.
    """

    def __init__(self, example: str = "FILE"):
        super().__init__(path_type=Path)
        self.example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path; UserError for a folder, or in a folder that does not exist."""
        path, option = Path(super().convert(value, param, ctx)), named(param)
        if os.path.isdir(path):
            raise UserError(
                f"{option}{shown(path)} is a folder; name a file, as in {option}{shown(path / self.example)}"
            )
        if not os.path.isdir(path.parent):
            raise UserError(f"{option}{shown(path)}: the folder {shown(path.parent)} does not exist; make it first")
        return path


def named(param: click.Parameter | None) -> str:
    """How a message begins about what an option was given: with its name."""
    return f"{param.opts[0]} " if isinstance(param, click.Option) else ""


class WholeRange(click.IntRange):
    """Whole numbers in a range, in digits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; BadParameter for another text, with how it is written."""
        try:
            number = whole(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return super().convert(number, param, ctx)


class FiniteRange(click.FloatRange):
    """Numbers in a range; no comparison keeps out the one that is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; BadParameter if it is not finite."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class InchesType(click.ParamType):
    """The width of a picture: inches, or centimetres with `cm`."""

    name = "width"
    LEAST, MOST = 2.0, 20.0
    """Inches: below, letters of 8 points have no room; above, no page is so wide."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Inches; BadParameter for what is no width, or none of a picture."""
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *(in|cm|)", str(value))
        inches = float(match[1]) / (2.54 if match[2] == "cm" else 1.0) if match else math.nan
        if not self.LEAST <= inches <= self.MOST:
            self.fail(
                f"{value!r:.40} is no width from {self.LEAST:g}in to {self.MOST:g}in, as in 3.25in or 8.2cm", param, ctx
            )
        return inches


PATH = PathType(path_type=Path)
PLACE = PlaceType(path_type=Path)
FILE = FileType(path_type=Path)
INCHES = InchesType()
