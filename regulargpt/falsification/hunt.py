"""A search under way: what was tried, which words are wrong, and how much may still be tried."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
import numpy.typing as npt

from regulargpt.falsification.asked import Examinee, Word, Words
from regulargpt.falsification.family import MOST_FAMILIES, WordFamily, apart, says, together
from regulargpt.models.tree.base import Tree

SYMBOLS, OF_TREE, OF_POWER = 8, 64, 256
"""A longer word counts as one for each so many symbols: what a recurrent network reads in the time, what a tree does,
and a tree of a power u v^n w, in which few nodes differ."""
PAIRS, FEWEST = 128, 32
"""The same of pairs of positions, where attention holds a number for each; and of the positions that are cheap."""
MOST_AT_ONCE = 1 << 16
"""Symbols that are read between two looks at the clock."""
MOST_KEPT, LONGEST_KEPT = 24, 1 << 16
"""Wrong words of a report; and symbols of those of which more than one is kept."""
LEAST_REPLAYED, MOST_REPLAYED = 64, 4096
"""Symbols of the long word by which a family is replayed: more with a larger budget."""


class Spent(Exception):
    """The share of a search is spent, or the time is over."""


@dataclass
class Hunt:
    """Searches ask it for answers. It keeps the wrong words, and raises Spent when there is no budget left.

    `whole` is the length up to which all words were tried, `no_longer` what was wrong before and is right now. The
    `clock` counts processor time of this thread: other programs take none of it.
    """

    examinee: Examinee
    words: int
    seconds: float = inf
    seed: int = 0
    on_progress: Callable[[str, int, int], None] = lambda kind, done, count: None
    clock: Callable[[], float] = time.thread_time
    tried: Counter[str] = field(default_factory=Counter)
    wrong: dict[Word, None] = field(default_factory=dict)
    families: list[WordFamily] = field(default_factory=list)
    ruled_out: list[str] = field(default_factory=list)
    no_longer: list[str] = field(default_factory=list)
    whole: int = 0
    spent: int = 0
    limit: int = 0
    began: float = 0.0

    def __post_init__(self) -> None:
        self.limit, self.began = self.words, self.clock()

    def give(self, share: float) -> None:
        """Let the search that comes now spend this share of what is left."""
        self.limit = self.spent + int(share * (self.words - self.spent))

    @property
    def room(self) -> int:
        """What the search may still spend."""
        return self.limit - self.spent

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self.elapsed > self.seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return self.clock() - self.began

    @property
    def shortest(self) -> float:
        """The length of the shortest wrong word, infinite without any."""
        return min(map(self.examinee.length, self.wrong), default=inf)

    def cost(self, length: int, kind: str = "") -> int:
        """How many words a word of this length counts for."""
        if self.examinee.is_quadratic:
            return max(1, length * max(length, FEWEST) // PAIRS)
        if isinstance(self.examinee.model, Tree):
            return max(1, length // (OF_POWER if kind == "powers" else OF_TREE))
        return max(1, length // SYMBOLS)

    def spend(self, kind: str, count: int, cost: int | None = None) -> None:
        """Note that so many words are tried. Raises Spent, before that, where they are too many or too late."""
        cost = count if cost is None else cost
        if self.is_late or self.spent + cost > self.limit:
            raise Spent
        self.spent += cost
        self.tried[kind] += count
        self.on_progress(kind, self.spent, self.words)

    def try_all(self, kind: str, words: Words) -> npt.NDArray[np.bool_]:
        """(n,) which of these words (n, length) are questions that the network answers wrongly.

        Raises Spent after as many of them as the budget allows.
        """
        self.spend(kind, 0, 1)  # so that a search comes to an end that draws no questions
        wrong = np.zeros(len(words), dtype=np.bool_)
        questions = np.flatnonzero(self.examinee.questions(words)) if len(words) else np.zeros(0, dtype=np.intp)
        each = self.cost(words.shape[1], kind)
        allowed = questions[: max(0, self.room // each)]
        at_once = max(1, MOST_AT_ONCE // words.shape[1])
        for at in range(0, len(allowed), at_once):
            part = allowed[at : at + at_once]
            self.spend(kind, len(part), len(part) * each)
            wrong[part] = self.replay(words[part])
        if len(allowed) < len(questions):
            raise Spent
        return wrong

    def replay(self, words: Words) -> npt.NDArray[np.bool_]:
        """(n,) which of these questions the network, as it is evaluated, answers wrongly; these words are kept."""
        if not len(words):
            return np.zeros(0, dtype=np.bool_)
        wrong = self.examinee.wrong(words)
        # Very long words would fill the memory: a single word is enough to say that there is any.
        few = MOST_KEPT if words.shape[1] <= LONGEST_KEPT else int(not self.wrong)
        for word in words[wrong][:few]:
            self.wrong.setdefault(tuple(word.tolist()))
        if len(self.wrong) > 2 * MOST_KEPT:
            self.wrong = dict.fromkeys(self.sorted()[:MOST_KEPT])
        return wrong

    def keep(self, families: Sequence[WordFamily]) -> None:
        """Keep those families that the network itself is wrong on: on their first word, and on a long word.

        Where the time is over, the simplest family is still tried.
        """
        long, kept = 0, list[WordFamily]()
        for number, family in enumerate(apart(families, 2 * MOST_FAMILIES)):
            # A word as long as that takes seconds, and one family that begins so late says enough.
            is_long = len(family.word(family.of.start)) > LONGEST_KEPT
            if len(kept) == MOST_FAMILIES or (self.is_late and (number or self.families)):
                break
            is_due = not long and 2 * self.elapsed < self.seconds if is_long else True
            if is_due and not any(says(other, family) for other in self.families):
                long += is_long
                kept += [self.begun(family)] if self.is_wrong(family) else []
        self.add(kept)

    def add(self, families: Sequence[WordFamily]) -> None:
        """Keep these families beside those that are kept."""
        self.families = together([*self.families, *families])

    def begun(self, family: WordFamily) -> WordFamily:
        """The family from its first n on, as halving tells: between an n that is right and those that are wrong."""
        of = family.of
        some = [n for n in range(max(1, of.right + 1), of.start) if n % of.period in of.residues]
        low, high = 0, len(some)
        while low < high and not self.is_late:
            middle = (low + high) // 2
            word = self.examinee.data.task.whole(family.word(some[middle]))
            is_wrong = self.examinee.questions(np.array([word]))[0] and self.replay(np.array([word]))[0]
            low, high = (low, middle) if is_wrong else (middle + 1, high)
        return replace(family, of=replace(of, start=[*some, of.start][high]))

    def is_wrong(self, family: WordFamily) -> bool:
        """Whether the network itself is wrong on the first word of a family, and on a long word."""
        of = family.of
        longest = min(MOST_REPLAYED, max(LEAST_REPLAYED, self.words // 32))
        most = (longest - len(family.u) - len(family.w)) // len(family.v)
        far = max((n for n in range(min(most, of.end), of.start, -1) if n % of.period in of.residues), default=of.start)
        words = (self.examinee.data.task.whole(family.word(n)) for n in dict.fromkeys((of.start, far)))
        return all(self.replay(np.array([word]))[0] for word in words)

    def sorted(self) -> list[Word]:
        """The wrong words, shortest first, then in the alphabet's order."""
        return sorted(self.wrong, key=lambda word: (len(word), word))
