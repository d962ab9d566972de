"""Powers u v^n w of networks without a state: whole words are asked, as long as the budget and the memory allow."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
import numpy.typing as npt

from regulargpt.falsification.asked import Word, Words
from regulargpt.falsification.bases import MOST_W, cycles, endings, numbered, short, short_pairs
from regulargpt.falsification.family import WordFamily, persistent
from regulargpt.falsification.hunt import Hunt, Spent
from regulargpt.falsification.machine import Guide

KIND = "powers"
Triple = tuple[Word, Word, Word]

DENSE, IN_A_ROW = 16, 18
MOST_TRIPLES, MOST_LATER, FEWEST = 512, 48, 4
"""Families; those that are tried beyond the first n; and at any n."""


def whole_powers(hunt: Hunt) -> None:
    """All n up to some, then some in a row at each doubling, of fewer and fewer families."""
    # Known families come first, so that what was seen of long words is seen again.
    known = [(family.u, family.v, family.w) for family in hunt.families]
    tried: dict[Triple, dict[int, bool]] = {triple: {} for triple in [*known, *by_state(hunt, triples(hunt))]}
    left, total = list(tried), hunt.room
    try:
        ask(hunt, left, range(1, DENSE + 1), tried)
        n = DENSE
        while left:
            left, n = fewer(left, tried)[:MOST_LATER], 2 * n
            left = [triple for triple in left if length(triple, n + IN_A_ROW) <= hunt.examinee.longest]
            # No more than a third of what was given for one length: longer ones are worth more.
            while sum(cost(hunt, triple, n) for triple in left) > total // 3:
                left = left[: len(left) // 2]
            ask(hunt, left, range(n, n + IN_A_ROW), tried)
    except Spent:
        pass
    hunt.keep(families(tried))


def triples(hunt: Hunt) -> list[Triple]:
    """u, v and w: short ones, and at each state of the automaton a shortest word to it and its shortest cycles."""
    n, machine = hunt.examinee.symbols, hunt.examinee.machine
    all_triples = list(product(*short_pairs(n), short(n, 1, MOST_W)))
    if machine is not None:
        guide = Guide(machine)
        all_triples += [(u, v, w) for (u, v), w in product(cycles(guide), endings(guide))]
    return sorted(dict.fromkeys(all_triples), key=lambda triple: sum(map(len, triple)))[:MOST_TRIPLES]


def by_state(hunt: Hunt, all_triples: list[Triple]) -> list[Triple]:
    """First one of each v, w and state that v keeps the automaton in, then a second one, and so on."""
    machine = hunt.examinee.machine
    if machine is None:
        return all_triples
    kinds = [(v, w, int(machine.run(np.array([u + v * DENSE]))[0])) for u, v, w in all_triples]
    return [triple for _, triple in sorted(zip(numbered(kinds), all_triples, strict=True), key=lambda pair: pair[0])]


def length(triple: Triple, n: int) -> int:
    u, v, w = triple
    return len(u) + len(v) * n + len(w)


def cost(hunt: Hunt, triple: Triple, n: int) -> int:
    """What all words of a family in a row cost."""
    return IN_A_ROW * hunt.cost(length(triple, n), KIND)


def ask(hunt: Hunt, left: list[Triple], ns: range, tried: dict[Triple, dict[int, bool]]) -> None:
    """Ask about all of these words that the network can read, the shortest first: those of one length together."""
    by_length: dict[int, list[tuple[Triple, int]]] = defaultdict(list)
    for triple in left:
        for n in ns:
            if length(triple, n) <= hunt.examinee.longest:
                by_length[length(triple, n)].append((triple, n))
    for size in sorted(by_length):
        words = np.stack([word_of(hunt, triple, n) for triple, n in by_length[size]])
        questions = np.flatnonzero(hunt.examinee.questions(words))
        for at, flag in zip(questions.tolist(), hunt.try_all(KIND, words[questions]).tolist(), strict=True):
            triple, n = by_length[size][at]
            tried[triple][n] = flag


def fewer(left: list[Triple], tried: dict[Triple, dict[int, bool]]) -> list[Triple]:
    """Half of the families with a question: those that are wrong now first, then as they stand."""
    with_question = [triple for triple in left if tried[triple]]
    return sorted(with_question, key=lambda triple: not next(reversed(tried[triple].values())))[
        : max(FEWEST, len(with_question) // 2)
    ]


def word_of(hunt: Hunt, triple: Triple, n: int) -> Words:
    """u v^n w (length,), with the symbols that ask for its answers."""
    u, v, w = (np.array(part, dtype=np.int64) for part in triple)
    word = np.concatenate([u, np.tile(v, n), w])
    if hunt.examinee.symbols == hunt.examinee.data.task.n_symbols:
        return word
    return np.array(hunt.examinee.data.task.whole(tuple(word.tolist())), dtype=np.int64)


def families(tried: dict[Triple, dict[int, bool]]) -> list[WordFamily]:
    families = []
    for (u, v, w), flags in tried.items():
        ns = whole_rows(sorted(flags))
        if (of := persistent(ns, np.array([flags[n] for n in ns.tolist()], dtype=np.bool_))) is not None:
            families.append(WordFamily(u, v, w, of))
    return families


def whole_rows(ns: list[int]) -> npt.NDArray[np.int64]:
    """The n without those at the end that the budget has left over of a row.

    >>> whole_rows([1, 2, 3, 8, 9]).tolist(), whole_rows([1, 2]).tolist()
    ([1, 2, 3], [1, 2])
    """
    rows = np.split(np.array(ns, dtype=np.int64), np.flatnonzero(np.diff(ns) > max(np.diff(ns[:3]), default=1)) + 1)
    return np.concatenate(rows[:-1] if len(rows) > 1 and len(rows[-1]) < len(rows[-2]) else rows)
