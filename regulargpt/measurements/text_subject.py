"""What is analysed of a language model: a finished run on a text, and segments of its test part."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtyping import Int
from numpy import ndarray

from languages.errors import UserError, shown
from regulargpt import data
from regulargpt.config.schema import RunConfig
from regulargpt.data import is_text, noun_of
from regulargpt.data.base import Words
from regulargpt.data.text import TextData
from regulargpt.measurements.subject import Looked, config_of, refuse_file, refuse_many
from regulargpt.models.regulargpt.options import LONGEST_PAIRED
from regulargpt.models.transformer import Transformer
from regulargpt.runs.load import load_reader
from regulargpt.runs.run import prepare, refuse_other_data
from regulargpt.storage.folder import RunFolder

TIMES = (8, 4, 2, 1)
"""So many times the training length is looked at where nobody says otherwise, the first that is possible."""


@dataclass(frozen=True)
class TextSubject(Looked):
    """With its text, and the test segments that it is looked at with: the last symbol of each is only predicted."""

    data: TextData
    segments: Words  # (segments, length + 1)

    @property
    def length(self) -> int:
        """How many symbols of a segment are read."""
        return self.segments.shape[1] - 1

    @property
    def files(self) -> Int[ndarray, "segments"]:
        """The file that each segment lies in."""
        return self.data.files(self.seed, self.length, len(self.segments))

    @property
    def transformer(self) -> Transformer:
        """The model; UserError if it is no Transformer, whose attention has a logit for each distance."""
        if not isinstance(self.model, Transformer):
            name = self.config.model.title
            raise UserError(f"{shown(self.run)} is a run of {name}: it has no such attention; choose a transformer's")
        return self.model

    @property
    def facts(self) -> dict[str, Any]:
        """What was looked at, for a report."""
        return {
            "run_dir": str(self.run),
            "language": self.data.name,
            "model": self.config.model.title,
            "train_len": self.train_len,
            "attention": self.attention,
            "length": self.length,
            "segments": len(self.segments),
            "seed": self.seed,
        }


def text_subject(
    folder: RunFolder,
    name: str,
    *,
    length: int | None = None,
    segments: int,
    seed: int | None = None,
    attention: str = "full",
    out: Path | None = None,
    times: tuple[int, ...] = TIMES,
    paired: bool = False,
) -> TextSubject:
    """A finished run on a text, with so many segments of its test part: those of its test, where the seed is the run's.

    Without a length, that of `times` the training length. Results go to `out`, by default RUN/`name`. `paired` is for
    what keeps a number for each pair of positions, as gradients do.

    Raises UserError, before anything is computed, for a run that is not finished or not on a text, a text that has
    changed, a length that the text or the model does not allow, an attention that the model does not have, too many
    symbols, or an `out` that is a file.
    """
    out = refuse_file(folder.path / name if out is None else out)
    config = on_text(folder, attention)
    folder.load_summary()
    text = of_options(config)
    refuse_other_data(folder, text)

    def refusal(length: int) -> str | None:
        return why_not(config, text, length, paired)

    length = default_length(config.data.train_len, times, refusal) if length is None else length
    if (reason := refusal(length)) is not None:
        raise UserError(f"--length {length}: {reason}")
    refuse_many(length, segments, "segments")
    seed = config.seed if seed is None else seed
    prepare(config)
    drawn = text.test(seed, length, segments)
    return TextSubject(folder.path, config, load_reader(folder), seed, out, name, text, drawn)


def on_text(folder: RunFolder, attention: str) -> RunConfig:
    """The config of a run on a text, as `config_of` gives it; UserError for a run on no text."""
    name = RunConfig.parse(folder.config_text).data.name
    if not is_text(name):
        place, noun = shown(folder.path), noun_of(name)
        raise UserError(f"{place} is a run on the {noun} {name}; choose a run on a text, such as text:code")
    return config_of(folder, attention)


def of_options(config: RunConfig) -> TextData:
    """The text of a run, from which segments are drawn that end where those of its test do."""
    text = data.build(dataclasses.replace(config.data, scoring="position"))  # type: ignore[call-arg]  # a text's have it
    assert isinstance(text, TextData)
    return text


def why_not(config: RunConfig, text: TextData, length: int, paired: bool) -> str | None:
    """Why segments of this length cannot be looked at; None if they can."""
    if not text.is_tested(length):
        return text.describe_length(length)
    # Its encoding may have taken the training length from the run.
    if (reason := config.network.too_long(length)) is not None:
        return reason
    if paired and config.model.quadratic and length > LONGEST_PAIRED:
        return f"at most {LONGEST_PAIRED:,} for the gradients of {config.model.label}; choose a shorter one"
    return None


def default_length(train_len: int, times: tuple[int, ...], refusal: Callable[[int], str | None]) -> int:
    """The first of so many times the training length that is not refused, or else the last of them.

    >>> default_length(64, (8, 4, 1), lambda length: "too long" if length > 300 else None)
    256
    """
    lengths = [factor * train_len for factor in times]
    return next((length for length in lengths if refusal(length) is None), lengths[-1])
