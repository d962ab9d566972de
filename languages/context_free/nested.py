"""A task of a context-free language with visible brackets: a pushdown machine, and a grammar to draw words from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from languages.answers import CLASSES, Answers
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.automata.words import Indices
from languages.errors import LanguageError
from languages.sampling.edits import edited
from languages.sampling.grammar import DEEPEST, Grammar, Part
from languages.sampling.mixed import MixedWords
from languages.sampling.sampler import uniform_words

OFTEN = 8  # uniform words for each member of a user's machine


@dataclass(frozen=True)
class NestedTask(MixedWords, Answers[PushdownTransducer]):
    """What a model is to learn: the machine's answer to a word with brackets, at its last symbol.

    `rules` are a grammar (`languages.sampling.grammar`) of the words that are drawn: of the questions where sampling is
    "uniform", of the members where it is "balanced". `others` are a grammar of the non-members, None where most words
    of every length are. Words of a length are all equally likely; with `depth="every"`, and beyond 2,048 symbols (less
    for a large machine), they are drawn by nesting depth. With `depth="1000"` members, or questions, are so deep.
    `draw` takes the place of the grammar, for questions that are drawn as published.
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
    draw: Callable[[np.random.Generator, int, int], Indices] | None = None
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
        return VisiblyPushdown.from_machine(self.machine)

    @cached_property
    def grammar(self) -> Grammar:
        return Grammar(self.alphabet, self.rules, self.visibly.direction)

    @cached_property
    def _other_grammar(self) -> Grammar | None:
        return None if self.others is None else Grammar(self.alphabet, self.others, self.visibly.direction)

    def classes(self, length: int) -> tuple[int, ...]:
        """The labels (0 reject, 1 accept) that some word of this length has; for classifications only."""
        self._check_classification()
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

    def members(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Words (count, length) of the grammar, or as `draw` has them."""
        if self.draw is not None:
            return self.draw(random, length, count)
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

    def _changed(self, random: np.random.Generator, words: Indices, edits: int, swaps: float) -> Indices:
        """With a bracket's kind or symbol changed, or two symbols exchanged."""
        return edited(random, words, self.visibly.direction, edits, swaps)

    def _others(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Non-members (count, length): uniform words, or as deep as is requested."""
        if self._exactly and (grammar := self._other_grammar) is not None and self._exactly <= grammar.deepest(length):
            return grammar.so_deep(random, length, count, self._exactly)
        return super()._others(random, length, count)

    def _rest(self, random: np.random.Generator, length: int, count: int) -> Indices | None:
        grammar = self._other_grammar
        return None if grammar is None else self._of_grammar(grammar, random, length, count)
