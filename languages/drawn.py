"""A task whose words a function draws: rows of answers, and membership without visible brackets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from languages.answers import CLASSES, Answers
from languages.automata.oracle import Oracle
from languages.automata.pushdown import PushdownTransducer
from languages.automata.words import Indices, single_characters, smallest_unsigned
from languages.errors import LanguageError
from languages.sampling.balanced import Mixture
from languages.sampling.edits import edited
from languages.sampling.mixed import MixedWords
from languages.sampling.perturbed import perturbed

EMPTY = "_"
"""How the symbol is written at which the next answer of a row is requested."""

Draw = Callable[[np.random.Generator, int, int], npt.NDArray[np.integer]]


@dataclass(frozen=True)
class DrawnTask(MixedWords, Answers[PushdownTransducer | Oracle]):
    """What a model is to learn: a row of answers behind a word, or the answer to it at its last symbol.

    A row is requested by empty symbols, the last of the alphabet: behind a word of n symbols stand `asked(n)` of them,
    and the machine answers at each, or not (-1) where the row is shorter. A length is that of the word without them.
    With `asked` None the word is answered at its last symbol, as `languages.task.Task` is.

    `draw(random, length, count)` gives words (count, length) without empty symbols: the questions where sampling is
    "uniform", the members where it is "balanced". There are words of the lengths that `has` says, all by default.
    Near misses are members with 1..edits symbols changed or two exchanged; where `perturbs` is true, with a geometric
    number of symbols inserted, replaced or deleted, as Butoi et al. 2025 draw them, whatever is said of edits.

    Source: the protocol of Deletang et al. 2023, section 4 and appendix A.

    >>> from languages.context_free.reverse_string import reverse_string
    >>> from languages.randomness import rng
    >>> task = reverse_string()
    >>> words = task.sample(rng(0, "example"), length=3, count=2)
    >>> words.shape, task.labels(words, every=True)[:, :3].tolist()
    ((2, 6), [[-1, -1, -1], [-1, -1, -1]])
    """

    name: str
    machine: PushdownTransducer | Oracle
    summary: str
    source: str
    examples: tuple[tuple[str, str], ...]
    draw: Draw
    asked: Callable[[int], int] | None = None
    has: Callable[[int], bool] = bool
    sampling: Literal["uniform", "balanced"] = "uniform"
    level: Literal["context-free", "context-sensitive", "vast", "unknown"] = "context-free"
    perturbs: bool = False
    domain = None

    def __post_init__(self) -> None:
        if self.asked is not None and self.sampling == "balanced":
            raise LanguageError(f"{self.name}: a row of answers has no members; sampling is 'uniform'")

    @property
    def empty(self) -> int | None:
        """The index of the empty symbol, None where the word is answered at its last symbol."""
        return None if self.asked is None else self.n_symbols - 1

    @property
    def is_classification(self) -> bool:
        """Whether every word is answered with 0 "reject" or 1 "accept"."""
        return self.output_names == CLASSES and self.sampling == "balanced"

    def has_length(self, length: int) -> bool:
        """Whether the task has words of this length (at least 1)."""
        return length >= 1 and (self.sampling == "balanced" or self.has(length))

    def classes(self, length: int) -> tuple[int, ...]:
        """The labels (0 reject, 1 accept) that some word of this length has; for classifications only."""
        self._check_classification()
        return (0, 1) if self.has(length) else (0,)

    def members(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Words (count, length + asked(length)): drawn, and the empty symbols behind them."""
        words = self.draw(random, length, count).astype(smallest_unsigned(self.n_symbols))
        behind = 0 if self.asked is None else self.asked(length)
        return np.pad(words, ((0, 0), (0, behind)), constant_values=self.n_symbols - 1) if behind else words

    def symbols(self, word: npt.ArrayLike) -> int:
        """The length of a word (length,) without its empty symbols."""
        array = np.asarray(word)
        return len(array) if self.empty is None else int((array != self.empty).sum())

    def whole(self, word: Sequence[int]) -> tuple[int, ...]:
        """The question that a word is the beginning of: with all empty symbols that ask for its row of answers."""
        if self.asked is None:
            return tuple(word)
        symbols = tuple(x for x in word if x != self.empty)
        return (*symbols, *[self.n_symbols - 1] * self.asked(len(symbols)))

    def questions(self, words: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """(batch,) which of these words (batch, length) are questions: with an answer at the first empty symbol."""
        array = np.asarray(words)
        labels = self.labels(array, every=True)  # (batch, length)
        if self.empty is None:
            return labels[:, -1] >= 0
        first = (array == self.empty).argmax(1)  # (batch,)
        return labels[np.arange(len(array)), first] >= 0

    def written(self, word: npt.ArrayLike) -> tuple[str, str]:
        """A word (length,) without its empty symbols, and its answer or row of answers, as people read them.

        >>> from languages.context_free.reverse_string import reverse_string
        >>> reverse_string().written([0, 0, 1, 2, 2, 2])
        ('001', '100')
        """
        array = np.asarray(word)
        labels = self.labels(array[None], every=True)[0]  # (length,) of (1, length)
        if self.empty is None:
            return self.machine.decode(array), self.output_names[int(labels[-1])] if labels[-1] >= 0 else ""
        row = [self.output_names[int(label)] for label in labels if label >= 0]
        apart = "" if single_characters(self.output_names) else " "
        return self.machine.decode(array[array != self.empty]), apart.join(row)

    def _near(self, random: np.random.Generator, length: int, count: int, mixture: Mixture) -> Indices:
        if not self.perturbs:
            return super()._near(random, length, count, mixture)
        words = np.zeros((count, length), dtype=smallest_unsigned(self.n_symbols))
        still = np.arange(count)
        while len(still):
            words[still] = perturbed(random, self.members, self.has, self.n_symbols, length, len(still))
            still = still[self.labels(words[still]) == 1]
        return words

    def _changed(self, random: np.random.Generator, words: Indices, edits: int, swaps: float) -> Indices:
        return edited(random, words, np.zeros(self.n_symbols, dtype=np.int8), edits, swaps)
