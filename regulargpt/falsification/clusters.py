"""Breadth-first over states of the network, close ones merged, beside the language's automaton.

A state within `spread` of another one that the same state of the automaton stands beside is taken for it: so the search
comes to long words quickly, and may be misled. What looks wrong there is a word, which the network itself is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from languages.automata.moore import UNDEFINED
from languages.randomness import rng
from languages.sampling.sampler import uniform_words
from regulargpt.falsification.asked import Word, Words
from regulargpt.falsification.hunt import Hunt
from regulargpt.falsification.machine import Guide
from regulargpt.finite.chain import Chain

KIND = "clusters"
SPREADS = (0.3, 0.1, 0.03, 0.01, 0.003)
"""As shares of the usual distance between two states."""
MOST_STATES, MOST_REPLAYED, MOST_ROWS = 2048, 64, 1024


def clusters(hunt: Hunt) -> None:
    """Walk through the states, merged coarsely at first, until a word is wrong."""
    examinee = hunt.examinee
    if examinee.chain is None or examinee.machine is None:
        return
    guide, usual = Guide(examinee.machine), distance(examinee.chain, hunt)
    for share in SPREADS:
        walk = StateWalk(hunt, guide, examinee.chain, share * usual)
        walk.go()
        if walk.is_wrong:
            return


def distance(chain: Chain, hunt: Hunt) -> float:
    """The usual distance between two states after random words."""
    words = uniform_words(rng(hunt.seed, "falsify: states"), chain.n_symbols, 24, 64).astype(np.int64)
    _, states = chain.read(torch.from_numpy(words).to(hunt.examinee.device))
    return float(torch.pdist(states).median())


@dataclass
class StateWalk:
    """States that were come to, each with the automaton's state beside it and the word that led there."""

    hunt: Hunt
    guide: Guide
    chain: Chain
    spread: float
    parents: list[int] = field(default_factory=list)
    symbols: list[int] = field(default_factory=list)
    replayed: int = 0
    is_wrong: bool = False

    def go(self) -> None:
        """Until nothing is new, a word is wrong, or there are too many states."""
        vectors, beside = self.first()
        new = np.arange(len(beside))
        while len(new) and len(beside) < MOST_STATES and self.replayed < MOST_REPLAYED and not self.is_wrong:
            at_once = max(1, MOST_ROWS // self.chain.n_symbols)
            part, new = new[:at_once], new[at_once:]
            of, _, after = self.guide.extended(np.zeros((len(part), 0), dtype=np.int64), beside[part])
            if not len(of):  # no question begins so and is longer
                continue
            of, symbols = part[of], self.symbols_of(beside[part])
            moved = self.step(of, symbols, after, vectors[torch.from_numpy(of).to(vectors.device)])
            kept = self.apart(vectors, beside, moved, after)
            self.note(of[kept], symbols[kept])
            vectors = torch.cat([vectors, moved[torch.from_numpy(kept).to(moved.device)]])
            new = np.concatenate([new, len(beside) + np.arange(len(kept))])
            beside = np.concatenate([beside, after[kept]])

    def first(self) -> tuple[Float[Tensor, "n D"], Words]:
        """The states after one symbol, which are not merged."""
        start = np.array([self.guide.machine.initial_index])
        _, words, after = self.guide.extended(np.zeros((1, 0), dtype=np.int64), start)
        self.note(np.full(len(words), -1), words[:, 0])
        return self.chain.read(torch.from_numpy(words).to(self.hunt.examinee.device))[1], after

    def symbols_of(self, beside: Words) -> Words:
        """The symbols that can go on to a question, of each of these states in turn."""
        return np.nonzero(self.guide.alive[self.guide.table[beside]])[1]

    def note(self, parents: Words, symbols: Words) -> None:
        """Remember how new states were come to."""
        self.parents += parents.tolist()
        self.symbols += symbols.tolist()

    def step(self, of: Words, symbols: Words, after: Words, vectors: Float[Tensor, "n D"]) -> Float[Tensor, "n D"]:
        """The states after these symbols; words that look wrong are replayed."""
        right = self.guide.right[after]
        self.hunt.spend(KIND, int((right != UNDEFINED).sum()), len(of))
        logits, moved = self.chain.read(torch.from_numpy(symbols[:, None]).to(vectors.device), vectors)
        for at in np.flatnonzero(self.hunt.examinee.doubtful(logits, right))[: MOST_REPLAYED - self.replayed]:
            self.replayed += 1
            word = (*self.word(int(of[at])), int(symbols[at]))
            self.hunt.spend(KIND, 0, self.hunt.cost(len(word)))
            self.is_wrong |= bool(self.hunt.replay(np.array([word]))[0])
        return moved

    def word(self, state: int) -> Word:
        """The word that led to a state."""
        symbols: list[int] = []
        while state >= 0:
            symbols.append(self.symbols[state])
            state = self.parents[state]
        return tuple(symbols[::-1])

    def apart(self, vectors: Float[Tensor, "k D"], beside: Words, moved: Float[Tensor, "n D"], after: Words) -> Words:
        """Which of the new states are farther than the spread from all others beside the same state."""
        other = torch.from_numpy(beside[:, None] != after).to(moved.device)  # (k, n)
        nearest = torch.cdist(vectors, moved).masked_fill(other, torch.inf).amin(0)
        left = np.flatnonzero((nearest > self.spread).cpu().numpy())
        kept: list[int] = []
        # Of those that are new together the first stands for the others near it.
        while len(left):
            kept.append(int(left[0]))
            far = torch.cdist(moved[left[:1]], moved[left])[0] > self.spread
            left = left[far.cpu().numpy() | (after[left] != after[left[0]])]
        return np.array(kept, dtype=np.intp)
