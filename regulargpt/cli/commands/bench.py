"""`regulargpt bench [PART...]`."""

from __future__ import annotations

from typing import Any

import click

from regulargpt.bench import PARTS, SCALES
from regulargpt.cli.output import emit, printed, say, table, width


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--scale", type=click.Choice(SCALES), default="full", show_default=True, help="smoke only tries it out.")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True, help="CPU threads.")
@printed
def command(parts: tuple[str, ...], scale: str, threads: int, as_json: bool) -> None:
    """Measure speed and memory side by side in one process: all parts, or those named.

    Ratios are medians over rounds that take the variants in turn, with their quartiles in brackets.
    """
    from regulargpt.bench import measure

    result = measure(parts or tuple(PARTS), scale, threads, lambda part: click.echo(f"{part}: {PARTS[part]}", err=True))
    emit(result) if as_json else say(text(result))


def text(result: dict[str, Any]) -> str:
    """For people; docs/results.md has the ratios that matter."""
    return "\n\n".join(f"## {name}\n\n{part_text(part)}" for name, part in result["parts"].items())


def part_text(part: dict[str, Any]) -> str:
    """The method, the table of comparisons, then whatever else the part found."""
    sections = [part["method"], markdown([shown(row) for row in part["rows"]])]
    for key, value in part.items():
        if key in ("method", "rows"):
            continue
        if isinstance(value, list) and value and isinstance(value[0], dict):
            sections.append(f"{key}:\n\n{markdown([flat(row) for row in value])}")
        elif value not in ([], None):
            sections.append(f"{key}: {plain(value)}")
    return "\n\n".join(sections)


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its spread in brackets behind the figure it belongs to."""
    figure = next(key for key in ("ratio", "rate", "steps_per_second") if key in row)
    cells = {key: plain(value) for key, value in row.items() if key not in ("low", "high")}
    if row[figure] is not None:
        cells[figure] += f" ({plain(row['low'])}-{plain(row['high'])})"
    return cells


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose values are no mappings: one column a key."""
    cells: dict[str, Any] = {}
    for key, value in row.items():
        cells |= flat(value) if isinstance(value, dict) and key != "bytes" else {key: value}
    if "bytes" in row:
        cells.pop("bytes")
        cells |= {f"T = {T}": ", ".join(f"{n} {size(b)}" for n, b in used.items()) for T, used in row["bytes"].items()}
    return {key: plain(value) for key, value in cells.items()}


def markdown(rows: list[dict[str, Any]]) -> str:
    """A Markdown table, its columns aligned too; on a terminal without bars, no wider than that."""
    header = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[str(row.get(key, "")) for key in header] for row in rows]
    if width() is not None:
        return table(cells, header)
    rule = ["-" * max(len(cell) for cell in column) for column in zip(header, *cells, strict=True)]
    lines = table([rule, *cells], header).splitlines()
    widths = [len(dashes) for dashes in rule]
    return "\n".join(piped(line, widths) for line in lines)


def piped(line: str, widths: list[int]) -> str:
    """A line of a table with bars between its columns."""
    cells, at = [], 0
    for wide in widths:
        cells.append(line[at : at + wide].ljust(wide))
        at += wide + 2
    return "| " + " | ".join(cells) + " |"


def plain(value: Any) -> str:
    """A value in at most three significant figures.

    >>> plain(0.012345), plain(12.3456), plain(1234.5), plain(None), plain("tree"), plain({"tree": 1.01})
    ('0.0123', '12.3', '1234', '', 'tree', 'tree 1.01')
    """
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{key} {size(v) if key in SIZED and v > 1024 else plain(v)}" for key, v in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(plain(item) for item in value)
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
    return str(value)


SIZED = ("tree", "plain-tree", "bytes")


def size(n_bytes: int | None) -> str:
    """Bytes as MiB.

    >>> size(3 << 20), size(None)
    ('3 MiB', 'does not fit')
    """
    return "does not fit" if n_bytes is None else f"{n_bytes / 2**20:.3g} MiB"
