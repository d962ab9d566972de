"""Machines in files: `.json`, `.dot` or `.gv`, JFLAP's `.jff`, and AT&T's text in `.att` or `.txt`; see `READERS`."""

import os
import stat
from collections.abc import Iterable
from errno import EINVAL
from pathlib import Path

from languages.automata import Dfa, MooreMachine
from languages.budget import allowed, check
from languages.convert.att import from_att
from languages.convert.dot import from_dot, to_dot
from languages.convert.jflap import from_jflap
from languages.convert.json_text import from_json, to_json
from languages.convert.reading import AS_WRITTEN, Reading
from languages.errors import AutomatonError, UserError, shown

READERS = {
    ".json": from_json,
    ".dot": from_dot,
    ".gv": from_dot,
    ".jff": from_jflap,
    ".att": from_att,
    ".txt": from_att,
}
MAX_BYTES = 2**24
WRITERS = {".json": to_json, ".dot": to_dot, ".gv": to_dot}


def load(path: str | Path, how: Reading = AS_WRITTEN) -> Dfa | MooreMachine:
    """The machine in a file; AutomatonError with the file's name if it cannot be read or is none, TooLarge if it is."""
    path = Path(path)
    _check_suffix(path, READERS)
    return READERS[path.suffix.lower()](read_text(path), shown(path), how)


def read_text(path: Path) -> str:
    """The text of a file of at most 16 MiB; AutomatonError with the file's name where there is none."""
    try:
        text = _read(path).decode("utf-8-sig")  # some editors begin a file with a mark
    except UserError:
        raise
    except UnicodeDecodeError:
        raise AutomatonError(f"{shown(path)}: not a text file in UTF-8") from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise AutomatonError(f"{shown(path)}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return text.replace("\r\n", "\n")


def _read(path: Path) -> bytes:
    """The bytes of a regular file. A pipe or device, which may wait or give bytes forever, is not even opened."""
    # Looked at before it is opened, and bounded again while it is read: it may grow in between.
    refuse_folder(path)
    state = os.stat(path)
    if not stat.S_ISREG(state.st_mode):
        raise OSError(EINVAL, "it is a pipe or device, not a file")
    check(state.st_size, MAX_BYTES, f"{shown(path)}: {state.st_size:,} bytes")
    with open(path, "rb") as file:
        content = file.read(allowed(MAX_BYTES) + 1)
    check(len(content), MAX_BYTES, f"{shown(path)}: {len(content):,} bytes or more")
    return content


def refuse_folder(path: Path) -> None:
    """AutomatonError for a folder, where a file is wanted."""
    if os.path.isdir(path):
        raise AutomatonError(f"{shown(path)} is a folder; name a file in it")


def save(machine: Dfa | MooreMachine, path: str | Path) -> None:
    """Writes the machine to a file, in the form that its name's ending says."""
    path = Path(path)
    _check_suffix(path, WRITERS)
    try:
        path.write_text(WRITERS[path.suffix.lower()](machine), encoding="utf-8")
    except OSError as error:
        raise AutomatonError(f"{shown(path)}: cannot be written ({error.strerror})") from None


def _check_suffix(path: Path, endings: Iterable[str]) -> None:
    refuse_folder(path)
    if path.suffix.lower() not in endings:
        every = ", ".join(endings)
        raise AutomatonError(f"{shown(path)}: unknown ending {path.suffix!r}; machines are in {every} files")
