"""Words of a language that are longer than a run was trained on, or segments of the test part of its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Int
from numpy import ndarray

from languages.errors import UserError, WordError, shown
from regulargpt.data.base import Words
from regulargpt.data.language import LanguageData
from regulargpt.data.options import REACH
from regulargpt.measurements.options import LONGEST
from regulargpt.models.regulargpt.options import LONGEST_PAIRED
from regulargpt.models.transformer import Transformer
from regulargpt.runs.load import refuse_output_token
from regulargpt.runs.opened import Opened, OpenedRun, halves

MAX_SYMBOLS = 1 << 20
MAX_SYMBOLS_OF_SUBWORDS = 1 << 26
SEGMENTS = 48
"""So many segments a claim about a measurement is tested on."""
TIMES = (8, 4, 2, 1)
"""So many times the training length is measured where no length is given, the first that is possible; else a half."""


@dataclass(frozen=True)
class Sample:
    """A run, and what it is measured on: words, or segments whose last symbol is only predicted."""

    run: Opened
    words: Words  # (batch, length), of a text (segments, length + 1)
    seed: int
    is_given: bool = False
    """Whether someone chose these words: then nothing of them is left out."""

    @property
    def is_text(self) -> bool:
        """Whether these are segments of a text."""
        return self.run.data.kind == "text"

    @property
    def read(self) -> Words:
        """What is read (batch, length)."""
        return self.words[:, :-1] if self.is_text else self.words

    @property
    def length(self) -> int:
        """How many symbols are read of each."""
        return self.read.shape[1]

    @property
    def files(self) -> Int[ndarray, "segments"] | None:
        """The file that each segment lies in; None of words."""
        return self.run.data.files(self.seed, self.length, len(self.words))

    @property
    def facts(self) -> dict[str, Any]:
        """What is measured, for a report."""
        facts = self.run.facts("train_len", "attention") if self.is_text else self.run.facts()
        what = "segments" if self.is_text else "words"
        return facts | {"length": self.length, what: len(self.words), "seed": self.seed}


def words_of(run: Opened, length: int | None, count: int, seed: int | None) -> Sample:
    """So many words, drawn as in the run's test by `seed` (by default the run's).

    Without a length, the longest up to `LONGEST` that the language has words of. Raises UserError, before anything is
    computed, for a length that is not longer than the training words or that has no words, and too many symbols.
    """
    assert isinstance(run.data, LanguageData)
    task = run.data.task
    length = max(task.lengths(run.train_len + 1, LONGEST), default=LONGEST) if length is None else length
    if length <= run.train_len:
        raise UserError(
            f"--length {length}: the run was trained on words of up to {run.train_len}; choose a longer one"
        )
    refuse_length(run, length, count)
    if not task.has_length(length):
        raise UserError(task.describe_length(length))
    refuse_token(run)
    return drawn(run, length, count, seed)


def refuse_length(run: Opened, length: int, count: int) -> None:
    """Raise UserError for so many words of a length that the network cannot read, or not in memory."""
    refuse_many(length, count, "words")
    if (reason := run.config.network.too_long(length)) is not None:
        raise UserError(f"--length {length}: {reason}")
    if run.config.model.quadratic and length > LONGEST_PAIRED:
        label = run.config.model.label
        raise UserError(f"--length {length}: at most {LONGEST_PAIRED:,} for {label}; choose a shorter one")


def refuse_token(run: Opened) -> None:
    """Raise UserError for a network that answers at a token after the word: its states of the word answer nothing."""
    assert isinstance(run, OpenedRun)
    refuse_output_token(run.folder)


def given(run: Opened, words: Words) -> Sample:
    """Words (batch, length) that someone chose, all of whose states are kept. The refusals of `words_of`, and of more
    sub-words than fit into memory."""
    count, length = words.shape
    if not length:
        raise WordError("the empty word has no states; give words of one symbol or more")
    refuse_length(run, length, count)
    refuse_token(run)
    if count * length**2 > MAX_SYMBOLS_OF_SUBWORDS:
        raise UserError(f"{count:,} words of {length:,} symbols have too many sub-words; give fewer, or shorter ones")
    return Sample(run, words, run.config.seed, is_given=True)


def segments_of(
    run: Opened,
    length: int | None,
    count: int,
    seed: int | None = None,
    times: tuple[int, ...] = TIMES,
    paired: bool = False,
) -> Sample:
    """So many segments of the test part of a text: those of the run's test, where the seed is the run's.

    Without a length, that of `times` the training length. `paired` is for what keeps a number for each pair of
    positions, as gradients do. Raises UserError, before anything is computed, for a length that the text or the model
    does not allow, and too many symbols.
    """

    def is_refused(length: int) -> bool:
        return length > min(REACH, MAX_SYMBOLS // count) or why_not(run, length, paired) is not None

    length = default_length(run.train_len, times, is_refused) if length is None else length
    if (reason := why_not(run, length, paired)) is not None:
        raise UserError(f"--length {length}: {reason}")
    refuse_many(length, count, "segments")
    return drawn(run, length, count, seed)


def drawn(run: Opened, length: int, count: int, seed: int | None) -> Sample:
    """Test words or segments."""
    seed = run.config.seed if seed is None else seed
    return Sample(run, run.data.test(seed, length, count), seed)


def refuse_many(length: int, count: int, what: str) -> None:
    """UserError for so many words, or segments, that their symbols fill the memory."""
    if length * count > MAX_SYMBOLS:
        raise UserError(f"--length {length} with {count} {what}: at most {MAX_SYMBOLS:,} symbols; choose fewer --words")


def why_not(run: Opened, length: int, paired: bool = False) -> str | None:
    """Why segments of this length cannot be measured; None if they can."""
    if not run.data.is_tested(length):
        return run.data.describe_length(length)
    # Its encoding may have taken the training length from the run.
    if (reason := run.config.network.too_long(length)) is not None:
        return reason
    if paired and run.config.model.quadratic and length > LONGEST_PAIRED:
        return f"at most {LONGEST_PAIRED:,} for the gradients of {run.config.model.label}; choose a shorter one"
    return None


def notes_of_length(run: Opened, length: int | None) -> list[str]:
    """What is said where a network on a text is measured at a shorter length than is usual."""
    usual = TIMES[0] * run.train_len
    if length is None or run.data.kind != "text" or length >= usual:
        return []
    return [f"length {length:,}, since {usual:,} ({TIMES[0]} times the training length) does not fit text and machine"]


def default_length(train_len: int, times: tuple[int, ...], is_refused: Callable[[int], bool]) -> int:
    """The first of so many times the training length that is not refused, or else of its halves, or the length itself.

    >>> [default_length(64, (8, 4, 1), lambda length: length > most) for most in (300, 50)]
    [256, 32]
    """
    lengths = [*(factor * train_len for factor in times), *reversed(halves(train_len, train_len, most=train_len))]
    return next((length for length in lengths if not is_refused(length)), train_len)


def transformer_of(run: Opened) -> Transformer:
    """The model; UserError if it is no Transformer, whose attention has a logit for each distance."""
    if not isinstance(run.model, Transformer):
        name = run.config.model.title
        raise UserError(f"{shown(run.path)} is a run of {name}: it has no such attention; choose a transformer's")
    return run.model
