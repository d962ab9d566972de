"""What a task has of its machine, at every level of the hierarchy."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from languages.automata.moore import MooreMachine
from languages.automata.pushdown import PushdownTransducer

CLASSES = ("reject", "accept")
Machine = TypeVar("Machine", MooreMachine, PushdownTransducer)


class Answers(Generic[Machine]):
    """The symbols and answers of `machine`, and the lengths that `has_length` says there are words of."""

    machine: Machine

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

    def has_length(self, length: int) -> bool:
        """Whether the task has words of this length (at least 1)."""
        raise NotImplementedError

    def lengths(self, low: int, high: int) -> list[int]:
        """The lengths low..high (both included) that the task has words of."""
        return [length for length in range(max(1, low), high + 1) if self.has_length(length)]
