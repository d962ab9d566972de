"""Segments of a text for training and testing: each batch a pure function of (seed, purpose, step)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Int
from numpy.lib.stride_tricks import sliding_window_view

from languages.randomness import rng
from regulargpt.data.base import Words
from regulargpt.data.options import FURTHEST, REACH
from regulargpt.text.corpora import Corpus
from regulargpt.text.data.options import TextOptions

if TYPE_CHECKING:
    import torch
    from torch import nn

    from regulargpt.config.schema import RunConfig
    from regulargpt.evaluation.by_length import Point
    from regulargpt.evaluation.interval import Interval
    from regulargpt.objectives.answers import Objective
    from regulargpt.text.evaluation.reference import Reference


@dataclass(frozen=True)
class TextData:
    """The segments of a corpus. A row of a batch has one symbol more than its length: the last is only predicted.

    >>> from regulargpt.data import read_data
    >>> data = read_data("text:recurrent")
    >>> data.batch(seed=0, purpose="train", step=7, lengths=[64], count=3).shape
    (3, 65)
    """

    kind: ClassVar[str] = "text"
    corpus: Corpus
    options: TextOptions

    @property
    def has_brackets(self) -> bool:
        return False

    @property
    def has_rows(self) -> bool:
        return False

    @property
    def name(self) -> str:
        return self.corpus.name

    def lengths(self, longest: int) -> list[int]:
        return [longest]

    def batch(self, seed: int, purpose: str, step: int, lengths: Sequence[int], count: int) -> Words:
        """`count` segments that begin anywhere in the training part."""
        random = rng(seed, purpose, step)
        length = lengths[int(random.integers(len(lengths)))]
        starts = random.integers(len(self.corpus.train) - length, size=count)
        return self.corpus.segments("train", length + 1, starts)

    @property
    def reach(self) -> int:
        """The longest segment that is tested: at most half of the test part, so that ends differ.

        Where a segment may end does not depend on how long it is, so that lengths are paired.
        """
        return min(self.most, (len(self.corpus.test) - 1) // 2)

    @property
    def most(self) -> int:
        """The longest segment that is tested, however long the text is."""
        return max(REACH, FURTHEST * self.options.train_len)

    def has_length(self, length: int) -> bool:
        return length < len(self.corpus.train)

    def is_tested(self, length: int) -> bool:
        return length <= self.reach

    def describe_length(self, length: int) -> str:
        if self.has_length(length) and self.is_tested(length):
            return ""
        train, test = len(self.corpus.train), len(self.corpus.test)
        allowed = (
            f"{train:,} symbols to train on, and {test:,} to test on, which allows test lengths up to {self.reach:,}"
        )
        if self.has_length(length) and self.reach == self.most:
            return f"{self.name}: a test segment has at most {self.most:,} symbols; choose a shorter length"
        return f"{self.name} has {allowed}; choose a shorter length, or a longer text"

    def test(self, seed: int, length: int, count: int) -> Words:
        """The test segments of one length.

        Where the last symbols count, the same `count` symbols are predicted at every length: only how much of the text
        before them is read differs. Otherwise the segments lie side by side, or `step` apart, in the same region.
        """
        if self.is_side_by_side:
            self.corpus.check()
            # A view: windows that overlap may hold far more symbols than the text.
            return sliding_window_view(self.corpus.test, length + 1)[self.side_by_side(length)]
        return self.corpus.segments("test", length + 1, self.starts(seed, length, count))

    test.__test__ = False  # type: ignore[attr-defined]  # its name is no invitation to pytest

    @property
    def is_side_by_side(self) -> bool:
        """Whether the test segments cover a region, instead of being drawn."""
        return self.options.scoring in ("nonoverlapping", "sliding")

    def starts(self, seed: int, length: int, count: int) -> Int[np.ndarray, " count"]:
        if self.is_side_by_side:
            return np.arange(len(self.corpus.test) - length)[self.side_by_side(length)]
        return rng(seed, "test").integers(self.reach + 1, len(self.corpus.test) + 1, size=count) - length - 1

    def files(self, seed: int, length: int, count: int) -> Int[np.ndarray, " count"]:
        """The file that the symbols of each test segment lie in, by the middle symbol of those that count.

        >>> from regulargpt.data import read_data
        >>> read_data("text:recurrent").files(seed=0, length=64, count=4).tolist()
        [5, 15, 2, 5]
        """
        # A row has one symbol more than its length, the last of which is predicted.
        return self.corpus.test_documents(self.starts(seed, length, count) + length - self.counted(length) // 2)

    def side_by_side(self, length: int) -> slice:
        """Where segments begin that cover the region: end to end, or windows `step` apart."""
        size = min(self.options.region, len(self.corpus.test) - 1)
        step = length if self.options.scoring == "nonoverlapping" else min(self.options.step, length)
        return slice(0, max(1, size - length + 1), step)

    def counted(self, length: int) -> int:
        """How many symbols at the end of a segment count."""
        # No more than the training length has, or longer segments would be asked about other symbols.
        k = min(self.options.last, self.options.train_len)
        last = {"last": 1, "last_k": k, "sliding": self.options.step}
        return min(length, last.get(self.options.scoring, length))

    def prepare(self, train_len: int, test_len: int) -> None:
        """Nothing can be too large."""

    def encode(self, text: str) -> Words:
        return self.corpus.encode(text)

    def record(self) -> Mapping[str, Any]:
        """Bytes, or the tokenizer whose numbers the network reads."""
        return {"text": {"tokenizer": self.options.tokenizer, "vocabulary": self.corpus.vocabulary_size}}

    def fingerprint(self) -> Mapping[str, Any]:
        return {"corpus": {"name": self.name, "sha256": self.corpus.digest, "files": self.corpus.files}}

    def reference(
        self, model: nn.Module, objective: Objective, config: RunConfig, seed: int, device: torch.device, length: int
    ) -> Reference | None:
        from regulargpt.text.evaluation.reference import reference

        return reference(model, self, objective, config, seed, device, length)

    def facts(
        self, points: Sequence[Point], config: RunConfig, reference: Reference | None, base: int
    ) -> dict[str, Any]:
        from regulargpt.text.evaluation.extrapolation import text_facts

        return text_facts(points, config, reference, base)

    def ratio(self, point: Point, base: Point) -> Interval:
        from regulargpt.text.evaluation.extrapolation import ratio_of

        return ratio_of(point, base)
