"""The options of a text and of a retrieval task. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from languages.kept import place_of
from regulargpt.data.options import DataOptions
from regulargpt.options import option
from regulargpt.text.corpora.named_file import file_of_text


@dataclass(frozen=True)
class TextOptions(DataOptions):
    """A text: trained on segments of `train_len` symbols, and tested on longer ones that it has not seen."""

    train_len: int = option(
        64, "Length of a training segment.", least=2, most=1_000_000, why="a segment has at least 2 symbols"
    )
    scoring: Literal["last_k", "last", "nonoverlapping", "sliding", "position"] = option(
        "last_k", "The protocol of the test: which segments, and which of their symbols count."
    )
    last: int = option(
        32,
        "Symbols at the end of a segment that count (last_k); at most train_len.",
        least=1,
        why="at least 1 symbol is predicted",
    )
    step: int = option(
        16, "Symbols from one window to the next (sliding).", least=1, why="a window moves by at least 1 symbol"
    )
    region: int = option(
        65_536,
        "Symbols of the test part that are scored (nonoverlapping, sliding).",
        least=2,
        why="at least 2 symbols are read",
    )
    tokenizer: str = option("", "A tokenizer.json, whose word pieces are the symbols; without one, bytes are.")

    @property
    def first_tested(self) -> int:
        """The training length itself: the test part is new."""
        return self.train_len

    def files(self) -> Iterator[tuple[str, Path]]:
        """The text, if it is a file, and the tokenizer."""
        if (file := file_of_text(self.name)) is not None:
            yield "name", file
        if self.tokenizer:
            yield "tokenizer", place_of(self.tokenizer, self.tokenizer).expanduser()


@dataclass(frozen=True)
class RetrievalOptions(DataOptions):
    """A retrieval task: trained on words of `train_from` to `train_len` symbols, their questions included."""

    train_len: int = option(
        64, "Longest training word, questions included.", least=2, most=1_000_000, why="a word has at least 2 symbols"
    )
    train_from: int = option(
        0, "Shortest training word; 0: three quarters of train_len.", least=0, why="give a length, or 0"
    )

    @property
    def shortest(self) -> int:
        """As it is set, or three quarters: short words, which have one line, teach little."""
        return self.train_from or -(-3 * self.train_len // 4)

    @property
    def first_tested(self) -> int:
        """The training length itself: every document is new."""
        return self.train_len

    def problems(self) -> Iterator[str]:
        if self.train_from > self.train_len:
            yield f"train_from = {self.train_from} is longer than data.train_len = {self.train_len}"
