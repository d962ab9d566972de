"""All words, length by length: what is wrong first is the shortest wrong word."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from languages.automata.moore import UNDEFINED
from regulargpt.falsification.asked import Words
from regulargpt.falsification.hunt import Hunt
from regulargpt.falsification.machine import Guide
from regulargpt.finite.chain import Chain

KIND = "short"
MOST_WORDS, SOON = 1 << 17, 1 << 10
"""Of one length; and of those that come first."""
AT_ONCE = 1 << 22
"""Numbers of the states that are carried at once."""
MOST_REPLAYED = 64


def short_words(hunt: Hunt) -> None:
    """Try all words up to some length; `hunt.whole` is the length up to which all were tried."""
    examinee = hunt.examinee
    if examinee.machine is None:
        plainly(hunt)
    elif examinee.chain is None:
        along_machine(hunt, Guide(examinee.machine))
    else:
        PrefixTree(hunt, Guide(examinee.machine), examinee.chain).grow()


def plainly(hunt: Hunt) -> None:
    """Every word over the symbols: what is a question is asked, a batch a length."""
    n, task, length = hunt.examinee.symbols, hunt.examinee.data.task, 1
    while n**length <= min(MOST_WORDS, hunt.room) and length <= hunt.examinee.longest:
        words = np.array([task.whole(word) for word in product(range(n), repeat=length)], dtype=np.int64)
        wrong = hunt.try_all(KIND, words)
        hunt.whole = length
        if wrong.any():
            return
        length += 1


def along_machine(hunt: Hunt, guide: Guide) -> None:
    """Every word that can go on to a question, a batch a length."""
    words, states = np.zeros((1, 0), dtype=np.int64), np.array([guide.machine.initial_index])
    for length in range(1, depth(hunt, guide) + 1):
        _, words, states = guide.extended(words, states)
        if hunt.try_all(KIND, words[guide.right[states] != UNDEFINED]).any():
            hunt.whole = length
            return
        hunt.whole = length


def depth(hunt: Hunt, guide: Guide, most: int = MOST_WORDS) -> int:
    """The length up to which all words are within the budget, at most so many of one length."""
    longest = min(256, hunt.examinee.longest)
    counts = guide.counts(longest)
    fits = (counts <= most) & (np.cumsum(counts) <= hunt.room)
    return longest if fits.all() else int((~fits).argmax())


class PrefixTree:
    """The words as a tree of the network's states: each symbol is read once for all words that begin so."""

    def __init__(self, hunt: Hunt, guide: Guide, chain: Chain):
        self.hunt, self.guide, self.chain = hunt, guide, chain
        self.deepest = 0

    def grow(self) -> None:
        """Try all words up to the depth, or up to the length of the shortest wrong word."""
        start = np.array([self.guide.machine.initial_index])
        # Short words first: what is said of them holds when the time is over, too.
        for most in (SOON, MOST_WORDS):
            self.deepest = depth(self.hunt, self.guide, most)
            self.children(np.zeros((1, 0), dtype=np.int64), start, None)
            self.hunt.whole = max(self.hunt.whole, self.deepest)
            if self.hunt.shortest <= self.hunt.whole:
                return

    def children(self, words: Words, states: Words, vectors: Float[Tensor, "n D"] | None) -> None:
        """Try these words with one symbol more, and then what follows."""
        if words.shape[1] >= self.deepest:
            return
        of, longer, after = self.guide.extended(words, states)
        at_once = max(1, AT_ONCE // self.chain.dimension)
        for at in range(0, len(of), at_once):
            part = slice(at, at + at_once)
            before = None if vectors is None else vectors[torch.from_numpy(of[part]).to(vectors.device)]
            symbols = torch.from_numpy(longer[part, -1:]).to(self.hunt.examinee.device)  # (n, 1)
            logits, moved = self.chain.read(symbols, before)
            self.look(longer[part], self.guide.right[after[part]], logits)
            self.children(longer[part], after[part], moved)

    def look(self, words: Words, right: Words, logits: Float[Tensor, "n n_outputs"]) -> None:
        """Replay what looks wrong; from a wrong word on longer ones need not be tried."""
        if words.shape[1] <= self.hunt.whole:
            return
        self.hunt.spend(KIND, int((right != UNDEFINED).sum()), len(words))
        doubtful = np.flatnonzero(self.hunt.examinee.doubtful(logits, right))
        while len(doubtful) and words.shape[1] <= self.deepest:
            first, doubtful = doubtful[:MOST_REPLAYED], doubtful[MOST_REPLAYED:]
            self.hunt.spend(KIND, 0)  # many may be so close that the evaluation decides: only the time is looked at
            if self.hunt.replay(words[first]).any():
                self.deepest = words.shape[1]
                return
