"""What a network is asked about a word: at which positions, what is right, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from languages.printable import characters, printable
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data, Words
from regulargpt.data.language import LanguageData
from regulargpt.objectives.options import LastOptions, NextOptions, PrefixesOptions
from regulargpt.text.corpora import Corpus
from regulargpt.text.data.retrieval import RetrievalData
from regulargpt.text.data.segments import TextData

# What nobody would see in a box.
SIGNS = {"": "ε", " ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"}
# The later bytes of a character, and a symbol of no other meaning behind a word.
REST, TOKEN = "·", "⟨answer⟩"
NOTHING = "–"


class LogitReading(Protocol):
    """How the logits at the questions are read: what the network says, and how probable it finds what is right.

    `right` are the right answers as they are shown; the probability is nan where there is none.
    """

    @property
    def right(self) -> tuple[str, ...]:
        """The right answers."""
        ...

    def said(self, logits: Float[Tensor, "questions n_outputs"]) -> tuple[tuple[str, ...], Float[ndarray, "questions"]]:
        """The network's answers, and the probabilities of the right ones."""
        ...


@dataclass(frozen=True)
class Choice:
    """One of several answers: the most probable. `labels` are the right ones, None where that is not known.

    >>> reading = Choice("ab".__getitem__, (1, None))
    >>> names, p = reading.said(torch.zeros(2, 2).log_softmax(-1))
    >>> reading.right, names, p.tolist()
    (('b', '–'), ('a', 'a'), [0.5, nan])
    """

    name: Callable[[int], str]
    labels: tuple[int | None, ...]

    @property
    def right(self) -> tuple[str, ...]:
        """The right answers."""
        return tuple(NOTHING if label is None else self.name(label) for label in self.labels)

    def said(self, logits: Float[Tensor, "questions n_outputs"]) -> tuple[tuple[str, ...], Float[ndarray, "questions"]]:
        """The most probable answers, and the probabilities of the right ones."""
        p = logits.double().softmax(-1)
        right = [float("nan") if label is None else float(p[i, label]) for i, label in enumerate(self.labels)]
        return tuple(self.name(int(answer)) for answer in logits.argmax(-1)), np.array(right)


@dataclass(frozen=True)
class Legal:
    """The set of symbols that may follow, `end` among them; right is the whole set (Bhattamishra et al. 2020).

    >>> reading = Legal(("a", "end"), np.array([[True, False]]))
    >>> reading.right, reading.said(torch.tensor([[9.0, -9.0]]))[0]
    (('a',), ('a',))
    """

    names: tuple[str, ...]
    legal: np.ndarray  # (questions, n_outputs), of bool

    @property
    def right(self) -> tuple[str, ...]:
        """The right sets."""
        return tuple(map(self.set_of, self.legal.tolist()))

    def set_of(self, row: Sequence[bool]) -> str:
        """A set in a word."""
        return ", ".join(name for name, there in zip(self.names, row, strict=True) if there) or "nothing"

    def said(self, logits: Float[Tensor, "questions n_outputs"]) -> tuple[tuple[str, ...], Float[ndarray, "questions"]]:
        """The sets of those that are more probable than not, and the probabilities that the right ones have."""
        signs = torch.from_numpy(np.where(self.legal, 1.0, -1.0))
        p = (logits.double() * signs).sigmoid().prod(-1)  # (questions,)
        return tuple(map(self.set_of, (logits > 0).tolist())), p.numpy()


@dataclass(frozen=True)
class QuestionedWord:
    """A word as the network reads it (1, length), the names of its symbols, and the questions about it.

    A question is asked `at` a position; its answer stands at one of `needles`, None where it stands nowhere.
    """

    word: Words
    names: tuple[str, ...]
    at: tuple[int, ...]
    needles: tuple[int | None, ...]
    reading: LogitReading


def questions_of(source: Data) -> int:
    """How many questions are asked about a word."""
    return source.task.questions if isinstance(source, RetrievalData) else 1


def ask(source: Data, config: RunConfig, seed: int, length: int, count: int) -> QuestionedWord:
    """The first test word of a length, and `count` questions: those behind a document, or that at the end."""
    word = source.test(seed, length, 1)[:1]
    if isinstance(source, RetrievalData):
        return of_document(source, word, count)
    if isinstance(source, TextData):
        return of_text(source, word)
    assert isinstance(source, LanguageData)
    return of_word(source, config, word)


def of_document(source: RetrievalData, word: Words, count: int) -> QuestionedWord:
    """A document and its first questions. Each is two symbols, and is asked at the second."""
    task = source.task
    names = tuple(map(sign, task.decode(word[0]).split()))
    at = range(word.shape[1] - task.tail + 1, word.shape[1], 2)[:count]
    places, answers = task.needles_in(word)[0, :count].tolist(), task.answers_in(word)[0, :count].tolist()
    needles = tuple(None if place < 0 else place for place in places)
    return QuestionedWord(
        word, names, tuple(at), needles, Choice(task.answers.__getitem__, tuple(map(defined, answers)))
    )


def of_text(source: TextData, segment: Words) -> QuestionedWord:
    """A segment and what comes next."""
    word, last = segment[:, :-1], int(segment[0, -1])
    reading = Choice(lambda symbol: symbol_names(source.corpus, np.array([symbol]))[0], (last,))
    return QuestionedWord(word, symbol_names(source.corpus, word[0]), (word.shape[1] - 1,), (None,), reading)


def of_word(source: LanguageData, config: RunConfig, word: Words) -> QuestionedWord:
    """A word of a language and the machine's answer to it; or which symbols may follow."""
    task, options = source.task, config.objective
    names = tuple(map(sign, task.alphabet))
    reading: LogitReading
    if isinstance(options, NextOptions):
        reading = Legal((*names, "end"), source.finite.next_symbols(word)[:, -1])
    elif isinstance(options, LastOptions | PrefixesOptions):
        label = defined(int(task.labels(word)[0]))
        reading = Choice(lambda answer: sign(task.output_names[answer]), (label,))
    else:
        # What the outputs of an objective from elsewhere mean is not known here.
        reading = Choice(lambda answer: f"output {answer}", (None,))
    symbols = tuple(names[symbol] for symbol in word[0].tolist())
    if isinstance(options, LastOptions) and options.output_token:
        word, symbols = np.append(word, [[task.n_symbols]], 1), (*symbols, TOKEN)
    return QuestionedWord(word, symbols, (word.shape[1] - 1,), (None,), reading)


def defined(label: int) -> int | None:
    """A label; None where there is none."""
    return None if label < 0 else label


def symbol_names(corpus: Corpus, symbols: np.ndarray) -> tuple[str, ...]:
    """A name for each symbol of a text: a token, a character, or a byte of one."""
    if corpus.tokens is not None:
        return tuple(sign(corpus.decode(symbols[i : i + 1])) for i in range(len(symbols)))
    names: list[str] = []
    for character, count in characters(symbols.astype(np.uint8).tobytes()):
        names += [sign(character), *[REST] * (count - 1)]
    return tuple(names)


def sign(name: str) -> str:
    r"""A name that can be seen.

    >>> sign(" "), sign("a\n"), sign("<b>"), sign("\x1b")
    ('␣', 'a⏎', '<b>', '\\x1b')
    """
    if name in SIGNS:
        return SIGNS[name]
    return "".join(SIGNS.get(character, character) for character in printable(name))
