"""All searches in their order, and what they came to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import Any

from regulargpt.data.given import GivenData
from regulargpt.falsification.asked import Examinee, Word
from regulargpt.falsification.clusters import clusters
from regulargpt.falsification.family import WordFamily
from regulargpt.falsification.given import given_words
from regulargpt.falsification.guided import guided
from regulargpt.falsification.hunt import MOST_KEPT, Hunt, Spent
from regulargpt.falsification.known import Known, replay
from regulargpt.falsification.machine import Guide
from regulargpt.falsification.queries import queries, random_queries
from regulargpt.falsification.short_words import short_words
from regulargpt.falsification.shrink import shrink
from regulargpt.falsification.state_powers import state_powers
from regulargpt.falsification.structured import structured
from regulargpt.falsification.whole_powers import whole_powers

Search = Callable[[Hunt], None]
Progress = Callable[[str, int, int], None]

MOST_SHORTENED = 3
MOST_WRITTEN = 10_000
"""Symbols of a word that is written out."""


def falsify(
    examinee: Examinee,
    words: int,
    seconds: float = inf,
    seed: int = 0,
    progress: Progress = lambda kind, done, count: None,
    known: Known | None = None,
    clock: Callable[[], float] = time.thread_time,
) -> dict[str, Any]:
    """Look for wrong words with this budget; the report, as falsified.json has it.

    What is `known` to be wrong, as from a test, is tried first, and whatever the budget. A longer word counts as one
    for each eight symbols. Equal budgets in words give equal reports, as long as the `seconds` last, by the `clock`.

    >>> from regulargpt import data, models, objectives
    >>> from regulargpt.config.schema import RunConfig
    >>> import torch
    >>> config = RunConfig().replaced({"model.name": "gru", "model.d_model": 4})
    >>> words = data.of_words(config.data)
    >>> model = models.build(config.model, 2, 2, torch.Generator().manual_seed(0))
    >>> goal = objectives.build(config.objective, words)
    >>> report = falsify(Examinee.from_model(model, words, goal, torch.device("cpu"), config.model), words=2000)
    >>> report["wrong"][0]
    {'word': '1', 'length': 1, 'expected': 'odd', 'answered': 'even'}
    """
    hunt = Hunt(examinee, words, seconds, seed, progress, clock)
    replay(hunt, known or Known())
    for search, share in searches(examinee) if asks_anything(examinee) else ():
        # A word that is the shortest for certain can only be followed by families of long ones.
        if hunt.shortest <= hunt.whole and search not in (state_powers, whole_powers):
            continue
        hunt.give(share)
        with suppress(Spent):
            search(hunt)
    hunt.give(1.0)
    with suppress(Spent):
        for word in hunt.sorted()[:MOST_SHORTENED]:
            if examinee.length(word) - 1 > hunt.whole:
                shrink(hunt, word)
    return report(hunt)


def asks_anything(examinee: Examinee) -> bool:
    """Whether any word is a question; languages without a finite machine all have some."""
    machine = examinee.machine
    return machine is None or bool(Guide(machine).alive[machine.table[machine.initial_index]].any())


def searches(examinee: Examinee) -> Sequence[tuple[Search, float]]:
    """The searches, each with its share of what is left."""
    if isinstance(examinee.data, GivenData):
        return ((given_words, 1.0),)
    if examinee.chain is not None and examinee.machine is not None:
        return (
            *((short_words, 0.45), (clusters, 0.15), (queries, 0.25), (state_powers, 0.5)),
            *((structured, 0.6), (random_queries, 0.5)),
        )
    return (short_words, 0.3), (queries, 0.2), (whole_powers, 0.4), (structured, 0.4), (guided, 0.8)


def report(hunt: Hunt) -> dict[str, Any]:
    """What the searches came to, as JSON."""
    free = min(hunt.whole, hunt.shortest - 1)
    of_file = "of the file " * isinstance(hunt.examinee.data, GivenData)
    first = [f"no word {of_file}of at most {free} symbol{'s' * (free != 1)} is wrong"] if free else []
    return {
        "wrong": [described(hunt.examinee, word) for word in hunt.sorted()[:MOST_KEPT]],
        "families": [of_family(hunt.examinee, family) for family in hunt.families],
        "tried": dict(hunt.tried),
        "all_up_to": hunt.whole,
        "ruled_out": [*first, *([] if hunt.wrong else hunt.ruled_out)],
        **({"no_longer_wrong": hunt.no_longer} if hunt.no_longer else {}),
        "budget": {
            "words": hunt.words,
            "seconds": None if hunt.seconds == inf else hunt.seconds,
            "seed": hunt.seed,
            "late": hunt.is_late,
        },
    }


def described(examinee: Examinee, word: Word) -> dict[str, Any]:
    """A wrong word, with the right answer and the network's."""
    right, given = examinee.said(word)
    length = examinee.length(word)
    written = examinee.written(word) if length <= MOST_WRITTEN else None
    return {"word": written, "length": length, "expected": right, "answered": given}


def of_family(examinee: Examinee, family: WordFamily) -> dict[str, Any]:
    """A family of wrong words."""
    of = family.of
    parts = {"u": family.u, "v": family.v, "w": family.w}
    return {
        **{name: examinee.decoded(part) for name, part in parts.items()},
        **{"from": of.start, "to": of.end, "period": of.period, "residues": list(of.residues)},
        "from_length": examinee.length(family.word(of.start)),
        "evidence": "observed",
    }
