"""losses.json beside a page: what every segment cost every network, so that each paired verdict can be computed again.

`files[seed][segments]` has the file of the text that each of so many segments lies in, `losses[row][seed][length]` the
loss of each segment in thousandths of a nat a symbol. Pages are made of these rounded numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from experiments.text.results import Files, Losses, Results
from regulargpt.storage import atomic

LOSSES = "losses.json"
UNIT = 1000


def rounded(losses: Losses) -> Losses:
    """The losses as they are kept.

    >>> rounded({64: np.array([1.23449, 2.0])})
    {64: array([1.234, 2.   ])}
    """
    return {length: np.rint(UNIT * each) / UNIT for length, each in losses.items()}


def write(place: Path, results: Results) -> None:
    """Write the losses of a page into its folder: a line a row and seed."""
    files = {str(seed): {n: of.tolist() for n, of in known.items()} for seed, known in results.files.items()}
    head = f'{{"unit":"1/{UNIT} nat a symbol","train_len":{results.train_len},"files":{dense(files)},"losses":{{\n'
    atomic.make_folder(place)
    atomic.write_text(place / LOSSES, head + ",\n".join(lines(results)) + "\n}}\n")


def lines(results: Results) -> Iterator[str]:
    """Each row's seeds."""
    for row, seeds in results.losses.items():
        each = ",\n ".join(f'"{seed}":{dense(in_units(run))}' for seed, run in seeds.items())
        yield f"{dense(row)}:{{\n {each}}}"


def in_units(run: Losses) -> dict[int, list[int]]:
    """The losses of a run as whole numbers."""
    return {length: np.rint(UNIT * each).astype(int).tolist() for length, each in run.items()}


def read(place: Path) -> Results:
    """The results that the losses of a page are; it has no further measures."""
    path = place / LOSSES
    known = atomic.parse_json(atomic.read_bytes(path), path)
    losses = {
        row: {int(seed): numbered(run, lambda each: np.array(each) / UNIT) for seed, run in seeds.items()}
        for row, seeds in known["losses"].items()
    }
    files: Files = {int(seed): numbered(of, np.array) for seed, of in known["files"].items()}
    return Results(known["train_len"], losses, files=files)


def numbered(found: Mapping[str, Any], made: Callable[[Any], Any]) -> dict[int, Any]:
    """Keys as numbers, and values made arrays.

    >>> numbered({"64": [1]}, tuple)
    {64: (1,)}
    """
    return {int(key): made(value) for key, value in found.items()}


def dense(value: object) -> str:
    """JSON without blanks."""
    return json.dumps(value, separators=(",", ":"))


def files_of(losses: Losses, of: Callable[[int, int], Int[np.ndarray, " segments"] | None]) -> dict[int, Any]:
    """By how many segments there are, the file of each: `of` says it of a length and a number of segments."""
    known = {len(each): of(length, len(each)) for length, each in losses.items()}
    return {count: files for count, files in known.items() if files is not None}
