"""Rows of numbers as files whose bytes depend on the numbers alone: metrics.jsonl and measures.csv."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regulargpt.storage import atomic
from regulargpt.storage.manifest import IntegrityError

GUESSED = ("chance", "majority")
"""What guessing has of a measure."""


def render_rows(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """One JSON object a line, keys in the order given; numbers that JSON does not know become strings.

    >>> render_rows([{"step": 1, "loss": 0.5}, {"step": 2, "loss": float("nan")}])
    b'{"step": 1, "loss": 0.5}\\n{"step": 2, "loss": "nan"}\\n'
    """
    lines = (json.dumps({key: _plain(value) for key, value in row.items()}, allow_nan=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows that were written, one JSON object a line."""
    return [json.loads(line) for line in atomic.read_bytes(path).splitlines()]


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def render_measures(samples: Mapping[str, int], measures: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """measures.csv, from `samples` and `measures` of summary.json: a row a length, and columns of each measure's own.

    These are its value, the bounds of its interval and, where something can be guessed, chance and the best single
    answer; reading gives the same floats.

    >>> found = {"accuracy": {"values": {"41": 100.0}, "intervals": {"41": [99.25, 100.0]}}}
    >>> print(render_measures({"41": 512}, found), end="")
    length,samples,accuracy,accuracy_low,accuracy_high
    41,512,100.0,99.25,100.0
    """
    parts = {name: ("", "_low", "_high", *(f"_{key}" for key in GUESSED if key in of)) for name, of in measures.items()}
    header = ["length", "samples", *(f"{name}{part}" for name, of in parts.items() for part in of)]
    lines = [
        [length, count, *(x for of in measures.values() for x in columns_at(of, length))]
        for length, count in sorted(samples.items(), key=lambda item: int(item[0]))
    ]
    return "".join(",".join(map(str, line)) + "\n" for line in (header, *lines))


def columns_at(of: Mapping[str, Mapping[str, Any]], length: str) -> list[float]:
    return [of["values"][length], *of["intervals"][length], *(of[key][length] for key in GUESSED if key in of)]


@contextmanager
def appending(path: Path) -> Iterator[int]:
    with atomic.reported(path):
        handle = atomic.disk.append(path)
        try:
            yield handle
        finally:
            atomic.disk.close(handle)


def append(path: Path, data: bytes) -> None:
    """Add bytes at the end. A crash can leave a part of them: `cut` removes it on resume."""
    with appending(path) as handle:
        atomic.write_all(handle, data)


def sync(path: Path) -> int:
    """Bring the file and its name to the disk and return its size in bytes; creates it if there is none."""
    with atomic.reported(path):
        with appending(path) as handle:
            atomic.disk.sync(handle)
        atomic.disk.sync_folder(path.parent)
        return atomic.disk.size(path)


def cut(path: Path, offset: int) -> None:
    """Keep the first `offset` bytes; IntegrityError if there are fewer, for then rows are lost.

    Not synced: if a crash brings the rest back, it is cut again.
    """
    with atomic.reported(path):
        # One that is lost is not made anew: what is refused leaves everything as it was.
        is_lost = offset > 0 and not atomic.disk.exists(path)
    size = 0 if is_lost else sync(path)
    if size < offset:
        message = f"{atomic.shown(path)} has {size} bytes, but the checkpoint was saved after {offset}"
        raise IntegrityError(f"{message}; restore it from a copy, or remove the run and train again")
    with appending(path) as handle:
        atomic.disk.truncate(handle, offset)
