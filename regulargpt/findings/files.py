"""The files of a finding: its numbers, tables of them, a picture."""

from __future__ import annotations

from pathlib import Path

from languages.errors import UserError, shown
from regulargpt import plots, tables
from regulargpt.findings.draw import figure
from regulargpt.findings.finding import Finding
from regulargpt.storage import atomic


def refuse_file(out: Path) -> Path:
    """The folder of the results; UserError if a file lies there."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{shown(out)} is a file; choose another --out")
    return out


def write(finding: Finding, out: Path, ending: str = "png", inches: float | None = None) -> None:
    """Write NAME.csv (the first row names the columns), .png and .json into the folder `out`.

    Pictures have the `ending` png, pdf or svg, and are so many `inches` wide, as wide as they like without. The JSON
    comes last: where it is, the others are.
    """
    atomic.make_folder(out)
    for name, data in {finding.name: finding.data, **finding.more}.items():
        atomic.write_text(out / f"{name}.csv", tables.csv([data.columns, *data.rows]))
    for name, picture in {finding.drawn or finding.name: finding.picture, **finding.pictures}.items():
        plots.save(out / f"{name}.{ending}", figure(picture, inches))
    atomic.write_json(out / f"{finding.name}.json", finding.report)
