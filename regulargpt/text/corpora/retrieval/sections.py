"""Documents in sections, each headed by a key: question answering, a function that returns something, topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regulargpt.text.corpora.retrieval.base import UNDEFINED, Asked, Places, Retrieval, Words, place_of
from regulargpt.text.corpora.retrieval.placing import one_and_others, places

# One section for so many symbols, until all keys are used.
EVERY = 10


@dataclass(frozen=True)
class Sections(Retrieval):
    """Sections of noise under heads `# key`; what stands in them is a derived class's."""

    marks: ClassVar[tuple[str, ...]] = ("?", "#", "=")
    sought: ClassVar[str] = "#"  # the mark that is requested, where a task has one question

    def sections(self, length: int) -> int:
        return min(self.keys, length // EVERY)

    @property
    def shortest_document(self) -> int:
        return 2 * EVERY

    def put(self, words: Words, at: Places, mark: str, symbols: Places) -> None:
        """Write a mark and the symbol behind it."""
        np.put_along_axis(words, at, np.full_like(at, self.mark(mark)), 1)
        np.put_along_axis(words, at + 1, symbols, 1)

    def ask(self, random: np.random.Generator, documents: Words) -> Asked:
        """The question `? mark`, again and again, where a task has one question."""
        return np.tile(self.question, (len(documents), self.questions, 1))  # (count, questions, 2)

    def places(self, documents: Words, questions: Asked) -> Places:
        """Behind the first such mark."""
        marks = place_of(documents, np.full((len(documents), 1), self.question[1]))
        is_question = (questions == self.question).all(2)  # (count, questions)
        return np.where(is_question & (marks >= 0) & (marks + 1 < documents.shape[1]), marks + 1, UNDEFINED)

    @property
    def question(self) -> Places:
        return np.array([self.mark("?"), self.mark(self.sought)])


@dataclass(frozen=True)
class Documents(Sections):
    """Each section has one value in it, as `= value`, somewhere behind its head. A question is `? key`."""

    summary: ClassVar[str] = "the value in the document that a key heads"

    def document(self, random: np.random.Generator, length: int, count: int) -> Words:
        words, sections = self.empty(random, length, count), self.sections(length)
        starts = places(random, count, length, 2 * sections, 2)
        self.put(words, starts[:, ::2], "#", self.distinct_keys(random, count, sections))
        self.put(words, starts[:, 1::2], "=", self.value(random, count, sections))
        return words

    def ask(self, random: np.random.Generator, documents: Words) -> Asked:
        keys = self.keys_of(random, documents, self.sections(documents.shape[1]), self.questions)
        return np.stack([np.full_like(keys, self.mark("?")), keys], axis=2)

    def places(self, documents: Words, questions: Asked) -> Places:
        """Behind the first `=` after the key, if it comes before the next head."""
        keys, end = place_of(documents, questions[:, :, 1]), documents.shape[1]
        value, head = (np.take_along_axis(self.nearest(documents, mark), np.maximum(keys, 0), 1) for mark in "=#")
        is_question = (questions[:, :, 0] == self.mark("?")) & self.is_key(questions[:, :, 1])
        return np.where(is_question & (keys >= 0) & (value < head) & (value + 1 < end), value + 1, UNDEFINED)

    def nearest(self, documents: Words, mark: str) -> Places:
        """From each place on, where the mark comes next; the length where it does not."""
        end: int = documents.shape[1]
        here: Places = np.where(documents == self.mark(mark), np.arange(end), end)
        return np.minimum.accumulate(here[:, ::-1], axis=1)[:, ::-1]


@dataclass(frozen=True)
class CodeKey(Sections):
    """Sections are functions, of which one returns a value, as `= value`. The question is `? =`."""

    summary: ClassVar[str] = "the value that one function returns"
    sought: ClassVar[str] = "="

    def document(self, random: np.random.Generator, length: int, count: int) -> Words:
        """Heads anywhere, and one value, which is stratified, where no head stands."""
        words, sections = self.empty(random, length, count), self.sections(length)
        lone, heads = one_and_others(random, count, length, sections, 2)
        self.put(words, heads, "#", self.distinct_keys(random, count, sections))
        self.put(words, lone, "=", self.value(random, count, 1))
        return words


@dataclass(frozen=True)
class Topic(Sections):
    """Sections are topics of a conversation, and the first is requested, as `? #`."""

    summary: ClassVar[str] = "the first topic of a conversation"

    def document(self, random: np.random.Generator, length: int, count: int) -> Words:
        words, sections = self.empty(random, length, count), self.sections(length)
        starts = places(random, count, length, sections, 2)
        self.put(words, starts, "#", self.distinct_keys(random, count, sections))
        return words

    @property
    def first_answer(self) -> int:
        return self.first_key

    @property
    def answers(self) -> tuple[str, ...]:
        return self.symbols[self.first_key : self.first_key + self.keys]
