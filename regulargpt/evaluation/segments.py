"""The numbers of single segments: differences between lengths or models are taken segment by segment."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from languages.errors import UserError
from regulargpt.storage.folder import SEGMENTS, RunFolder

if TYPE_CHECKING:
    from regulargpt.evaluation.by_length import Point

NLL = "nll"


def of_points(points: Sequence[Point]) -> dict[int, np.ndarray]:
    """The nats per symbol of every segment, by length, of a test that has such numbers."""
    return {point.length: point.of_words[NLL] for point in points if NLL in point.of_words}


def render(nats: Mapping[int, np.ndarray]) -> str:
    """segments.csv: length, segment, nats per symbol; empty where there are none."""
    rows = [(length, i, repr(float(nll))) for length, each in nats.items() for i, nll in enumerate(each)]
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("length", "segment", NLL))
    writer.writerows(rows)
    return text.getvalue()


def read(folder: RunFolder) -> dict[int, np.ndarray]:
    """The nats per symbol of every test segment, by length, in the order of the segments.

    Raises UserError for a run that has none.
    """
    return parse(folder.load_segments())


def parse(text: str) -> dict[int, np.ndarray]:
    """What `render` wrote.

    >>> parse("length,segment,nll\\n64,0,1.5\\n64,1,2.5\\n")
    {64: array([1.5, 2.5])}
    """
    values_of: dict[int, list[float]] = {}
    try:
        for row in csv.DictReader(io.StringIO(text)):
            values_of.setdefault(int(row["length"]), []).append(float(row[NLL]))
    except (KeyError, ValueError, TypeError) as error:
        raise UserError(f"{SEGMENTS}: {error}; it is not what a run writes") from error
    return {length: np.array(values) for length, values in values_of.items()}
