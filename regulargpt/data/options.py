"""The options of the data: which language, and how words are drawn for training and the test.

Never imports torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from languages.named_file import file_of
from regulargpt.options import Options, option, share

FURTHEST = 16
"""Texts are tested to so many times the training length."""
REACH = 65_536
"""The longest test segment of a text, where `FURTHEST` training lengths are not longer."""


@dataclass(frozen=True)
class DataOptions(Options):
    """The options of a source of data; `train_len` is the length of the longest thing it is trained on."""

    name: str
    train_len: int = option(
        40, "Longest training word.", least=1, most=1_000_000, why="a word has at least 1 symbol", flag="--train-len"
    )

    @property
    def shortest(self) -> int:
        """The length of the shortest thing it is trained on."""
        return self.train_len

    @property
    def first_tested(self) -> int:
        """The shortest length that is scored where nobody says otherwise."""
        return self.train_len + 1

    def files(self) -> Iterator[tuple[str, Path]]:
        """The files that the options name, by the options; whether they are there or not."""
        if (file := file_of(self.name)) is not None:
            yield "name", file


@dataclass(frozen=True)
class WordOptions(DataOptions):
    """A language."""

    train_from: int = option(1, "Shortest training word.", least=1, why="a word has at least 1 symbol")

    @property
    def shortest(self) -> int:
        return self.train_from

    def problems(self) -> Iterator[str]:
        if self.train_from > self.train_len:
            yield f"train_from = {self.train_from} is longer than data.train_len = {self.train_len}"


@dataclass(frozen=True)
class MixtureOptions(Options):
    """Which words of a language are drawn.

    Of all words a share `members` are members. Of the others a share `near_misses` are members with 1 to `edits`
    symbols substituted or, a share `swaps` of these, with two symbols swapped.
    """

    members: float = share(0.5, "Share of members.")
    near_misses: float = share(0.0, "Share of near misses in the non-members.", flag="--near-misses")
    edits: int = option(
        1, "Most edits of a near miss.", least=1, most=1000, why="a near miss has at least 1 edit", needs="near_misses"
    )
    swaps: float = share(0.0, "Share of near misses in which two symbols changed places.", needs="near_misses")


@dataclass(frozen=True)
class TestMixture(MixtureOptions):
    """The words of the test."""

    __test__ = False  # its name is no invitation to pytest

    both_classes: bool = option(False, "Leave out lengths without members, or without non-members.")


@dataclass(frozen=True)
class UniformOptions(WordOptions):
    """A language whose words are all asked about, such as parity: words are drawn as its task says."""

    @property
    def training(self) -> MixtureOptions | None:
        return None

    @property
    def test(self) -> TestMixture | None:
        return None


@dataclass(frozen=True)
class BalancedOptions(MixtureOptions, WordOptions):
    """A language of members and non-members: itself the mixture of its training words."""

    test: TestMixture = field(default_factory=TestMixture)

    @property
    def training(self) -> MixtureOptions:
        return self


@dataclass(frozen=True)
class GivenOptions(UniformOptions):
    """Words and answers in a file: those longer than `train_len` are test words, and a share of the others."""

    held_out: float = option(
        0.1,
        "Share of the words of training lengths that are kept for the test, by a hash.",
        least=0,
        below=1,
        why="it is a share, 0 to below 1",
    )

    @property
    def first_tested(self) -> int:
        """The shortest training length: words that are kept back are new."""
        return self.train_from if self.held_out else self.train_len + 1


LanguageOptions = UniformOptions | BalancedOptions


def sampled(sampling: str) -> type[Any]:
    return BalancedOptions if sampling == "balanced" else UniformOptions
