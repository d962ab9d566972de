"""The verbs of the measurements, made from their options."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from regulargpt.cli.output import CountBar, emit, printing, say, width
from regulargpt.cli.types import FILE, INCHES, PATH, PLACE, FiniteRange, WholeRange
from regulargpt.measurements import MEASUREMENTS
from regulargpt.measurements.options import MeasuredTextOptions, MeasurementOptions
from regulargpt.options import OR_NONE, hints

if TYPE_CHECKING:
    from regulargpt.findings import Finding

ENDINGS = ("png", "pdf", "svg")


def verb(name: str, callback: Callable[..., None] | None = None) -> click.Command:
    """The command of a measurement: what it measures, its options, --out, --json and --wide."""
    options = MEASUREMENTS[name].options
    assert issubclass(options, MeasurementOptions)
    of_run, files = "" if options.argument == "RUN" else "of a run ", options.files or name
    kind = str if options.argument.startswith("ENCODING") else PLACE if options.takes_checkpoints else PATH
    is_needed = not options.argument.startswith("[")
    place = click.Argument(["place"], metavar=options.argument, type=kind, required=is_needed)
    beside = f"; of hf:PATH {files}/NAME" if options.takes_checkpoints else ""
    out = click.Option(["--out"], type=PATH, help=f"Folder of the results.  [default: {of_run}RUN/{files}{beside}]")
    command = click.Command(name, callback=callback or partial(measure, name), help=inspect.getdoc(options))
    command.params = [place, *as_options(options), out, *drawing(), *printing()]
    return command


def drawing() -> list[click.Option]:
    """How the pictures are drawn."""
    ending = click.Option(
        ["--format", "ending"], type=click.Choice(ENDINGS), default="png", show_default=True, help="Of the pictures."
    )
    inches = click.Option(
        ["--width", "inches"],
        type=INCHES,
        help="Of the pictures, as in 3.25in or 8.2cm.  [default: as wide as they like]",
    )
    return [ending, inches]


def measure(name: str, place: Path | str | None, out: Path | None, as_json: bool, **values: Any) -> None:
    """Measure, and print what came out."""
    from regulargpt.measurements.measuring import measured

    with closing(CountBar(name)) as progress:
        heard = {"progress": progress, "begun": progress.begin, "notice": partial(say, err=True)}
        finding = measured(name, place, out, **heard, **values)
    show(finding, as_json)


def show(finding: Finding, as_json: bool) -> None:
    """Print a finding."""
    from regulargpt.findings import text

    emit(finding.report) if as_json else say(text(finding, width()))


def as_options(options: type[MeasurementOptions]) -> list[click.Option]:
    """An option of the command line for each field; one that is left out keeps the default of the field."""
    return [as_option(field, hints(options)[field.name]) for field in dataclasses.fields(options)]


def as_option(field: dataclasses.Field[Any], kind: Any) -> click.Option:
    """The option of a field of this type."""
    return click.Option([flag_of(field), field.name], **declared(field, kind))


def shared(name: str, parameter: str = "") -> Callable[[Any], Any]:
    """An option of the measurements of a text for a command that is none, which calls it by its name or `parameter`."""
    field = next(field for field in dataclasses.fields(MeasuredTextOptions) if field.name == name)
    return click.option(flag_of(field), parameter or name, **declared(field, hints(MeasuredTextOptions)[name]))


def flag_of(field: dataclasses.Field[Any]) -> str:
    """How a field is written on the command line."""
    return field.metadata["flag"] or f"--{field.name.replace('_', '-')}"


def declared(field: dataclasses.Field[Any], kind: Any) -> dict[str, Any]:
    """What click is told of a field of this type."""
    meta, is_open = field.metadata, typing.get_origin(kind) in OR_NONE
    kind = typing.get_args(kind)[0] if is_open else kind
    usual = f"  [default: {meta['usual']}]" if meta["usual"] else ""
    return {
        "type": type_of(kind, meta["least"], meta["most"]),
        "default": field.default,
        "show_default": not is_open,
        "help": meta["help"] + usual,
    }


def type_of(kind: Any, least: Any, most: Any) -> Any:
    """What click calls a type with these bounds."""
    if typing.get_origin(kind) is Literal:
        return click.Choice(typing.get_args(kind))
    if kind in (int, float):
        return (WholeRange if kind is int else FiniteRange)(least, most)
    return FILE if kind is Path else kind
