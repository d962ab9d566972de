"""What a source of data must be, to be trained and tested on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from regulargpt.data.options import DataOptions

Words = npt.NDArray[np.integer]  # (batch, length)


class Data(Protocol):
    """Words of a language, or segments of a text, for training and testing.

    A batch is a pure function of (seed, purpose, step). `kind` is what an objective asks for: "words" have a machine's
    answers, "text" has the symbol that comes next.
    """

    kind: ClassVar[str]

    @property
    def options(self) -> DataOptions:
        """How they are drawn."""
        ...

    @property
    def name(self) -> str:
        """The name under which it was requested."""
        ...

    @property
    def has_brackets(self) -> bool:
        """Whether some symbols call and others return, so that a tree can follow them."""
        ...

    @property
    def has_rows(self) -> bool:
        """Whether a word is answered by a row of symbols behind it."""
        ...

    def lengths(self, longest: int) -> list[int]:
        """The lengths of training words up to `longest`."""
        ...

    def batch(self, seed: int, purpose: str, step: int, lengths: Sequence[int], count: int) -> Words:
        """`count` words of equal length, drawn from `lengths`."""
        ...

    def has_length(self, length: int) -> bool:
        """Whether there are words of this length."""
        ...

    def is_tested(self, length: int) -> bool:
        """Whether there are test words of this length."""
        ...

    def test(self, seed: int, length: int, count: int) -> Words:
        """The test words of equal length: the same for every model that is tested with this seed."""
        ...

    def files(self, seed: int, length: int, count: int) -> npt.NDArray[np.integer] | None:
        """(count,) the file that each test segment lies in; None of words that are drawn one by one."""
        ...

    def describe_length(self, length: int) -> str:
        """One line about what is missing at this length; empty if nothing is."""
        ...

    def prepare(self, train_len: int, test_len: int) -> None:
        """Raise UserError now for what would fail at these lengths later."""
        ...

    def encode(self, text: str) -> npt.NDArray[np.integer]:
        """A word or a piece of text as numbers; WordError for a symbol that there is not."""
        ...

    def record(self) -> Mapping[str, Any]:
        """What a trained network has to be told of its symbols: it is kept beside the weights."""
        ...

    def fingerprint(self) -> Mapping[str, Any]:
        """What tells whether a run goes on with the data that it began with; empty where the name says it all."""
        ...
