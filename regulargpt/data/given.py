"""A user's words and answers for training and testing: `words:FILE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from languages.automata.words import Indices
from languages.errors import UserError
from languages.randomness import rng
from languages.unknown.words import GivenTask, GivenWords
from regulargpt.data.base import Words
from regulargpt.data.language import LanguageData
from regulargpt.data.options import GivenOptions

MOST_SAID = 12
"""Lengths in a message."""
SHORTEST = 2
"""The least `train_len` that every network can have, but trees with more children."""


@dataclass(frozen=True)
class GivenData(LanguageData):
    """The words of a file, each for training or for the test.

    Words longer than `train_len` are for the test. Of the others a share `held_out` is, chosen by a hash of the word,
    so that it is the same whatever else is in the file. A word shorter than `train_from` that is not kept back is
    neither. No word is trained on and tested. A file with a column `split` says itself which words are for what.

    Raises UserError for a word that the file marks for the training, and that is longer than `train_len`.
    """

    def __post_init__(self) -> None:
        """Refuses what would be neither trained on nor tested."""
        marked = [T for T in self.given.of_length if self.given.tested and not self.given.kept_back(T, 0).all()]
        if (longest := max(marked, default=0)) > self.options.train_len:
            has = f"{self.name} has a word of {longest} symbols for the training"
            remedy = f"write --train-len {longest}, or mark it test"
            raise UserError(f"data.train_len = {self.options.train_len}: {has}; {remedy}")

    @property
    def given(self) -> GivenWords:
        """The words of the file."""
        assert isinstance(self.task, GivenTask), "only a file of words is drawn so"
        return self.task.given

    @cached_property
    def parts(self) -> Mapping[int, tuple[Indices, Indices]]:
        """Of each length the words that are trained on and those that are tested, (n, length) each."""
        assert isinstance(self.options, GivenOptions), "a file of words has these"
        by_length: dict[int, tuple[Indices, Indices]] = {}
        for length, words in self.given.of_length.items():
            is_tested = np.ones(len(words), dtype=np.bool_)
            if length <= self.options.train_len or self.given.tested:
                is_tested = self.given.kept_back(length, self.options.held_out)
            by_length[length] = words[~is_tested], words[is_tested]
        return by_length

    def _part(self, length: int, *, tested: bool) -> Indices:
        words = self.given.of_length
        none = next(iter(words.values()))[:0, :0]
        return self.parts[length][tested] if length in words else none

    def lengths(self, longest: int) -> list[int]:
        return [T for T in self.given.of_length if self.options.train_from <= T <= longest and self.has_length(T)]

    def batch(self, seed: int, purpose: str, step: int, lengths: Sequence[int], count: int) -> Words:
        random = rng(seed, purpose, step)
        # Lengths are drawn as often as they have words, so that every word is read about as often as any other.
        sizes = np.array([len(self._part(T, tested=False)) for T in lengths])
        length = lengths[int(random.choice(len(lengths), p=sizes / sizes.sum()))]
        return self.given.drawn(random, self._part(length, tested=False), count)

    def has_length(self, length: int) -> bool:
        return len(self._part(length, tested=False)) > 0

    def is_tested(self, length: int) -> bool:
        return len(self._part(length, tested=True)) > 0

    def describe_length(self, length: int) -> str:
        """One line about a length without words, or with none for the training or the test; empty for others."""
        lengths = [*self.given.of_length]
        more = "mark some test" if self.given.tested else "raise data.held_out"
        fewer = "mark some train" if self.given.tested else "lower data.held_out"
        if not any(map(self.is_tested, lengths)):
            return f"all words of {self.name} are trained on; {self.shorter()}{more}"
        if length not in lengths:
            some = ", ".join(map(str, lengths[:MOST_SAID])) + ", ..." * (len(lengths) > MOST_SAID)
            return f"length {length}: {self.name} has no words; it has words of {some} symbols"
        if not self.is_tested(length):
            return f"length {length}: all words of {self.name} are trained on; {more}, or test longer ones"
        if not self.has_length(length) and length <= self.options.train_len:
            return f"length {length}: all words of {self.name} are kept for the test; {fewer}"
        return ""

    def shorter(self) -> str:
        """A shorter training, so that the longest words are left for the test; empty if there is none."""
        *lengths, longest = self.given.of_length
        if self.given.tested or longest <= SHORTEST or max(lengths, default=0) < self.options.train_from:
            return ""
        return f"leave those of {longest} symbols for the test with --train-len {longest - 1}, or "

    def test(self, seed: int, length: int, count: int) -> Words:
        """At most `count` test words of a length, each once."""
        words = self._part(length, tested=True)
        return self.given.drawn(rng(seed, "test", length), words, min(count, len(words)))

    test.__test__ = False  # type: ignore[attr-defined]  # its name is no invitation to pytest

    def near(self, wrong: Words, seed: int, step: int) -> Words:
        """The words as they are: what is near may be a test word, or have no answer."""
        return wrong

    def fingerprint(self) -> Mapping[str, Any]:
        """The words of a file may change under its name."""
        return {"words": {"name": self.options.name, "sha256": self.given.digest}}
