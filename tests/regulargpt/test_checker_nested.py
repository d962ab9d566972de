"""The checker's induction over trees that follow brackets, against all short words and plain recursion."""

import itertools
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from languages.convert.machines import to_json
from regulargpt.certificate.checker.equality import distinguishing_word
from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.induction import induction
from regulargpt.certificate.checker.pushdown import PushdownMachine
from regulargpt.certificate.search.nested_labels import Labels
from regulargpt.finite.nested_specification import NestedSpecification
from tests.languages.test_context_free import nested
from tests.regulargpt.nested_tables import prove_nested
from tests.regulargpt.nested_words import Right, Side, Stacked, TableNetwork, Window, Word, items_of, pending, stacked

SHAPES = st.sampled_from([(2, "right"), (3, "right"), (2, "left")])
MANY = 10_000  # prototypes, more than any of these networks has
LONGEST = {2: 8, 3: 6}  # words of so many symbols, by the size of the alphabet


def checker_of(machine: Stacked) -> PushdownMachine:
    return PushdownMachine(machine.record(), "it")


def callables(image: Callable[[Window], int], K: int, asked: set[Window], without: Window | None = None) -> Any:
    """The two parts of a table as the checker calls them; `asked` notes windows of rows, symbols behind prototypes."""

    def leaves(windows: np.ndarray) -> np.ndarray:
        return nodes(np.where(windows > 0, windows + K, 0))

    def nodes(windows: np.ndarray) -> np.ndarray:
        rows = [tuple(row) for row in windows.tolist()]
        asked.update(rows)
        return np.array([0 if row == without else image(row) for row in rows], dtype=np.int64)

    return leaves, nodes


def at_random(seed: int, K: int, outputs: int = 2) -> tuple[Callable[[Window], int], list[int]]:
    """A table and answers made up: any function of windows is one."""
    answers = [random.Random(seed).randrange(outputs) for _ in range(K)]
    return cache(lambda window: 1 + random.Random(str((seed, window))).randrange(K)), answers


def longest_of(machine: Stacked) -> int:
    return LONGEST[len(machine.direction)]


def brute(machine: Stacked, network: TableNetwork, answers: Any, longest: int) -> Word | None:
    """A shortest word that is answered wrongly; the network notes its nodes."""
    for word in machine.words(longest):
        if answers[network.root(items_of(word, machine.direction)) - 1] != machine.answer(word):
            return word
    return None


@settings(max_examples=40)
@given(stacked(), st.integers(0, 999), st.integers(1, 3), SHAPES)
def test_what_is_accepted_is_right_and_what_is_wrong_is_refused(
    machine: Stacked, seed: int, K: int, shape: tuple[int, Side]
):
    (C, aligned), (image, answers) = shape, at_random(seed, K)
    wrong = brute(machine, TableNetwork(image, K, C, aligned), answers, longest_of(machine))
    try:
        induction(checker_of(machine), C, *callables(image, K, set()), answers, aligned)
    except Rejected:
        return
    assert wrong is None


def function_of(word: Word, machine: Stacked) -> tuple[int, ...]:
    """What a word does at the top level: states with the sink, before and behind a pending call; dead."""
    n, (closes, opens) = len(machine.answers) + 1, pending(word, machine.direction)
    ends = [machine.run(word, q) for q in range(n - 1)]
    states = [n - 1 if end is None else end[0] for end in ends] + [n - 1]
    return (*(q + n * opens for q in states), *(2 * n if closes else q + n for q in states), 2 * n)


def machine_of(answers: tuple[int | None, ...], *moves: tuple[int, str, int | None, int, int]) -> Stacked:
    """Of ( ) x: from, symbol, top of a return, to, push."""
    tops = {None, *(push for _, symbol, _, _, push in moves if symbol == "(")}
    cases = {(q, "()x".index(a), g): (to, push) for q, a, top, to, push in moves for g in ({top} if a == ")" else tops)}
    return Stacked((1, -1, 0), cases, answers)


# An x two deep alone; pairs behind a pending call alone; words that are as deep as one likes, or wide inside a pair.
CALLS = (0, "(", None, 1, 0), (1, "(", None, 2, 1), (2, ")", 1, 1, 0)
TWO_DEEP = machine_of((1, None, None), *CALLS, (1, ")", 0, 0, 0), (2, "x", None, 2, 0))
ONE_BEHIND = machine_of((None, 1, None), *CALLS, (0, ")", 0, 0, 0))
ENDS = (1, ")", 0, 2, 0), (2, ")", 0, 2, 0)
AS_DEEP = machine_of((None, None, None, 1), (0, "(", None, 1, 1), (1, "(", None, 1, 0), *ENDS, (2, ")", 1, 3, 0))
AS_WIDE = machine_of((None, None, 1), (0, "(", None, 1, 0), (1, "x", None, 1, 0), (1, ")", 0, 2, 0))


@settings(max_examples=25)
@given(stacked(most=2), SHAPES)
@example(TWO_DEEP, (2, "right"))
@example(TWO_DEEP, (3, "right"))
@example(ONE_BEHIND, (2, "right"))
@example(ONE_BEHIND, (2, "left"))
def test_the_right_network_is_accepted_with_all_windows_and_kinds_of_all_words(
    machine: Stacked, shape: tuple[int, Side]
):
    """And each window of a word with an answer is needed; and with another answer at any root it is refused."""
    C, aligned = shape
    right, asked = Right(machine, MANY, C, aligned), set[Window]()
    checker = checker_of(machine)
    found = induction(checker, C, *callables(right.image, MANY, asked), right, aligned)  # type: ignore[arg-type]
    network = TableNetwork(right.image, MANY, C, aligned)
    assert brute(machine, network, right, longest_of(machine)) is None
    assert {window for window, *_ in network.nodes} <= asked
    for _, image, word, is_open in network.nodes:
        if not is_open:
            assert function_of(word, machine) in found.functions[image]
    assert all(len(functions) <= 2 for functions in found.functions.values())  # of a word, and of a call not closed yet
    answers = [right[k] for k in range(len(right.words))]
    for window in sorted({window for window, *_ in network.nodes})[:: 1 + len(network.nodes) // 4]:
        without = callables(right.image, MANY, set(), window)
        with pytest.raises(Rejected, match="is not in the table"):
            induction(checker, C, *without, right, aligned)  # type: ignore[arg-type]
    for word in list(machine.words(longest_of(machine)))[:: 1 + 3**4]:
        flipped = [*answers, *[None] * (MANY - len(answers))]
        flipped[network.root(items_of(word, machine.direction)) - 1] = 1 - machine.answer(word)  # type: ignore[operator]
        with pytest.raises(Rejected, match="is the root of words"):
            induction(checker, C, *callables(right.image, MANY, set()), flipped, aligned)


NAMED = [(name, C) for name in ("brackets-2", "formula", "json", "brackets-1:bound=2") for C in (2, 3)]
NAMED.remove(("json", 3))  # windows in hundreds, not in thousands


@pytest.mark.parametrize(("name", "C", "aligned"), [*((*of, "right") for of in NAMED), ("json", 2, "left")])
def test_the_checker_asks_for_exactly_the_windows_that_the_search_asks_for(name: str, C: int, aligned: Side):
    task, asked = nested(name), (set[Window](), set[Window]())
    specification = NestedSpecification.from_task(task)
    labels = Labels(specification, C, aligned)

    def noted(windows: np.ndarray) -> np.ndarray:
        asked[0].update(map(tuple, windows.tolist()))
        return labels.image(windows)

    proof = prove_nested(specification, C, labels.count, noted, labels.answers, aligned)
    assert proof.holds
    parts = callables(lambda window: int(labels.image(np.array([window]))[0]), labels.count, asked[1])
    answers = [None if answer < 0 else int(answer) for answer in labels.answers]
    induction(PushdownMachine(json.loads(to_json(task.machine)), name), C, *parts, answers, aligned)
    assert asked[0] == asked[1]


def lengths(machine: Stacked, longest: int) -> list[int]:
    """How long words with an answer are, up to a length: by tables of what well-matched words of each length do."""
    Q, direction = range(len(machine.answers)), machine.direction
    inner = [{(q, q) for q in Q}]
    items: list[set[tuple[int, int]]] = [set()]
    for length in range(1, longest + 1):
        one = {(q, to[0]) for (q, a, top), to in machine.moves.items() if direction[a] == 0 and top is None}
        pairs = {
            (q, machine.moves[p, b, push][0])
            for (q, a, top), (to, push) in machine.moves.items()
            if direction[a] == 1 and top is None and length >= 2
            for start, p in inner[length - 2]
            if start == to
            for b, kind in enumerate(direction)
            if kind == -1 and (p, b, push) in machine.moves
        }
        items.append(one if length == 1 else pairs)
        joined = (
            {(q, r) for q, p in inner[length - k] for start, r in items[k] if start == p} for k in range(1, length + 1)
        )
        inner.append(set().union(*joined))
    reached = [{(0, 0)}]  # states of the top level after so many symbols, and whether a call is pending
    for length in range(1, longest + 1):
        found = {(r, h) for k in range(1, length + 1) for q, h in reached[length - k] for p, r in items[k] if p == q}
        for (q, a, top), (to, _) in machine.moves.items():
            for h in (0, 1):
                if top is None and direction[a] and (q, h) in reached[-1] and (direction[a] == 1 or h == 0):
                    found.add((to, 1 if direction[a] == 1 else 0))
        reached.append(found)
    answered = [any(machine.answers[q] is not None for q, _ in states) for states in reached]
    return [length for length in range(1, longest + 1) if answered[length]]


@settings(max_examples=100)
@given(stacked(most=2))
@example(TWO_DEEP)
@example(ONE_BEHIND)
@example(AS_DEEP)
@example(AS_WIDE)
def test_whether_infinitely_many_words_have_an_answer(machine: Stacked):
    """Of two states such words, if finitely many, are short: neither rows nor depth come back to where they were."""
    found = lengths(machine, 36)
    assert found == [n for n in found if n > 5] or set(found) & set(range(6)) == {len(w) for w in machine.words(5)}
    assert checker_of(machine).answers_without_end == (max(found, default=0) > 18)


@settings(max_examples=100)
@given(stacked(((1, -1, 0),), most=2), stacked(((1, -1, 0),), most=2))
def test_two_machines_differ_on_a_shortest_word(mine: Stacked, other: Stacked):
    word = distinguishing_word(checker_of(mine), checker_of(other))
    every = itertools.chain(*(itertools.product(range(3), repeat=n) for n in range(1, LONGEST[3] + 1)))
    shortest = next((word for word in every if mine.answer(word) != other.answer(word)), None)
    if word is None:
        assert shortest is None
        return
    indices = tuple(mine.alphabet.index(symbol) for symbol in word)
    assert mine.answer(indices) != other.answer(indices)
    assert len(word) == len(shortest) if shortest else len(word) > LONGEST[3]
    assert distinguishing_word(checker_of(mine), checker_of(mine)) is None
