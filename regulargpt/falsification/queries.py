"""Equivalence queries: words that tell the language's machine from all others of so many states, and random ones.

The words are those of `regulargpt.finite.conformance`. Random ones are of the same form: a shortest word to a state,
any symbols, and an ending that tells two states apart.
"""

from __future__ import annotations

from itertools import count

import numpy as np

from languages.automata import operations
from languages.randomness import rng
from languages.sampling.sampler import uniform_words
from regulargpt.falsification.asked import Words
from regulargpt.falsification.hunt import Hunt
from regulargpt.falsification.machine import Guide, Word
from regulargpt.finite.conformance import USUAL, distinguishing_words, suite
from regulargpt.finite.nonempty import with_fresh_start

KIND, RANDOM = "suite", "random"
LONGEST = 256
MOST_ENTRIES = 1 << 9
"""Of a machine's table: the words of larger ones are too many."""
LENGTHS, EACH = (8, 12, 16, 24, 32, 48, 64, 96, 128, 256), 32


def queries(hunt: Hunt) -> None:
    """The suite; what it rules out where no word is wrong."""
    machine = hunt.examinee.machine
    if machine is None or machine.table.size > MOST_ENTRIES:
        return
    guide = Guide(machine)
    tests = suite(machine, min(LONGEST, hunt.examinee.longest), min(USUAL, hunt.room // 2))
    for words in tests.words:
        hunt.try_all(KIND, words)
    # The theorem is about answers to all words: a network's to what is no question is not compared.
    if tests.words and guide.is_total:
        states = f"{tests.classes:,} state{'s' * (tests.classes != 1)}"
        hunt.ruled_out.append(f"if the network is a machine of at most {states}, it is the language's")


def random_queries(hunt: Hunt) -> None:
    """Random words of the same form, until the budget is spent."""
    machine = hunt.examinee.machine
    if machine is None or machine.table.size > MOST_ENTRIES:
        return
    starts, endings = Guide(machine).access, apart(hunt)
    lengths = [length for length in LENGTHS if length <= hunt.examinee.longest]
    for number in count() if lengths else ():
        random, length = rng(hunt.seed, "falsify: queries", number), lengths[number % len(lengths)]
        words = drawn(hunt, random, length)
        for row in words:
            start, ending = (some[int(random.integers(len(some)))] for some in (starts, endings))
            row[: len(start)] = start[:length]
            if 0 < len(ending) <= length:
                row[-len(ending) :] = ending
        hunt.try_all(RANDOM, words)


def drawn(hunt: Hunt, random: np.random.Generator, length: int) -> Words:
    """Words (n, length) as the task draws them where not every word is a question, else any."""
    task = hunt.examinee.data.task
    if task.domain is not None and task.has_length(length):
        return task.sample(random, length, EACH).astype(np.int64)
    return uniform_words(random, task.n_symbols, length, EACH).astype(np.int64)


def apart(hunt: Hunt) -> list[Word]:
    """Endings of which for any two states one leads to different answers."""
    machine = hunt.examinee.machine
    assert machine is not None, "there is one to compare with"
    table, colours = with_fresh_start(machine.table, machine.initial_index, machine.output_table)
    return distinguishing_words(table, colours, operations.search(table, 0).nodes[1:])
