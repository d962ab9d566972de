"""Words of a retrieval task for training and testing: each batch a pure function of (seed, purpose, step)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from languages.randomness import rng
from languages.text.retrieval import Retrieval
from regulargpt.data.base import Words
from regulargpt.data.options import RetrievalOptions


@dataclass(frozen=True)
class RetrievalData:
    """Documents with their questions.

    >>> from regulargpt.data import read_data
    >>> data = read_data("retrieval:line")
    >>> data.batch(seed=0, purpose="train", step=7, lengths=[64], count=3).shape
    (3, 64)
    """

    kind: ClassVar[str] = "retrieval"
    task: Retrieval
    options: RetrievalOptions

    @property
    def name(self) -> str:
        """The task's."""
        return self.task.name

    def lengths(self, longest: int) -> list[int]:
        """The lengths of training words up to `longest`."""
        return list(range(max(self.options.shortest, self.task.shortest), longest + 1))

    def batch(self, seed: int, purpose: str, step: int, lengths: Sequence[int], count: int) -> Words:
        """`count` words of one length, drawn uniformly from `lengths`."""
        random = rng(seed, purpose, step)
        return self.task.sample(random, lengths[int(random.integers(len(lengths)))], count)

    def has_length(self, length: int) -> bool:
        """Whether a document fits before the questions."""
        return length >= self.task.shortest

    def is_tested(self, length: int) -> bool:
        """Every length with words is."""
        return self.has_length(length)

    def describe_length(self, length: int) -> str:
        """How long words are at least."""
        return self.task.describe_length(length)

    def test(self, seed: int, length: int, count: int) -> Words:
        """The test words of one length: the same for every model that is tested with this seed."""
        return self.task.sample(rng(seed, "test", length), length, count)

    test.__test__ = False  # type: ignore[attr-defined]  # its name is no invitation to pytest

    def prepare(self, train_len: int, test_len: int) -> None:
        """Nothing can be too large."""

    def encode(self, text: str) -> Words:
        """Names of symbols with spaces between them."""
        return self.task.encode(text)

    def record(self) -> Mapping[str, Any]:
        """Which symbol is which number, and what the answers are called."""
        return {"symbols": list(self.task.symbols), "answers": list(self.task.answers)}

    def files(self, seed: int, length: int, count: int) -> None:
        """Each word is drawn by itself."""

    def fingerprint(self) -> Mapping[str, Any]:
        """A task is what its name says."""
        return {}
