"""The retrieval tasks by name: `retrieval("retrieval:line:keys=32")`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from languages.errors import LanguageError, nearest
from languages.registry import RETRIEVAL
from languages.specification import Parameter, read_parameters
from regulargpt.text.corpora.retrieval.base import Retrieval

LARGEST_SIZE = 4096


@dataclass(frozen=True)
class TaskRow:
    """Where a task is, a line on it, and how many questions, keys and values it has where nobody says otherwise."""

    place: str
    summary: str
    questions: int
    keys: int
    values: int

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        accepts = f"a whole number, 1 to {LARGEST_SIZE}"
        return tuple(Parameter(key, value, accepts) for key, value in self.sizes.items())

    @property
    def sizes(self) -> dict[str, int]:
        """Those that are not 0."""
        sizes = {key: getattr(self, key) for key in ("questions", "keys", "values")}
        return {key: value for key, value in sizes.items() if value}


ROWS = {
    "line": TaskRow("lines:Lines", "lines `key value`; the value of a key", 16, 64, 16),
    "needles": TaskRow("lines:Needles", "four such lines in noise, two values a key", 8, 64, 16),
    "passkey": TaskRow("lines:Passkey", "one key in noise, and its five digits", 5, 1, 10),
    "documents": TaskRow("sections:Documents", "documents with a key and a value each; the value of a key", 16, 16, 16),
    "code-key": TaskRow("sections:CodeKey", "functions, of which one returns a value", 1, 64, 16),
    "topic": TaskRow("sections:Topic", "a conversation in topics; the first of them", 1, 64, 0),
}


def listing() -> tuple[tuple[str, str], ...]:
    """The names and a line on each.

    >>> listing()[0]
    ('retrieval:line', 'lines `key value`; the value of a key')
    """
    return tuple((f"{RETRIEVAL}{name}", row.summary) for name, row in ROWS.items())


def retrieval(name: str) -> Retrieval:
    """The task of a name, with parameters behind a colon if there are any.

    LanguageError: an unknown task, parameter or value.

    >>> retrieval("retrieval:lien")
    Traceback (most recent call last):
    languages.errors.LanguageError: unknown task 'retrieval:lien'; did you mean 'retrieval:line'?
    """
    stem, _, written = name.removeprefix(RETRIEVAL).partition(":")
    names = [each for each, _ in listing()]
    if stem not in ROWS:
        given = f"{RETRIEVAL}{stem}"
        close = nearest(given, names) if nearest(stem, ROWS) else ""  # they all begin alike
        raise LanguageError(f"unknown task {given!r:.80};{close or ' known are ' + ', '.join(names)}")
    row = ROWS[stem]
    sizes = {**row.sizes, **read_parameters(row.parameters, f"{RETRIEVAL}{stem}", written)}
    for key, value in sizes.items():
        if not 1 <= value <= LARGEST_SIZE:
            raise LanguageError(f"{name}: {key} is {value}; it is a whole number, 1 to {LARGEST_SIZE}")
    module, _, kind = row.place.partition(":")
    task: type[Retrieval] = getattr(import_module(f"regulargpt.text.corpora.retrieval.{module}"), kind)
    if sizes["questions"] % task.together:
        raise LanguageError(f"{name}: questions come {task.together} together; give a multiple of it")
    return task(name, **{"values": 0, **sizes})
