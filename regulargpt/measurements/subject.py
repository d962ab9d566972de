"""What is analysed: a finished run, and fresh words of its language that are longer than those it was trained on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from languages.errors import UserError, shown
from languages.task import Task
from regulargpt import data, plots
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import refuse_attention
from regulargpt.data.language import Words
from regulargpt.evaluation.by_length import seen_through
from regulargpt.measurements import files
from regulargpt.models.base import Model
from regulargpt.models.regulargpt.options import LONGEST_PAIRED
from regulargpt.runs.load import load_model
from regulargpt.runs.run import prepare, refuse_other_data
from regulargpt.storage.folder import RunFolder

Picture = Callable[[Path, dict[str, Any], str], None]

LENGTH = 500
MAX_SYMBOLS = 1 << 20


@dataclass(frozen=True)
class Looked:
    """A trained model on the CPU, its run, the seed of what it is looked at with, the folder of the results, and the
    name of the files in it.
    """

    run: Path
    config: RunConfig
    model: Model
    seed: int
    out: Path
    name: str

    @property
    def train_len(self) -> int:
        """The training length."""
        return self.config.data.train_len

    @property
    def attention(self) -> str:
        """What each position sees: full, bca or sliding:W."""
        return self.config.evaluation.attention

    def seen(self, attention: str | None = None) -> AbstractContextManager[None]:
        """Look at the model under another attention than its own, or the one that was asked for."""
        return seen_through(self.model, attention or self.attention, self.train_len)

    def write(self, report: dict[str, Any], rows: files.Rows, picture: Picture) -> None:
        """The report as JSON, the rows as CSV, and the picture of the report, which is told where and its title."""
        title = plots.title(self.config)
        files.write(self.out, self.name, report, rows, lambda path: picture(path, report, title))


@dataclass(frozen=True)
class Subject(Looked):
    """With its language, and the words that it is looked at with."""

    task: Task
    words: Words  # (batch, length)

    @property
    def length(self) -> int:
        """The length of the words."""
        return self.words.shape[1]

    @property
    def facts(self) -> dict[str, Any]:
        """What was looked at, for a report."""
        return {
            "run_dir": str(self.run),
            "language": self.task.name,
            "model": self.config.model.title,
            "length": self.length,
            "words": len(self.words),
            "seed": self.seed,
        }

    @property
    def answers_prefixes(self) -> bool:
        """Whether the run was trained to answer at every position."""
        return self.config.objective.answers_prefixes


def subject(
    folder: RunFolder,
    name: str,
    *,
    length: int | None,
    words: int,
    seed: int | None,
    out: Path | None,
    attention: str = "full",
) -> Subject:
    """A finished run with so many words, drawn as in its test by `seed` (by default the run's).

    Without a length, the longest up to `LENGTH` that the language has words of. Results go to `out`, by default
    RUN/`name`. Raises UserError, before anything is computed, for a run that is not finished, a language whose
    file has changed, a length that is not longer than the training words or that has no words, too many symbols, or an
    `out` that is a file.
    """
    out = refuse_file(folder.path / name if out is None else out)
    config = config_of(folder, attention)
    folder.load_summary()
    of_language = data.of_words(config.data)
    refuse_other_data(folder, of_language)
    task = of_language.task
    length = default_length(task, config) if length is None else length
    seed = config.seed if seed is None else seed
    check(folder, config, task, length, words)
    drawn = of_language.test(seed, length, words)
    prepare(config)
    return Subject(folder.path, config, load_model(folder), seed, out, name, task, drawn)


def config_of(folder: RunFolder, attention: str) -> RunConfig:
    """The config of a run, on the CPU and under this attention; UserError if its model does not have it."""
    here = {"device": "cpu", "tensorboard": False, "compile": False, "evaluation.attention": attention}
    config = RunConfig.parse(folder.config_text).replaced(here)
    if (reason := refuse_attention(config)) is not None:
        raise UserError(reason)
    return config


def refuse_file(out: Path) -> Path:
    """The folder of the results; UserError if a file lies there."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{shown(out)} is a file; choose another --out")
    return out


def refuse_many(length: int, count: int, what: str) -> None:
    """UserError for so many words, or segments, that their symbols fill the memory."""
    if length * count > MAX_SYMBOLS:
        raise UserError(f"--length {length} with {count} {what}: at most {MAX_SYMBOLS:,} symbols; choose fewer --words")


def default_length(task: Task, config: RunConfig) -> int:
    """The longest length up to `LENGTH` with words, longer than the training words."""
    return max(task.lengths(config.data.train_len + 1, LENGTH), default=LENGTH)


def check(folder: RunFolder, config: RunConfig, task: Task, length: int, count: int) -> None:
    """Refuse words that cannot be drawn, say nothing about longer words, or fill the memory."""
    record = folder.load_model_config()
    if list(task.alphabet) != record["alphabet"] or list(task.output_names) != record["output_names"]:
        raise UserError(f"{task.name} has other symbols or answers than the run in {shown(folder.path)} was trained on")
    if length <= config.data.train_len:
        trained = config.data.train_len
        raise UserError(f"--length {length}: the run was trained on words of up to {trained}; choose a longer one")
    refuse_many(length, count, "words")
    if (reason := config.network.too_long(length)) is not None:
        raise UserError(f"--length {length}: {reason}")
    if config.model.quadratic and length > LONGEST_PAIRED:
        raise UserError(f"--length {length}: at most {LONGEST_PAIRED:,} for {config.model.label}; choose a shorter one")
    if not task.has_length(length):
        raise UserError(task.describe_length(length))
