"""Words of a language for training and testing: each batch a pure function of (seed, purpose, step)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from languages.automata.oracle import Oracle
from languages.context_free.nested import NestedTask
from languages.context_free.user import without_depth
from languages.drawn import DrawnTask
from languages.randomness import rng
from languages.registry import is_built_in, no_finite_automaton
from languages.task import Task
from languages.tasks import AnyTask, TreeTask, tree_task
from regulargpt.data.base import Words
from regulargpt.data.options import LanguageOptions, MixtureOptions


@dataclass(frozen=True)
class LanguageData:
    """The words of a task, drawn as the options say.

    >>> from regulargpt.data import read_data
    >>> data = read_data("parity")
    >>> data.batch(seed=0, purpose="train", step=7, lengths=[5], count=3).shape
    (3, 5)
    """

    kind: ClassVar[str] = "words"
    task: AnyTask
    options: LanguageOptions

    @property
    def finite(self) -> Task:
        """The task, for what needs a finite automaton. LanguageError for a language above the regular ones."""
        if not isinstance(self.task, Task):
            raise no_finite_automaton(self.name, self.task.level)
        return self.task

    @property
    def tree_task(self) -> TreeTask:
        """The task, for what needs a finite table along a tree. LanguageError for a language that has none."""
        return tree_task(self.task)

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def has_brackets(self) -> bool:
        return isinstance(self.task, NestedTask)

    @property
    def has_rows(self) -> bool:
        return isinstance(self.task, DrawnTask) and self.task.asked is not None

    @cached_property
    def by_depth(self) -> LanguageData:
        """The same words with brackets, drawn by their depth."""
        assert isinstance(self.task, NestedTask), "other words have no depth"
        return replace(self, task=replace(self.task, depth="every"))

    def lengths(self, longest: int) -> list[int]:
        return self.task.lengths(self.options.train_from, longest)

    def batch(self, seed: int, purpose: str, step: int, lengths: Sequence[int], count: int) -> Words:
        random = rng(seed, purpose, step)
        # One length a batch: words need no padding, which would be another symbol to learn.
        length = lengths[int(random.integers(len(lengths)))]
        return draw(self.task, self.options.training, random, length, count)

    def has_length(self, length: int) -> bool:
        return self.task.has_length(length)

    def describe_length(self, length: int) -> str:
        return self.task.describe_length(length)

    def encode(self, text: str) -> Words:
        return self.task.machine.encode(text)

    def record(self) -> Mapping[str, Any]:
        """Symbols are numbers to the network: which is which, and what its answers are called."""
        record: dict[str, Any] = {"alphabet": list(self.task.alphabet), "output_names": list(self.task.output_names)}
        if isinstance(self.task, NestedTask):
            record["direction"] = self.task.visibly.direction.tolist()
        return record

    def files(self, seed: int, length: int, count: int) -> None:
        """Each word is drawn by itself."""

    def fingerprint(self) -> Mapping[str, Any]:
        """A language is what its name says, but for an automaton from outside, which may change under its name."""
        if is_built_in(self.options.name) and not self.options.name.startswith(("dfa:", "pushdown:")):
            return {}
        from languages.convert.machines import to_json

        assert not isinstance(self.task.machine, Oracle), "only this package has such"
        read = hashlib.sha256(to_json(self.task.machine).encode()).hexdigest()
        # How deep words are drawn is no part of it: a test may draw them otherwise.
        return {"automaton": {"name": without_depth(self.options.name), "sha256": read}}

    def symbols(self, word: Sequence[int]) -> int:
        """The length of a word, without the symbols that ask for a row of answers."""
        return self.task.symbols(word)

    def whole(self, word: Sequence[int]) -> tuple[int, ...]:
        """The question that a word is the beginning of: with all the empty symbols that ask for its row of answers.

        >>> from regulargpt.data import read_data
        >>> read_data("reverse-string").whole((1, 0, 0, 2))
        (1, 0, 0, 2, 2, 2)
        """
        return self.task.whole(word)

    def is_tested(self, length: int) -> bool:
        """Whether there are test words of this length.

        >>> from regulargpt.data import read_data
        >>> read_data("dyck-2").is_tested(41), read_data("dyck-2").is_tested(42)
        (True, True)
        """
        mixture = self.options.test
        if mixture is not None and mixture.both_classes:
            return len(self.task.classes(length)) == 2
        return self.task.has_length(length)

    def test(self, seed: int, length: int, count: int) -> Words:
        return draw(self.task, self.options.test, rng(seed, "test", length), length, count)

    test.__test__ = False  # type: ignore[attr-defined]  # its name is no invitation to pytest

    def prepare(self, train_len: int, test_len: int) -> None:
        """Raise SamplingError now if the automaton is too large for the near misses up to these lengths."""
        for mixture, longest in ((self.options.training, train_len), (self.options.test, test_len)):
            if mixture is not None and mixture.near_misses and longest:
                self.task.prepare_near_misses(longest, mixture.edits, mixture.swaps)

    def near(self, wrong: Words, seed: int, step: int) -> Words:
        """Words (n, T), each at most two symbols from its own of these (n, T); that symbol where they may not differ.

        >>> from regulargpt.data import read_data
        >>> wrong = np.array([[0, 1, 1, 0]] * 64)
        >>> near = read_data("parity").near(wrong, seed=0, step=3)
        >>> near.shape, int((near != wrong).sum(1).max())
        ((64, 4), 2)
        """
        random = rng(seed, "near a wrong word", step)
        words = wrong.copy()
        count, shape = len(words), (len(words), 2)
        edits, empties = random.integers(3, size=count), 0
        length, n_symbols = words.shape[1], self.task.n_symbols
        if isinstance(self.task, DrawnTask) and self.task.empty is not None:
            # Empty symbols stay behind the word, as many as they are.
            n_symbols, empties = n_symbols - 1, (words == self.task.empty).sum(1)[:, None]  # (count, 1)
        some = np.maximum(length - empties, 1)  # also of a word that has empty symbols only
        places, symbols = random.integers(some, size=shape), random.integers(n_symbols, size=shape)
        for j in range(2):
            rows = np.flatnonzero(edits > j)
            words[rows, places[rows, j]] = symbols[rows, j]
        answered = self.task.questions(words)
        # A word that may not be asked about would teach a wrong answer; the wrong word itself always may.
        words[~answered] = wrong[~answered]
        return words


def draw(task: AnyTask, mixture: MixtureOptions | None, random: np.random.Generator, length: int, count: int) -> Words:
    """Words as the task samples them; of a balanced task, mixed as the options say."""
    if mixture is None:
        return task.sample(random, length, count)
    return task.sample(
        random,
        length,
        count,
        near_misses=mixture.near_misses,
        edits=mixture.edits,
        swaps=mixture.swaps,
        members=mixture.members,
    )
