"""A task of a context-free language with visible brackets: a pushdown machine, and a grammar to draw words from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from languages.answers import CLASSES, Answers
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.automata.words import Indices
from languages.errors import LanguageError, LengthEmpty, SamplingError
from languages.sampling.balanced import Mixture, half, share_of
from languages.sampling.edits import edited
from languages.sampling.grammar import DEEPEST, Grammar, Part
from languages.sampling.sampler import uniform_words

OFTEN = 8  # uniform words for each member of a user's machine
TRIES = 64  # rounds in which words are changed or drawn again that are still members


@dataclass(frozen=True)
class NestedTask(Answers[PushdownTransducer]):
    """What a model is to learn: the machine's answer to a word with brackets, at its last symbol.

    `rules` are a grammar (`languages.sampling.grammar`) of the words that are drawn: of the questions where sampling is
    "uniform", of the members where it is "balanced". `others` are a grammar of the non-members, None where most words
    of every length are. Words of a length are all equally likely; with `depth="every"`, and beyond 2,048 symbols (less
    for a large machine), they are drawn by nesting depth. With `depth="1000"` members, or questions, are so deep.
    It is asked as `languages.task.Task` is, and has no finite automaton.

    >>> from languages.context_free.brackets import brackets
    >>> from languages.randomness import rng
    >>> task = brackets(2)
    >>> int(task.labels(task.sample(rng(0, "example"), length=20, count=10)).sum())
    5
    """

    name: str
    machine: PushdownTransducer
    summary: str
    source: str
    examples: tuple[tuple[str, str], ...]
    rules: Mapping[str, Sequence[Sequence[Part]]]
    sampling: Literal["uniform", "balanced"] = "uniform"
    depth: str = "any"
    others: Mapping[str, Sequence[Sequence[Part]]] | None = None
    level = "context-free"
    domain = None

    def __post_init__(self) -> None:
        if self.depth not in ("any", "every") and not (self.depth.isdecimal() and 1 <= int(self.depth) <= DEEPEST):
            said = f"it is 'any', 'every' or a number, 1 to {DEEPEST}"
            raise LanguageError(f"{self.name}: depth is {self.depth!r:.80}; {said}")

    @property
    def is_classification(self) -> bool:
        """Whether every word is answered with 0 "reject" or 1 "accept"."""
        return self.output_names == CLASSES and self.sampling == "balanced"

    @cached_property
    def visibly(self) -> VisiblyPushdown:
        """The machine, by calls, returns and internal symbols."""
        return VisiblyPushdown.of(self.machine)

    @cached_property
    def grammar(self) -> Grammar:
        return Grammar(self.alphabet, self.rules, self.visibly.direction)

    @cached_property
    def _other_grammar(self) -> Grammar | None:
        return None if self.others is None else Grammar(self.alphabet, self.others, self.visibly.direction)

    def classes(self, length: int) -> tuple[int, ...]:
        """The labels (0 reject, 1 accept) that some word of this length has; for classifications only."""
        if not self.is_classification:
            raise LanguageError(f"{self.name} answers {', '.join(self.output_names[:5])}; classes are reject, accept")
        return (*((0,) if self._has_others(length) else ()), *((1,) if self._has_members(length) else ()))

    def _has_members(self, length: int) -> bool:
        """Whether the grammar has a word of this length that is so deep."""
        return self.grammar.has(length) and (not self._exactly or self._exactly <= self.grammar.deepest(length))

    @cached_property
    def _exactly(self) -> int:
        """The depth that all words have, 0 if it may be any."""
        return int(self.depth) if self.depth.isdecimal() else 0

    def _has_others(self, length: int) -> bool:
        """Whether some word of this length is no member."""
        return self._other_grammar is None or self._other_grammar.has(length)

    def has_length(self, length: int) -> bool:
        """Whether the task has words of this length (at least 1)."""
        return length >= 1 and (self.sampling == "balanced" or self._has_members(length))

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

        Near misses are members with 1..edits symbols changed, a bracket's kind or symbol, or with two symbols exchanged
        (`swaps` of them); what is still a member is edited again. Other non-members are uniform words.

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
        """Words (count, length) of the grammar."""
        if self._exactly:
            return self.grammar.so_deep(random, length, count, self._exactly)
        if self.others is None or self.depth != "any" or length > self.grammar.longest_counted:
            return self._of_grammar(self.grammar, random, length, count)
        # A user's machine may accept many words, and its grammar have many rules: those that are met count as drawn.
        words = uniform_words(random, self.n_symbols, length, OFTEN * count)
        met = words[self.labels(words) == 1][:count]
        return np.concatenate([met, self._of_grammar(self.grammar, random, length, count - len(met))])

    def _of_grammar(self, grammar: Grammar, random: np.random.Generator, length: int, count: int) -> Indices:
        if self.depth != "any" or length > grammar.longest_counted:
            return grammar.by_depth(random, length, count)
        return grammar.uniform(random, length, count)

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
            words[still] = edited(random, members[still], self.visibly.direction, mixture.edits, mixture.swaps)
            still = still[self.labels(words[still]) == 1]
            if not len(still):
                return words
        words[still] = self._others(random, length, len(still))
        return words

    def _others(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Uniform words (count, length) that are no members."""
        if self._exactly and (grammar := self._other_grammar) is not None and self._exactly <= grammar.deepest(length):
            return grammar.so_deep(random, length, count, self._exactly)
        words, wrong = uniform_words(random, self.n_symbols, length, count), np.arange(count)
        rounds = 0
        while len(wrong := wrong[self.labels(words[wrong]) == 1]):
            words, rounds = words if words.flags.writeable else words.copy(), rounds + 1
            if rounds > TRIES and (grammar := self._other_grammar) is not None:  # there are few
                words[wrong] = self._of_grammar(grammar, random, length, len(wrong))
            else:
                words[wrong] = uniform_words(random, self.n_symbols, length, len(wrong))
        return words

    def prepare_near_misses(self, length: int, edits: int = 1, swaps: float = 0.0) -> None:
        """Near misses need no table here."""
