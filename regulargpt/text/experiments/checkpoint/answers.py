"""What a checkpoint answered, in files: one a task and strategy, with its columns; a folder belongs to one checkpoint.

DIR/checkpoint.json              which checkpoint it is, and what it is asked
DIR/answers/TASK-STRATEGY.json   its answers, by size
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.page.record import part
from languages.errors import UserError
from regulargpt.storage import atomic
from regulargpt.text.corpora.retrieval.prompts import PROMPTS
from regulargpt.text.experiments.checkpoint.plan import STRATEGIES

FORMAT = 1
CHECKPOINT, ANSWERS = "checkpoint.json", "answers"


@dataclass(frozen=True)
class Identity:
    """What must be the same in every session: the digests of weights and tokenizer, the scale and its numbers.

    `name` and `sizes` are those of the network, `environment` is that of the first session.
    """

    weights: str
    tokenizer: str
    scale: str
    samples: int
    aligned: int
    seed: int
    name: str
    sizes: Mapping[str, int]
    environment: Mapping[str, Any]
    format: int = FORMAT


@dataclass(frozen=True)
class Answer:
    """What was to be said, what was said, and whether that is right."""

    wanted: str
    said: str
    right: bool


@dataclass(frozen=True)
class AnswerColumn:
    """The answers at a size with one strategy: the mean tokens of the prompts, and the temperature."""

    tokens: int
    tau: float
    at_bound: bool
    answers: tuple[Answer, ...]

    @property
    def right(self) -> int:
        """How many are right."""
        return sum(answer.right for answer in self.answers)


@dataclass(frozen=True)
class AnswerStore:
    """The folder of a checkpoint at a scale."""

    place: Path

    @property
    def identity(self) -> Identity | None:
        """Whose folder it is; None before the first session."""
        path = self.place / CHECKPOINT
        if not path.exists():
            return None
        values = atomic.parse_json(atomic.read_bytes(path), path)
        if values.get("format") != FORMAT:
            raise atomic.FormatError(f"{atomic.shown(path)} is not of format {FORMAT}; choose another --out")
        with undamaged(path):
            return part(Identity, values)

    def claim(self, identity: Identity) -> None:
        """Make it the folder of a checkpoint; UserError if it is another's, or was asked for something else."""
        earlier = self.identity
        if earlier is None:
            atomic.make_folder(self.place / ANSWERS)
            atomic.write_json(self.place / CHECKPOINT, asdict(identity))
            return
        refuse_other(self.place, earlier, identity)

    def path(self, task: str, strategy: str) -> Path:
        """The file of a task and strategy."""
        return self.place / ANSWERS / f"{task}-{strategy}.json"

    def columns(self, task: str, strategy: str) -> dict[int, AnswerColumn]:
        """What is kept of a task and strategy, by size; FormatError for a file that holds something else."""
        path = self.path(task, strategy)
        if not path.exists():
            return {}
        values = atomic.parse_json(atomic.read_bytes(path), path)
        with undamaged(path):
            return {int(size): column(content) for size, content in values.items()}

    def keep(self, task: str, strategy: str, size: int, answered: AnswerColumn) -> None:
        """Write a column beside those that are there."""
        columns = self.columns(task, strategy) | {size: answered}
        atomic.make_folder(self.place / ANSWERS)
        values = {str(size): asdict(columns[size]) for size in sorted(columns)}
        atomic.write_json(self.path(task, strategy), values)

    def all(self) -> dict[tuple[str, int, str], AnswerColumn]:
        """Everything by task, size and strategy."""
        names = [(task, strategy) for task in PROMPTS for strategy in STRATEGIES]
        return {
            (task, size, strategy): content
            for task, strategy in names
            for size, content in self.columns(task, strategy).items()
        }


def column(values: Mapping[str, Any]) -> AnswerColumn:
    """A column of a file."""
    return part(AnswerColumn, {**values, "answers": [part(Answer, answer) for answer in values["answers"]]})


@contextmanager
def undamaged(path: Path) -> Iterator[None]:
    """FormatError if what is read in the block is something else than its name says."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError):
        raise atomic.FormatError(f"{atomic.shown(path)} is damaged; restore it from a copy, or delete it") from None


def refuse_other(place: Path, earlier: Identity, wanted: Identity) -> None:
    """UserError for the first difference that matters."""
    where = atomic.shown(place)
    for key, what in (("weights", "weights"), ("tokenizer", "tokenizer")):
        ours, theirs = getattr(earlier, key), getattr(wanted, key)
        if ours != theirs:
            raise UserError(
                f"{where} is of a checkpoint with the {what} {ours[:12]}; those of {wanted.name} are {theirs[:12]}; "
                "choose another --out"
            )
    if earlier.samples != wanted.samples:
        there = f"{where} has {earlier.samples} prompts a column"
        raise UserError(f"{there}; give --samples {earlier.samples}, or choose another --out")
    for key in ("scale", "aligned", "seed"):
        if getattr(earlier, key) != getattr(wanted, key):
            raise UserError(f"{where} was made with another {key}: {getattr(earlier, key)}; choose another --out")
