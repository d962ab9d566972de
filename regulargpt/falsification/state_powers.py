"""Powers u v^n w: from which n on is a family wrong?

A network with a state reads each v once, and all words u v^n w go on from there. Where its state, and the automaton's,
come back bit for bit, all further n are known. Where they do not, n grows by doubling, some n in a row each time, with
fewer families each time. Other networks are asked about whole words (`whole_powers`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from languages.automata.moore import UNDEFINED
from regulargpt.falsification.asked import Word, Words
from regulargpt.falsification.bases import endings, numbered, pairs
from regulargpt.falsification.family import MOST_FAMILIES, WordFamily, apart, persistent
from regulargpt.falsification.hunt import Hunt, Spent
from regulargpt.falsification.machine import Guide
from regulargpt.finite.chain import Chain

KIND = "powers"
ROWS = 256
"""Pairs (u, v) that are read side by side."""
EVERY, DENSE, IN_A_ROW = 64, 512, 24
"""All n below the first are tried of all families, below the second of fewer and fewer; then so many in a row."""
MOST_ROWS = 32
"""Families with larger n; and families that are read in about the time of one."""
PIECE = 1024
"""Symbols that are read at once."""


def state_powers(hunt: Hunt) -> None:
    """Families by the states of a network that has such, beside the language's machine."""
    examinee = hunt.examinee
    assert examinee.chain is not None, "the caller sees to it"
    assert examinee.machine is not None, "the caller sees to it"
    guide, families = Guide(examinee.machine), list[WordFamily]()
    # Known families come first, so that what was seen of long words is seen again.
    known = [(family.u, family.v) for family in hunt.families]
    groups = [*side_by_side(known), *side_by_side([pair for pair in pairs(guide) if pair not in known])]
    limit = hunt.limit
    for number, group in enumerate(groups):
        hunt.limit = hunt.spent + (limit - hunt.spent) // (len(groups) - number)
        families += Scan(hunt, guide, examinee.chain, group).families()
    hunt.limit = limit
    hunt.keep(families)


def side_by_side(pairs: Sequence[tuple[Word, Word]]) -> list[list[tuple[Word, Word]]]:
    """Different pairs (u, v) in groups with v of one length."""
    by_length: dict[int, list[tuple[Word, Word]]] = defaultdict(list)
    for u, v in dict.fromkeys(pairs):
        by_length[len(v)].append((u, v))
    return [of[at : at + ROWS] for of in by_length.values() for at in range(0, len(of), ROWS)]


@dataclass
class PowerRow:
    """u and v, and of each w which n were tried, and were wrong; `known` are the states that were there, by digests."""

    u: Word
    v: Word
    tried: list[list[int]]
    wrong: list[list[bool]]
    known: dict[bytes, int] = field(default_factory=dict)

    @classmethod
    def from_endings(cls, u: Word, v: Word, endings: int) -> PowerRow:
        """Nothing is tried yet."""
        return cls(u, v, [[] for _ in range(endings)], [[] for _ in range(endings)])

    def has_wrong(self) -> bool:
        """Whether the last n that was tried is wrong for some w."""
        return any(flags and flags[-1] for flags in self.wrong)

    def repeat(self, since: int, now: int, last: int) -> None:
        """From `since` on everything comes again after `now` - `since`: note some n in a row up to `last`."""
        period = now - since
        for tried, wrong in zip(self.tried, self.wrong, strict=True):
            of = {n: flag for n, flag in zip(tried, wrong, strict=True) if since <= n < now}
            for n in range(max(now, last - 4 * period - IN_A_ROW), last + 1):
                if (flag := of.get(since + (n - since) % period)) is not None:
                    tried.append(n)
                    wrong.append(flag)


class Scan:
    """Families with v of one length, side by side."""

    def __init__(self, hunt: Hunt, guide: Guide, chain: Chain, group: list[tuple[Word, Word]]):
        self.hunt, self.guide, self.chain = hunt, guide, chain
        self.endings = endings(guide)
        self.rows = [PowerRow.from_endings(u, v, len(self.endings)) for u, v in group]
        self.blocks = np.array([v for _, v in group], dtype=np.int64)  # (rows, |v|)
        self.last = hunt.examinee.longest // self.blocks.shape[1]

    def families(self) -> list[WordFamily]:
        """What is wrong from some n on; Spent is no end without a result."""
        with suppress(Spent):
            self.read()
        families = [
            WordFamily(row.u, row.v, w, of)
            for row in self.rows
            for w, tried, wrong in zip(self.endings, row.tried, row.wrong, strict=True)
            if (of := persistent(np.array(tried, dtype=np.int64), np.array(wrong, dtype=np.bool_))) is not None
        ]
        return apart(families, MOST_FAMILIES)

    def read(self) -> None:
        """All n up to some, of fewer and fewer families, then some in a row at each doubling."""
        now, n = self.in_a_row(Front(np.arange(len(self.rows)), *self.start()), 1, min(EVERY, self.last))
        while len(now.rows) and 2 * n + IN_A_ROW <= self.last:
            now, begin = self.fewer(now), n
            if n >= DENSE:
                now, begin = self.step(now, n), 2 * n
            now, n = self.in_a_row(now, begin, begin + IN_A_ROW if n >= DENSE else 2 * n)

    def in_a_row(self, now: Front, n: int, end: int) -> tuple[Front, int]:
        """Look at all n below `end`, and where that is."""
        while len(now.rows) and n < end:
            now, n = self.without_repeated(self.look(now, n), n), n + 1
            now = self.step(now, 1) if len(now.rows) else now
        return now, n

    def start(self) -> tuple[Words, Float[Tensor, "rows D"], Tensor]:
        """The automaton's states, the network's and its logits after u v."""
        begun = [np.array((*row.u, *row.v), dtype=np.int64) for row in self.rows]
        beside = np.array([self.guide.machine.run(word[None])[0] for word in begun], dtype=np.int64)
        vectors, logits = dict[int, Tensor](), dict[int, Tensor]()
        for length in {len(word) for word in begun}:
            at = [i for i, word in enumerate(begun) if len(word) == length]
            said, after = self.chain.read(self.tensor(np.stack([begun[i] for i in at])))
            for i, vector, other in zip(at, after, said, strict=True):
                vectors[i], logits[i] = vector, other
        order = range(len(begun))
        return beside, torch.stack([vectors[i] for i in order]), torch.stack([logits[i] for i in order])

    def tensor(self, words: Words) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(words)).to(self.hunt.examinee.device)

    def look(self, now: Front, n: int) -> Front:
        """Note which u v^n w are wrong."""
        right, said = [], []
        for w in self.endings:
            right.append(self.guide.right[self.run(now.beside, w)])
            ending = self.tensor(np.tile(np.array(w, dtype=np.int64), (len(now.rows), 1)))
            said.append(self.chain.read(ending, now.vectors)[0] if w else now.logits)
        questions = np.stack(right) != UNDEFINED  # (w, rows)
        self.hunt.spend(KIND, int(questions.sum()), sum(1 + len(w) for w in self.endings) * len(now.rows))
        wrong = ~(
            self.hunt.examinee.margin(torch.cat(said), np.concatenate(right)) >= 0
        )  # (w * rows,), also what is nan
        for i, (are, flags) in enumerate(zip(questions, wrong.reshape(questions.shape), strict=True)):  # (w, rows)
            for row, is_question, flag in zip(now.rows.tolist(), are.tolist(), flags.tolist(), strict=True):
                if is_question:
                    self.rows[row].tried[i].append(n)
                    self.rows[row].wrong[i].append(flag)
        return now

    def run(self, states: Words, word: Word) -> Words:
        for symbol in word:
            states = self.guide.table[states, symbol]
        return states

    def step(self, now: Front, times: int) -> Front:
        """Read v so many times more."""
        blocks, beside = self.blocks[now.rows], now.beside
        at_once = max(1, PIECE // blocks.shape[1])
        logits, vectors = now.logits, now.vectors
        for done in range(0, times, at_once):
            part = min(at_once, times - done)
            self.hunt.spend(KIND, 0, part * blocks.shape[1] * (1 + len(blocks) // MOST_ROWS))
            words = np.tile(blocks, (1, part))
            logits, vectors = self.chain.read(self.tensor(words), vectors)
            beside = self.guide.machine.run(words, beside).astype(np.int64)
        return Front(now.rows, beside, vectors, logits)

    def without_repeated(self, now: Front, n: int) -> Front:
        """Leave out families whose states were there before: all further n are known."""
        new = []
        states = now.vectors.cpu().numpy()
        for at, (row, beside) in enumerate(zip(now.rows.tolist(), now.beside.tolist(), strict=True)):
            key = blake2b(states[at].tobytes() + int(beside).to_bytes(4, "little"), digest_size=16).digest()
            since = self.rows[row].known.setdefault(key, n)
            if since == n:
                new.append(at)
            else:
                self.rows[row].repeat(since, n, self.last)
                self.rows[row].known.clear()
        return now.only(np.array(new, dtype=np.intp))

    def fewer(self, now: Front) -> Front:
        """Half of the families: those that are wrong now first, then one for each state of the automaton."""
        rows = [self.rows[row] for row in now.rows.tolist()]
        numbers = numbered([(row.v, beside) for row, beside in zip(rows, now.beside.tolist(), strict=True)])
        order = sorted(range(len(rows)), key=lambda i: (not rows[i].has_wrong(), numbers[i], len(rows[i].u), i))
        return now.only(np.array(sorted(order[: min(MOST_ROWS, -(-len(rows) // 2))]), dtype=np.intp))


@dataclass(frozen=True)
class Front:
    """Some rows after u v^n: the automaton's states beside them, the network's, and its logits."""

    rows: Words
    beside: Words
    vectors: Float[Tensor, "rows D"]
    logits: Float[Tensor, "rows n_outputs"]

    def only(self, at: npt.NDArray[np.intp]) -> Front:
        of = torch.from_numpy(at).to(self.vectors.device)
        return Front(self.rows[at], self.beside[at], self.vectors[of], self.logits[of])
