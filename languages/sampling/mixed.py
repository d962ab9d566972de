"""Batches of a task whose near misses are members with a few symbols changed: no automaton is needed for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from languages.automata.words import Indices
from languages.errors import LanguageError, LengthEmpty, SamplingError
from languages.sampling.balanced import Mixture, half, share_of
from languages.sampling.sampler import uniform_words

if TYPE_CHECKING:
    from languages.answers import Answers

    Base = Answers[Any]
else:
    Base = object

TRIES = 64  # rounds in which words are changed or drawn again that are still members


class MixedWords(Base):
    """How words of a length are drawn; a task gives `members`, `_changed` and, where non-members are few, `_rest`.

    Near misses are members with 1..edits symbols changed, or with two symbols exchanged (`swaps` of them); what is
    still a member is changed again. Other non-members are uniform words.
    """

    @property
    def is_classification(self) -> bool:
        """Whether every word is answered with 0 "reject" or 1 "accept"."""
        raise NotImplementedError

    def _check_classification(self) -> None:
        """Raise LanguageError for a task that has no members."""
        if not self.is_classification:
            raise LanguageError(f"{self.name} answers {', '.join(self.output_names[:5])}; classes are reject, accept")

    def sample(
        self,
        random: np.random.Generator,
        length: int,
        count: int,
        near_misses: float = 0.0,
        edits: int = 1,
        members: float = 0.5,
        swaps: float = 0.0,
    ) -> Indices:
        """Words (count, length) of one length, mixed as `languages.task.Task.sample` says.

        Raises LengthEmpty if there is no word of this length, SamplingError for arguments out of range.
        """
        if count < 0:
            raise SamplingError(f"cannot draw {count} words; a count is 0 or more")
        if not self.has_length(length):
            raise LengthEmpty(self.describe_length(length))
        mixture = Mixture(near_misses, edits, members, swaps)
        if self.sampling == "balanced":
            return self._mixed(random, length, count, mixture)
        if near_misses or members != 0.5:
            raise SamplingError(f"{self.name} has no members; near_misses and members are for classifications")
        return self.members(random, length, count)

    def members(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Members (count, length), or where words are uniform any."""
        raise NotImplementedError

    def _changed(self, random: np.random.Generator, words: Indices, edits: int, swaps: float) -> Indices:
        """The words (count, length), each with a few symbols changed."""
        raise NotImplementedError

    def _rest(self, random: np.random.Generator, length: int, count: int) -> Indices | None:
        """Non-members (count, length) where they are few; None where a uniform word mostly is one."""
        return None

    def _mixed(self, random: np.random.Generator, length: int, count: int, mixture: Mixture) -> Indices:
        classes, share = self.classes(length), mixture.members
        n_members = half(random, count) if share == 0.5 else share_of(random, count, share)
        n_members = n_members if len(classes) == 2 else count * sum(classes)
        n_near = share_of(random, count - n_members, mixture.near_misses) if len(classes) == 2 else 0
        parts = [self._others(random, length, count - n_members - n_near)]
        if n_members:
            parts.append(self.members(random, length, n_members))
        if n_near:
            parts.append(self._near(random, length, n_near, mixture))
        return np.concatenate(parts)[random.permutation(count)]

    def _near(self, random: np.random.Generator, length: int, count: int, mixture: Mixture) -> Indices:
        members = self.members(random, length, count)
        words, still = members.copy(), np.arange(count)
        for _ in range(TRIES):
            words[still] = self._changed(random, members[still], mixture.edits, mixture.swaps)
            still = still[self.labels(words[still]) == 1]
            if not len(still):
                return words
        words[still] = self._others(random, length, len(still))
        return words

    def _others(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Uniform words (count, length) that are no members."""
        words, wrong = uniform_words(random, self.n_symbols, length, count), np.arange(count)
        rounds = 0
        while len(wrong := wrong[self.labels(words[wrong]) == 1]):
            words, rounds = words if words.flags.writeable else words.copy(), rounds + 1
            few = self._rest(random, length, len(wrong)) if rounds > TRIES else None
            words[wrong] = uniform_words(random, self.n_symbols, length, len(wrong)) if few is None else few
        return words

    def prepare_near_misses(self, length: int, edits: int = 1, swaps: float = 0.0) -> None:
        """Near misses need no table here."""
