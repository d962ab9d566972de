"""What each method came to at each length, kept as soon as it is known: a comparison of hours goes on where it stopped.

PLACE/METHOD-LENGTH-DIGEST.json has the numbers of each segment, and all that they depend on, of which DIGEST is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

CELLS = "cells"
"""The folder in that of the results."""
ANYWHERE = ("commit", "cpu_count")
"""What an environment says that no number depends on: the source is there."""
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Cells:
    """The results that are kept in a folder; with none nothing is kept. `notice` is told of a file that is damaged."""

    place: Path | None
    notice: Callable[[str], None] = field(default=lambda text: None)

    @property
    def where(self) -> str:
        """The folder, in words."""
        return shown(self.place or Path())

    def path(self, facts: Facts) -> Path:
        """The file of a result."""
        name = f"{facts['method']}-{facts['length']}-{digest(atomic.render_json(facts))[:16]}.json"
        return (self.place or Path()) / name

    def kept(self, facts: Facts) -> Point | None:
        """The result that depends on this and nothing else; None where there is none, or it is damaged."""
        path = self.path(facts)
        if self.place is None or not path.exists():
            return None
        try:
            return read(path, facts)
        except UserError as error:
            if not is_damage(error):
                raise
            self.notice(f"{shown(path)} is damaged; it is computed again")
            return None

    def keep(self, facts: Facts, point: Point) -> None:
        """Write a result."""
        if self.place is not None:
            atomic.make_folder(self.place)
            atomic.write_bytes(self.path(facts), render(facts, point))


def facts_of(run: Opened, device: str) -> dict[str, Any]:
    """What every result of a network depends on: weights, text, options, training length, machine and versions."""
    made_with = {key: value for key, value in environment(device).items() if key not in ANYWHERE}
    network, text = as_mapping(run.config.model), run.data.fingerprint()
    return {"weights": run.weights, "network": network, **text, "classes": digests(run.config), "made_with": made_with}


def facts_of_test(of_run: Facts, name: str, test: Retest, changes: Facts, scores: list[str]) -> dict[str, Any]:
    """The same with what a method and length add."""
    config, options = (
        test.config,
        {"data": as_mapping(test.config.data), "evaluation": as_mapping(test.config.evaluation)},
    )
    more = {"changes": dict(changes), "seed": test.seed, "threads": config.threads, "scores": scores}
    facts = {"method": name, "length": test.lengths[0], **options, **more, **of_run}
    return json.loads(json.dumps(facts))  # as it is read back


def render(facts: Facts, point: Point) -> bytes:
    """The bytes of a file; the last line has the digest of the others."""
    files = None if point.files is None else point.files.tolist()
    numbers = {name: of_words.tolist() for name, of_words in point.of_words.items()}
    content = atomic.render_json({"facts": facts, "files": files, "of_words": numbers})
    return content + digest(content).encode() + b"\n"


def read(path: Path, facts: Facts) -> Point:
    """The result in a file.

    Raises IntegrityError for bytes that are not those that were written, FormatError for another result's.
    """
    content, _, end = atomic.read_bytes(path).removesuffix(b"\n").rpartition(b"\n")
    content += b"\n"
    if digest(content).encode() != end:
        raise damaged(path, end.decode("ascii", "backslashreplace"), digest(content))
    found = atomic.parse_json(content, path)
    if found.get("facts") != facts:
        raise IntegrityError(f"{shown(path)} is of another test; delete it")
    try:
        files = None if found["files"] is None else np.array(found["files"])
        of_words = {name: torch.tensor(numbers, dtype=torch.float64) for name, numbers in found["of_words"].items()}
        samples = {len(numbers) for numbers in of_words.values()}
        if len(samples) != 1 or (files is not None and {len(files)} != samples):
            raise ValueError("segments without numbers")
        return Point(facts["length"], samples.pop(), *measured_of(of_words, files), files=files)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise atomic.FormatError(f"{shown(path)} has no result: {error}; delete it") from error
