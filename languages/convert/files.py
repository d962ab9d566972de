"""Machines in files: `.json`, and `.dot` or `.gv`."""

from pathlib import Path

from languages.automata import Dfa, MooreMachine
from languages.convert.dot import from_dot, to_dot
from languages.convert.json_text import from_json, to_json
from languages.errors import AutomatonError

READERS = {".json": from_json, ".dot": from_dot, ".gv": from_dot}
WRITERS = {".json": to_json, ".dot": to_dot, ".gv": to_dot}


def load(path: str | Path) -> Dfa | MooreMachine:
    """The machine in a file; AutomatonError with the file's name if it cannot be read or is none."""
    path = Path(path)
    _check_suffix(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise AutomatonError(f"{path}: not a text file in UTF-8") from None
    except OSError as error:
        raise AutomatonError(f"{path}: cannot be read ({error.strerror})") from None
    return READERS[path.suffix.lower()](text, str(path))


def save(machine: Dfa | MooreMachine, path: str | Path) -> None:
    """Writes the machine to a file, in the form that its name's ending says."""
    path = Path(path)
    _check_suffix(path)
    try:
        path.write_text(WRITERS[path.suffix.lower()](machine), encoding="utf-8")
    except OSError as error:
        raise AutomatonError(f"{path}: cannot be written ({error.strerror})") from None


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in READERS:
        raise AutomatonError(f"{path}: unknown ending {path.suffix!r}; machines are in {', '.join(READERS)} files")
