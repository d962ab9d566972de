"""What the retrieval tasks share: a word is a document and the questions about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from languages.errors import LengthEmpty, WordError, nearest

UNDEFINED = -1
Words = npt.NDArray[np.integer[Any]]  # (count, length)
Places = npt.NDArray[np.int64]  # (count, questions)
Asked = npt.NDArray[np.integer[Any]]  # (count, questions, 2)


@dataclass(frozen=True)
class Retrieval(ABC):
    """A task whose words are documents, each with `questions` behind it.

    A question is two symbols, and its answer is asked at the second. All answers stand in the document as one symbol
    each, so that where they stand is known too. Symbols are numbers: first noise, then marks, then the `keys`, then the
    `values`. Of the questions that belong together (`together`) all must be answered right.

    >>> from regulargpt.text.corpora.retrieval import retrieval
    >>> from languages.randomness import rng
    >>> task = retrieval("retrieval:line:keys=4,values=3,questions=2")
    >>> word = task.sample(rng(1, "example"), length=16, count=1)
    >>> task.decode(word[0])
    'k3 v0 n7 k2 v1 n2 n1 n0 k0 v0 k1 v0 ? k3 ? k0'
    >>> task.labels(word)[0].tolist()
    [-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, -1, 0]
    """

    name: str
    questions: int
    keys: int
    values: int
    summary: ClassVar[str]
    noise: ClassVar[int] = 8
    marks: ClassVar[tuple[str, ...]] = ("?",)
    together: ClassVar[int] = 1

    @abstractmethod
    def document(self, random: np.random.Generator, length: int, count: int) -> Words:
        """`count` documents of one length: a pure function of the generator's state and the arguments."""

    @abstractmethod
    def ask(self, random: np.random.Generator, documents: Words) -> Asked:
        """Questions about the documents."""

    @abstractmethod
    def places(self, documents: Words, questions: Asked) -> Places:
        """Where in the document the answer to each question stands; UNDEFINED where there is none."""

    @property
    @abstractmethod
    def shortest_document(self) -> int:
        """The symbols that a document has at least."""

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        counts = {"n": self.noise, "k": self.keys, "v": self.values}
        noise, keys, values = ([f"{letter}{i}" for i in range(count)] for letter, count in counts.items())
        return (*noise, *self.marks, *keys, *values)

    @property
    def answers(self) -> tuple[str, ...]:
        return self.symbols[self.first_answer : self.first_answer + self.values]

    @property
    def first_key(self) -> int:
        return self.noise + len(self.marks)

    @property
    def first_answer(self) -> int:
        """The number of the first symbol that is an answer."""
        return self.first_key + self.keys

    @property
    def chance(self) -> float:
        """The share of needles that guessing finds: all answers are equally likely."""
        return 1 / len(self.answers) ** self.together

    @property
    def tail(self) -> int:
        """How many symbols the questions are."""
        return 2 * self.questions

    @property
    def shortest(self) -> int:
        return self.shortest_document + self.tail

    def mark(self, name: str) -> int:
        return self.noise + self.marks.index(name)

    def sample(self, random: np.random.Generator, length: int, count: int) -> Words:
        """`count` words of equal length, questions included. LengthEmpty if no document is so short."""
        if length < self.shortest:
            raise LengthEmpty(self.describe_length(length))
        documents = self.document(random, length - self.tail, count)
        questions = self.ask(random, documents)
        return np.concatenate([documents, questions.reshape(count, self.tail)], axis=1)  # (count, length)

    def describe_length(self, length: int) -> str:
        """One line about a length without words; empty for others."""
        if length >= self.shortest:
            return ""
        return f"length {length}: {self.name} has words of {self.shortest} symbols and more; choose a longer one"

    def split(self, words: Words) -> tuple[Words, Asked]:
        """The documents, and the questions. WordError for words that are no longer than the questions."""
        if words.shape[1] <= self.tail:
            raise WordError(
                f"{self.name}: a word ends with {self.tail} symbols of questions; put a document before them"
            )
        questions = words[:, -self.tail :].reshape(len(words), self.questions, 2)  # (count, questions, 2)
        return words[:, : -self.tail], questions

    def needles_in(self, words: Words) -> Places:
        """Where the answers stand in the words; UNDEFINED where the document has none."""
        places = self.places(*self.split(words))
        symbols = np.take_along_axis(words, np.maximum(places, 0), 1) - self.first_answer  # (count, questions)
        return np.where((places >= 0) & (symbols >= 0) & (symbols < len(self.answers)), places, UNDEFINED)

    def answers_in(self, words: Words) -> Places:
        """The answers as numbers from 0, in the order of the questions; UNDEFINED where the document has none."""
        places = self.needles_in(words)
        answers = np.take_along_axis(words, np.maximum(places, 0), 1) - self.first_answer  # (count, questions)
        return np.where(places >= 0, answers, UNDEFINED)

    def labels(self, words: Words) -> npt.NDArray[np.int64]:
        """The answer at every position; UNDEFINED where none is requested."""
        labels = np.full(words.shape, UNDEFINED, dtype=np.int64)
        labels[:, words.shape[1] - self.tail + 1 :: 2] = self.answers_in(words)
        return labels

    def depths(self, words: Words) -> npt.NDArray[np.float64]:
        """Where the answers stand as a share of the document: from 0, its beginning, to below 1; nan without one."""
        places = self.needles_in(words)
        return np.where(places >= 0, places / (words.shape[1] - self.tail), np.nan)

    def encode(self, text: str) -> npt.NDArray[np.int64]:
        """The numbers of symbols with spaces between them. WordError for a symbol that there is not."""
        number = {name: number for number, name in enumerate(self.symbols)}
        names = text.split()
        for name in names:
            if name not in number:
                raise WordError(f"{self.name} has no symbol {name!r:.40};{nearest(name, number) or ' as in n0 k1 v2'}")
        return np.array([number[name] for name in names], dtype=np.int64)

    def decode(self, word: npt.NDArray[np.integer[Any]]) -> str:
        symbols = self.symbols
        return " ".join(symbols[int(number)] for number in word)

    def empty(self, random: np.random.Generator, length: int, count: int) -> Words:
        """Documents of noise alone."""
        return random.integers(self.noise, size=(count, length))

    def distinct_keys(self, random: np.random.Generator, count: int, records: int) -> Places:
        """Keys, no two of a row alike."""
        return self.first_key + random.random((count, self.keys)).argsort(1)[:, :records]

    def keys_of(self, random: np.random.Generator, documents: Words, records: int, count: int) -> Places:
        """`count` keys of documents that have so many: all different, and again from the first where they are few."""
        keys = documents[self.is_key(documents)].reshape(len(documents), records)  # (count, records)
        order = random.random(keys.shape).argsort(1)
        chosen = np.tile(order, -(-count // records))[:, :count]
        return np.take_along_axis(keys, chosen, 1).astype(np.int64)  # (count, asked)

    def is_key(self, symbols: Words) -> npt.NDArray[np.bool_]:
        return (symbols >= self.first_key) & (symbols < self.first_key + self.keys)

    def value(self, random: np.random.Generator, *shape: int) -> npt.NDArray[np.int64]:
        return self.first_key + self.keys + random.integers(self.values, size=shape)


def place_of(documents: Words, symbols: Words) -> Places:
    """Where each symbol stands first in its document; UNDEFINED where it does not.

    >>> place_of(np.array([[5, 3, 5]]), np.array([[5, 3, 4]])).tolist()
    [[0, 1, -1]]
    """
    count, length = documents.shape
    # A table of all symbols: to compare each question with each place would fill the memory.
    first = np.full((count, 1 + max(int(documents.max(initial=0)), int(symbols.max(initial=0)))), length)
    rows = np.arange(count, dtype=np.int64)[:, None]
    np.minimum.at(first, (rows, documents), np.arange(length, dtype=np.int64))
    places = np.take_along_axis(first, symbols, 1)
    return np.where(places < length, places, UNDEFINED)
