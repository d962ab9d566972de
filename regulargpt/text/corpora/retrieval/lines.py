"""Lines `key value ...`: the value of a key. With few of them in much noise these are needles and passkeys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regulargpt.text.corpora.retrieval.base import UNDEFINED, Asked, Places, Retrieval, Words, place_of
from regulargpt.text.corpora.retrieval.placing import places

# One line for so many symbols, until all keys are used.
EVERY = 3


@dataclass(frozen=True)
class Lines(Retrieval):
    """One line for every three symbols, but at most one a key; the rest is noise. A question is `? key`."""

    summary: ClassVar[str] = "the value of a key"
    marks: ClassVar[tuple[str, ...]] = ("?",)
    lines: ClassVar[int] = 0  # however long the document is, if it is not 0

    def records(self, length: int) -> int:
        return min(self.keys, self.lines or length // EVERY)

    @property
    def shortest_document(self) -> int:
        return min(self.keys, self.lines) * (1 + self.together) if self.lines else EVERY

    def document(self, random: np.random.Generator, length: int, count: int) -> Words:
        """Lines at random places of the noise."""
        words, records = self.empty(random, length, count), self.records(length)
        width = 1 + self.together
        starts = places(random, count, length, records, width)
        keys, values = self.distinct_keys(random, count, records), self.value(random, count, records, self.together)
        lines = np.concatenate([keys[:, :, None], values], axis=2)  # (count, records, width)
        at = (starts[:, :, None] + np.arange(width)).reshape(count, -1)  # (count, records * width)
        np.put_along_axis(words, at, lines.reshape(count, -1), 1)  # lines as (count, records * width)
        return words

    def ask(self, random: np.random.Generator, documents: Words) -> Asked:
        """Keys of the document, any of them; all values of a key are requested one after the other."""
        count, length = documents.shape
        keys = self.keys_of(random, documents, self.records(length), self.questions // self.together)
        asked_keys = keys.repeat(self.together, 1)  # (count, questions)
        marks = np.tile(self.noise + np.arange(self.together), (count, self.questions // self.together))
        return np.stack([marks, asked_keys], axis=2)

    def places(self, documents: Words, questions: Asked) -> Places:
        """Behind the key, as far as the mark says."""
        which, keys = questions[:, :, 0] - self.noise, questions[:, :, 1]
        starts = place_of(documents, keys)
        values = starts + 1 + which
        is_question = (which >= 0) & (which < self.together) & self.is_key(keys)
        return np.where(is_question & (starts >= 0) & (values < documents.shape[1]), values, UNDEFINED)


@dataclass(frozen=True)
class Needles(Lines):
    """Four lines with two values each, in noise: RULER's needles with several keys, values and questions."""

    summary: ClassVar[str] = "both values of a key, of four keys in noise"
    marks: ClassVar[tuple[str, ...]] = ("?1", "?2")
    together: ClassVar[int] = 2
    lines: ClassVar[int] = 4


@dataclass(frozen=True)
class Passkey(Lines):
    """One key in noise, with five values: all five are requested, and all must be right."""

    summary: ClassVar[str] = "the five digits of the only key, in noise"
    marks: ClassVar[tuple[str, ...]] = ("?1", "?2", "?3", "?4", "?5")
    together: ClassVar[int] = 5
    lines: ClassVar[int] = 1
