"""Words of a retrieval task for training and testing: each batch a pure function of (seed, purpose, step)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from languages.randomness import rng
from regulargpt.data.base import Words
from regulargpt.text.corpora.retrieval import Retrieval
from regulargpt.text.data.options import RetrievalOptions


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
    def has_brackets(self) -> bool:
        return False

    @property
    def has_rows(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return self.task.name

    def lengths(self, longest: int) -> list[int]:
        return list(range(max(self.options.shortest, self.task.shortest), longest + 1))

    def batch(self, seed: int, purpose: str, step: int, lengths: Sequence[int], count: int) -> Words:
        random = rng(seed, purpose, step)
        return self.task.sample(random, lengths[int(random.integers(len(lengths)))], count)

    def has_length(self, length: int) -> bool:
        return length >= self.task.shortest

    def is_tested(self, length: int) -> bool:
        return self.has_length(length)

    def describe_length(self, length: int) -> str:
        return self.task.describe_length(length)

    def test(self, seed: int, length: int, count: int) -> Words:
        return self.task.sample(rng(seed, "test", length), length, count)

    test.__test__ = False  # type: ignore[attr-defined]  # its name is no invitation to pytest

    def prepare(self, train_len: int, test_len: int) -> None:
        """Nothing can be too large."""

    def encode(self, text: str) -> Words:
        return self.task.encode(text)

    def record(self) -> Mapping[str, Any]:
        return {"symbols": list(self.task.symbols), "answers": list(self.task.answers)}

    def files(self, seed: int, length: int, count: int) -> None:
        """Each word is drawn by itself."""

    def fingerprint(self) -> Mapping[str, Any]:
        return {}
