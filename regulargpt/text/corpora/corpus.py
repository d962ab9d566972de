"""A text as the networks see it: two memory-mapped arrays of symbols, one to learn from and one to be tested on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Int
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from languages.errors import CorpusError
from regulargpt.text.corpora.stored import Stored, Symbols

if TYPE_CHECKING:
    from regulargpt.text.corpora.tokens import Tokens

Part = Literal["train", "test"]
Recurrences = NDArray[np.int64]  # (count, 2): a position, and how far back the same symbol stands
NO_RECURRENCES = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text, split into a part to train on and a part to test on. Made by `regulargpt.text.corpora.corpus`.

    >>> from regulargpt.text.corpora import corpus
    >>> text = corpus("text:code")
    >>> text.decode(text.train[4:12])
    'NetworkX'
    >>> text.vocabulary_size, len(text.train), len(text.test)
    (256, 3484957, 516575)
    """

    name: str  # as it was requested
    summary: str
    source: str  # what the symbols were read from
    stored: Stored = field(repr=False)
    tokens: "Tokens | None" = field(default=None, repr=False)
    find_recurrences: Callable[[Symbols], Recurrences] | None = field(default=None, repr=False)

    @property
    def train(self) -> Symbols:
        """(symbols,) the files to learn from, joined; read-only and memory-mapped."""
        return self.stored.symbols[: self.stored.layout.n_train]

    @property
    def test(self) -> Symbols:
        """(symbols,) the files to be tested on, joined; read-only and memory-mapped."""
        return self.stored.symbols[self.stored.layout.n_train :]

    @property
    def vocabulary_size(self) -> int:
        """How many symbols there are: 256 for bytes."""
        return self.stored.layout.vocabulary_size

    @property
    def files(self) -> int:
        """How many files the text was read from; of a data set, how many rows."""
        return self.stored.layout.files

    @property
    def bytes_per_symbol(self) -> float:
        """Bits a symbol over this are bits per byte. 1 for bytes; else the mean over the training part."""
        return self.stored.layout.bytes_per_symbol

    @property
    def digest(self) -> str:
        """SHA-256 of the symbols, the files' names and the split: equal only if all of these are equal."""
        return self.stored.digest

    def part(self, part: Part) -> Symbols:
        return {"train": self.train, "test": self.test}[part]

    def segments(self, part: Part, length: int, starts: ArrayLike) -> Symbols:
        """(starts, length) the symbols from each start on, copied.

        CorpusError: the part is shorter than that, a segment would leave it, or the file changed since it was opened.
        """
        self.require(part, length)
        self.check()
        at = np.asarray(starts, dtype=np.int64)
        last = len(self.part(part)) - length
        if at.ndim != 1 or (at.size and not 0 <= at.min() <= at.max() <= last):
            raise CorpusError(f"{self.name}: a segment of {length} symbols of the {part} part starts at 0 to {last:,}")
        return sliding_window_view(self.part(part), length)[at]

    def require(self, part: Part, length: int) -> None:
        """CorpusError if a part is shorter than `length` symbols."""
        size = len(self.part(part))
        if not 0 < length <= size:
            name = {"train": "training", "test": "test"}[part]
            remedy = "give a longer text or shorter segments" if length > 0 else "a segment has at least 1"
            raise CorpusError(f"{self.name}: the {name} part has {size:,} symbols, {length:,} are needed; {remedy}")

    def check(self) -> None:
        """CorpusError if the file's size or time of change is not as it was when it was opened."""
        self.stored.check()

    def recurrences(self) -> Int[np.ndarray, "count 2"]:
        """(count, 2): the positions of the test part that only the far past tells, and how far back it tells them.

        The symbol at `test[position]` is that at `test[position - distance]`. Empty for texts without known answers.
        """
        return NO_RECURRENCES if self.find_recurrences is None else self.find_recurrences(self.test)

    def test_documents(self, positions: ArrayLike) -> Int[np.ndarray, " count"]:
        """(count,) the number of the document that each position of the test part lies in.

        Positions of a text whose documents are too many to be noted have each a number of their own.

        >>> from regulargpt.text.corpora import corpus
        >>> corpus("text:code").test_documents([0, 7_345, 7_346, 516_574]).tolist()
        [0, 0, 1, 23]
        """
        at, ends = np.asarray(positions, dtype=np.int64), self.stored.layout.ends
        is_noted = ends or self.stored.layout.files == 1
        return np.searchsorted(ends, at, side="right") if is_noted else np.arange(len(at))

    def encode(self, text: str | bytes) -> Symbols:
        """(symbols,) of a text. CorpusError from a tokenizer, if the text is not UTF-8.

        >>> from regulargpt.text.corpora import corpus
        >>> corpus("text:code").encode("né").tolist()
        [110, 195, 169]
        """
        if self.tokens is not None:
            return self.tokens.encode(text)
        return np.frombuffer(text.encode() if isinstance(text, str) else text, dtype=np.uint8)

    def decode(self, symbols: ArrayLike) -> str:
        """The text of some symbols, to be shown: bytes that are no UTF-8 become the replacement character."""
        array: NDArray[Any] = np.asarray(symbols)
        if self.tokens is not None:
            return self.tokens.decode(array)
        return array.astype(np.uint8).tobytes().decode(errors="replace")
