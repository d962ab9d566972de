"""`python -m experiments.bench [CASE...] [--scale smoke] [--threads N] [--json]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict

import torch

from experiments.bench import rates, regular, rivals, text
from experiments.bench.timing import BenchRow
from regulargpt.storage.environment import environment
from regulargpt.tables import Table, markdown

CASES: dict[str, Callable[[str], Iterator[BenchRow]]] = {
    "tree": regular.tree,
    "every": regular.every,
    "forward": regular.forward,
    "samplers": rates.samplers,
    "models": rates.models,
    "text": text.texts,
    "rivals": rivals.steps,
    "chunks": rivals.chunks,
    "memory": rivals.memory,
}
"""Of each scale, `smoke` or `full`, the rows that a case measures."""
HEADER = ("case", "what", "variant", "figure", "quartiles", "unit", "seconds", "wanted")


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; SystemExit with code 2 for a wrong command."""
    about = "Measure speed and memory. A ratio is the median over rounds that take the variants in turn."
    parser = argparse.ArgumentParser(prog="python -m experiments.bench", description=about)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all, if none is named")
    parser.add_argument("--scale", choices=("smoke", "full"), default="full", help="smoke only tries it out (full)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="CPU threads (1)")
    parser.add_argument("--json", action="store_true", help="print the rows and the environment as JSON")
    chosen = parser.parse_args(arguments)
    if unknown := [case for case in chosen.cases if case not in CASES]:
        parser.error(f"unknown case '{unknown[0]}'; choose of {', '.join(CASES)}")
    if chosen.threads < 1:
        parser.error(f"--threads {chosen.threads}: give 1 or more")
    return chosen


def measured(cases: Iterable[str], scale: str) -> Iterator[tuple[str, BenchRow]]:
    """The rows of the cases, each with the name of its case; a line on stderr says which case is measured."""
    for case in cases:
        print(f"{case}: {CASES[case].__doc__}", file=sys.stderr)
        yield from ((case, row) for row in CASES[case](scale))


def cells(case: str, row: BenchRow) -> tuple[str, ...]:
    """A line of the table.

    >>> cells("tree", BenchRow("inference, T = 500", "tree over dense", 234.123, "times as fast", 230.0, 240.0, 0.003))
    ('tree', 'inference, T = 500', 'tree over dense', '234', '230-240', 'times as fast', '0.003', '')
    """
    quartiles = "" if row.low is None else f"{plain(row.low)}-{plain(row.high)}"
    figure = plain(row.value) or "left out: too much memory"
    return (case, row.what, row.variant, figure, quartiles, row.unit, plain(row.seconds), plain(row.wanted))


def plain(value: float | None) -> str:
    """A number in three significant figures.

    >>> plain(0.012345), plain(1234.5), plain(None)
    ('0.0123', '1234', '')
    """
    return "" if value is None else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    given = options(arguments)
    torch.set_num_threads(given.threads)
    rows = list(measured(given.cases or CASES, given.scale))
    if given.json:
        records = [{"case": case, **asdict(row)} for case, row in rows]
        print(json.dumps({"scale": given.scale, "environment": environment(), "rows": records}, indent=2))
    else:
        print(markdown(Table(HEADER, [cells(*each) for each in rows], names=3)))


if __name__ == "__main__":
    main(sys.argv[1:])
