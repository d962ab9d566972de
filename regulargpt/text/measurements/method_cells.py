"""What each method came to at each length, kept as soon as it is known: a comparison of hours goes on where it stopped.

PLACE/METHOD-LENGTH-DIGEST.json has the numbers of each segment, and all that they depend on, of which DIGEST is made.
A temperature that was searched for is kept in the same way, in a folder of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from languages.errors import UserError, shown
from regulargpt.evaluation.by_length import Point, measured_of
from regulargpt.options import as_mapping
from regulargpt.runs.again import Retest
from regulargpt.runs.opened import Opened
from regulargpt.runs.outside import digests
from regulargpt.storage import atomic
from regulargpt.storage.environment import environment
from regulargpt.storage.manifest import IntegrityError, damaged, digest, is_damage

CELLS, TEMPERATURES = "cells", "temperatures"
"""The folders in that of the results."""
ANYWHERE = ("commit", "cpu_count")
"""What an environment says that no number depends on: the source is there."""
Facts = Mapping[str, Any]
Progress = Callable[[int, int], None]


class MeasuredCell(Protocol):
    """What is measured: all that its result depends on, and how many symbols are read for it."""

    @property
    def facts(self) -> Facts: ...

    @property
    def symbols(self) -> int: ...


C = TypeVar("C", bound=MeasuredCell)


def values_of(point: Point) -> dict[str, Any]:
    """The numbers of a test, segment by segment, as a file has them."""
    files = None if point.files is None else point.files.tolist()
    return {"files": files, "of_words": {name: of_words.tolist() for name, of_words in point.of_words.items()}}


def point_of(content: Mapping[str, Any]) -> Point:
    """The test whose numbers a file has; KeyError, TypeError or ValueError for other content."""
    files = None if content["files"] is None else np.array(content["files"])
    of_words = {name: torch.tensor(numbers, dtype=torch.float64) for name, numbers in content["of_words"].items()}
    samples = {len(numbers) for numbers in of_words.values()}
    if len(samples) != 1 or (files is not None and {len(files)} != samples):
        raise ValueError("segments without numbers")
    return Point(content["facts"]["length"], samples.pop(), *measured_of(of_words, files), files=files)


@dataclass(frozen=True)
class Cells:
    """The results that are kept in a folder; with none nothing is kept. `notice` is told of a file that is damaged.

    A file has the `values` of a result, from which `found` makes it.
    """

    place: Path | None
    notice: Callable[[str], None] = field(default=lambda text: None)
    values: Callable[[Any], Mapping[str, Any]] = values_of
    found: Callable[[Mapping[str, Any]], Any] = point_of

    @property
    def where(self) -> str:
        """The folder, in words."""
        return shown(self.place or Path())

    def path(self, facts: Facts) -> Path:
        """The file of a result."""
        name = f"{facts['method']}-{facts['length']}-{digest(atomic.render_json(facts))[:16]}.json"
        return (self.place or Path()) / name

    def kept(self, facts: Facts) -> Any:
        """The result that depends on this and nothing else; None where there is none, or it is damaged."""
        path = self.path(facts)
        if self.place is None or not path.exists():
            return None
        try:
            return self.read(path, facts)
        except UserError as error:
            if not is_damage(error):
                raise
            self.notice(f"{shown(path)} is damaged; it is computed again")
            return None

    def keep(self, facts: Facts, result: Any) -> None:
        """Write a result; the last line of its file has the digest of the others."""
        if self.place is not None:
            content = atomic.render_json({"facts": facts, **self.values(result)})
            atomic.make_folder(self.place)
            atomic.write_bytes(self.path(facts), content + digest(content).encode() + b"\n")

    def read(self, path: Path, facts: Facts) -> Any:
        """The result in a file.

        Raises IntegrityError as `content` does, and for another result's; FormatError for what is none.
        """
        kept = content(path)
        if kept.get("facts") != facts:
            raise IntegrityError(f"{shown(path)} is of another test; delete it")
        try:
            return self.found(kept)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise atomic.FormatError(f"{shown(path)} has no result: {error}; delete it") from error

    def results(
        self, cells: Sequence[C], compute: Callable[[C, Callable[[int], None]], Any], progress: Progress
    ) -> Iterator[tuple[C, Any]]:
        """Each cell with its result, kept or computed; says how many are kept. `progress` counts symbols of all.

        `compute` is given what it tells how many symbols of its cell it has read.
        """
        kept = [self.kept(cell.facts) for cell in cells]
        if count := sum(result is not None for result in kept):
            self.notice(f"{count} of {len(kept)} results are kept in {self.where}")
        done, total = 0, sum(cell.symbols for cell in cells)
        for cell, result in zip(cells, kept, strict=True):
            progress(done, total)
            heard = partial(lambda before, symbols: progress(before + symbols, total), done)
            yield cell, compute(cell, heard) if result is None else result
            done += cell.symbols
        progress(total, total)


def facts_of(run: Opened, device: str) -> dict[str, Any]:
    """What every result of a network depends on: weights, text, options, training length, machine and versions."""
    return {**facts_of_network(run, device), **run.data.fingerprint()}


def facts_of_network(run: Opened, device: str) -> dict[str, Any]:
    """The same without the text."""
    made_with = {key: value for key, value in environment(device).items() if key not in ANYWHERE}
    network = as_mapping(run.config.model)
    return {"weights": run.weights, "network": network, "classes": digests(run.config), "made_with": made_with}


def facts_of_test(of_run: Facts, name: str, test: Retest, more: Facts) -> dict[str, Any]:
    """The same with what a method and length add: the text's options, the seed, the threads, and `more`."""
    data, threads = as_mapping(test.config.data), test.config.threads
    facts = {"method": name, "length": test.lengths[0], "data": data, "seed": test.seed, "threads": threads}
    return json.loads(json.dumps({**facts, **more, **of_run}))  # as it is read back


def content(path: Path) -> dict[str, Any]:
    """What a file says: `facts`, `files` and `of_words`. IntegrityError for bytes that are not those written."""
    written, _, end = atomic.read_bytes(path).removesuffix(b"\n").rpartition(b"\n")
    written += b"\n"
    if digest(written).encode() != end:
        raise damaged(path, end.decode("ascii", "backslashreplace"), digest(written))
    return atomic.parse_json(written, path)
