"""How long each session of a reproduction took: sessions.json beside its page."""

from __future__ import annotations

from pathlib import Path

from regulargpt.storage import atomic

SESSIONS = "sessions.json"


def seconds_in(place: Path) -> list[float]:
    """The seconds of each session so far; FormatError if the file says something else."""
    file = place / SESSIONS
    if not file.exists():
        return []
    seconds = atomic.parse_json(atomic.read_bytes(file), file).get("seconds")
    if not isinstance(seconds, list) or not all(isinstance(number, int | float) for number in seconds):
        raise atomic.FormatError(f"{atomic.shown(file)} has no list of seconds; restore it from a copy, or delete it")
    return seconds


def add(place: Path, seconds: float) -> None:
    """Record how long a session took."""
    before = seconds_in(place)
    atomic.make_folder(place)
    atomic.write_json(place / SESSIONS, {"seconds": [*before, round(seconds, 1)]})
