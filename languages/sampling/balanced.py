"""Balanced batches of a classification: members, non-members and near misses of one length."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from languages.automata import Dfa
from languages.automata.words import Indices, smallest_unsigned
from languages.budget import allowed, hint
from languages.errors import SamplingError
from languages.sampling.members import Members
from languages.sampling.near_miss import NearMissSampler, substitutions, swap
from languages.sampling.sampler import WordSampler

MAX_TOGETHER = 2**22  # edges of the samplers of near misses


@dataclass(frozen=True)
class Mixture:
    """Which words of a length are drawn, see `languages.task.Task.sample`. SamplingError for what is out of range."""

    near_misses: float = 0.0
    edits: int = 1
    members: float = 0.5
    swaps: float = 0.0

    def __post_init__(self) -> None:
        for name, of in (("near_misses", "non-members"), ("swaps", "near misses"), ("members", "words")):
            share = getattr(self, name)
            if not 0.0 <= share <= 1.0:
                raise SamplingError(f"{name} is {share}; it is a share of the {of}, 0.0 to 1.0")
        if self.edits < 1:
            raise SamplingError(f"edits is {self.edits}; a near miss has at least 1 edit")


class BalancedSampler:
    """Draws batches of words of `language` and of others; the members come from `members` if that is given."""

    def __init__(self, language: Dfa, members: tuple[Dfa, ...] | Members = ()) -> None:
        self.language = language
        self.sources = members if isinstance(members, tuple) and members else (language,)
        self.members: Members = WordSampler(self.sources) if isinstance(members, tuple) else members
        self.non_members = WordSampler(~language)
        self._near: dict[int, NearMissSampler] = {}

    def classes(self, length: int) -> tuple[int, ...]:
        """Which of 0 (non-members) and 1 (members) have words of this length."""
        return tuple(label for label, words in enumerate((self.non_members, self.members)) if words.has(length))

    def sample(self, random: np.random.Generator, length: int, count: int, mixture: Mixture) -> Indices:
        """Words (count, length), shuffled."""
        classes = self.classes(length)
        if len(classes) == 2:
            share = mixture.members
            n_members = half(random, count) if share == 0.5 else share_of(random, count, share)
        else:
            n_members = count * sum(classes)
        near = self.near_misses(length, mixture.edits) if mixture.near_misses else []
        swapped = self.swapped(length) if mixture.near_misses and mixture.swaps else []
        n_near = share_of(random, count - n_members, mixture.near_misses) if near else 0
        # A swap is two substitutions: where it leaves the language, already the first does or the second.
        n_swapped = share_of(random, n_near, mixture.swaps) if swapped else 0
        n_edited = n_near - n_swapped
        # How many edits a near miss has is drawn for each: every number that is possible is equally likely.
        sizes = np.bincount(random.integers(0, max(1, len(near)), n_edited), minlength=len(near)).tolist()
        parts: list[tuple[Members, int]] = [
            (self.members, n_members),
            (self.non_members, count - n_members - n_near),
            *zip(near, sizes[: len(near)], strict=True),
            *((sampler, n_swapped) for sampler in swapped),
        ]
        words = [sampler.sample(random, length, size) for sampler, size in parts if size]
        empty = np.zeros((0, length), dtype=smallest_unsigned(self.language.n_symbols))
        # Shuffled, or the place in the batch would tell the label.
        return np.concatenate(words)[random.permutation(count)] if words else empty

    def near_misses(self, length: int, edits: int) -> list[NearMissSampler]:
        """Samplers of near misses by 1..edits substitutions, those that have a near miss of this length."""
        self._check_edits(min(edits, length))
        return [near for n in range(1, min(edits, length) + 1) if (near := self._near_misses(n)).has(length)]

    def prepare(self, length: int, edits: int, swaps: float) -> None:
        """Make what near misses of words up to this length are drawn from.

        Raises SamplingError where that would be too large a table.
        """
        self._check_edits(min(edits, length))
        if swaps:
            self.swapped(length)

    def swapped(self, length: int) -> list[NearMissSampler]:
        """The sampler of near misses by a swap of two symbols, if there is a near miss of this length."""
        return [self._swapped] if self._swapped.has(length) else []

    def _check_edits(self, edits: int) -> None:
        """Raise SamplingError where the samplers of 1..edits substitutions are together too large.

        The largest is made first: one of n edits has about n times the edges of one of a single edit.
        """
        together = len(self._near_misses(edits).counts.graph.source) * (edits + 1) // 2 if edits else 0
        if together > allowed(MAX_TOGETHER):
            raise SamplingError(
                f"near misses of up to {edits} edits need about {together:,} pairs of transitions; at most "
                f"{allowed(MAX_TOGETHER):,} are allowed{hint(together, MAX_TOGETHER)}"
            )

    def _near_misses(self, edits: int) -> NearMissSampler:
        if edits not in self._near:
            edit = substitutions(self.language.n_symbols, edits)
            self._near[edits] = NearMissSampler(self.sources, self.language, edit)
        return self._near[edits]

    @cached_property
    def _swapped(self) -> NearMissSampler:
        return NearMissSampler(self.sources, self.language, swap(self.language.n_symbols))


def half(random: np.random.Generator, count: int) -> int:
    """Half of `count`; for an odd count the generator decides which way it is rounded."""
    return (count + int(random.integers(2))) // 2


def share_of(random: np.random.Generator, count: int, share: float) -> int:
    """This share of `count`, rounded at random so that it is exact on average.

    >>> from languages.randomness import rng
    >>> [share_of(rng(0, "example", step), 5, 0.3) for step in range(8)]
    [2, 1, 2, 1, 1, 2, 1, 1]
    """
    return min(count, int(count * share + random.random()))
