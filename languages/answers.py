"""What a task has of its machine, at every level of the hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from languages.automata.dfa import Dfa
from languages.automata.moore import MooreMachine
from languages.automata.oracle import Oracle
from languages.automata.pushdown import PushdownTransducer
from languages.sampling.sampler import nearest_lengths

CLASSES = ("reject", "accept")
Machine = TypeVar("Machine", bound=MooreMachine | PushdownTransducer | Oracle)


class Answers(Generic[Machine]):
    """The symbols and answers of `machine`, and the lengths that `has_length` says there are words of."""

    name: str
    machine: Machine
    sampling: Literal["uniform", "balanced"]
    domain: Dfa | None
    answers_prefixes = True  # whether there is an answer to the beginnings of a word, too

    @property
    def alphabet(self) -> tuple[str, ...]:
        """Sigma, in the order of the symbol indices."""
        return self.machine.alphabet

    @property
    def n_symbols(self) -> int:
        return self.machine.n_symbols

    @property
    def output_names(self) -> tuple[str, ...]:
        """What each label means."""
        return self.machine.output_names

    @property
    def n_outputs(self) -> int:
        return len(self.output_names)

    def labels(self, words: npt.ArrayLike, every: bool = False) -> npt.NDArray[np.int64]:
        """The machine's answers: (batch,), or (batch, length) after each symbol; -1 where it has none."""
        return self.machine.answers(words, every=every)

    def questions(self, words: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """(batch,) which of these words (batch, length) are questions: those of the domain that have an answer."""
        answered = self.labels(words) >= 0
        return answered if self.domain is None else answered & self.domain.accepts(words)

    def symbols(self, word: Sequence[int]) -> int:
        """The length of a word, without symbols that ask for a row of answers."""
        return len(word)

    def whole(self, word: Sequence[int]) -> tuple[int, ...]:
        """The question that a word is the beginning of."""
        return tuple(word)

    def has_length(self, length: int) -> bool:
        """Whether the task has words of this length (at least 1)."""
        raise NotImplementedError

    def lengths(self, low: int, high: int) -> list[int]:
        """The lengths low..high (both included) that the task has words of."""
        return [length for length in range(max(1, low), high + 1) if self.has_length(length)]

    def classes(self, length: int) -> tuple[int, ...]:
        """The labels (0 reject, 1 accept) that some word of this length has; for classifications only."""
        raise NotImplementedError

    def describe_length(self, length: int) -> str:
        """One line about what is missing at this length; empty if nothing is.

        >>> from languages.regular.dyck import dyck
        >>> dyck(2).describe_length(7)
        'length 7: dyck-2 has no members, so every word is a non-member'
        """
        if not self.has_length(length):
            return f"length {length}: {self.name} has no words; {nearest_lengths(self.has_length, length)}"
        if self.sampling == "uniform" or len(classes := self.classes(length)) == 2:
            return ""
        missing, every = ("members", "non-member") if classes == (0,) else ("non-members", "member")
        return f"length {length}: {self.name} has no {missing}, so every word is a {every}"
