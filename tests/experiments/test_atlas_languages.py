"""The languages of the atlas: all of two states, a sample that never changes, and their algebra."""

from hashlib import sha256
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import languages
from experiments.atlas.algebra import NUMBERS, algebra, answers_at, share_of_members
from experiments.atlas.drawn import LARGEST, different, drawn_dfa
from experiments.atlas.entries import Entry, entries, write_files
from experiments.atlas.two_states import two_state_dfas
from languages.automata import Dfa
from languages.automata.monoid import TransitionMonoid
from languages.convert.json_text import to_json


def automaton(table: list[list[int]], accepting: set[int]) -> Dfa:
    names = tuple(map(str, range(len(table))))
    return Dfa(names, tuple("abc"[: len(table[0])]), table, "0", {str(state) for state in accepting})


def words(length: int) -> np.ndarray:
    return np.array(list(product(range(2), repeat=length)), dtype=int).reshape(2**length, length)


def answers(dfa: Dfa) -> bytes:
    """To all words of up to three symbols, on which different automata of two states differ."""
    return b"".join(dfa.accepts(words(length)).tobytes() for length in range(4))


def test_the_automata_of_two_states_are_all_and_each_once() -> None:
    """Against brute force: every table, initial state and set of accepting states, told apart by their answers."""
    states, every = ("x", "y"), set()
    for table in product(product(range(2), repeat=2), repeat=2):
        for initial, accepting in product(states, ((), ("x",), ("y",), states)):
            dfa = Dfa(states, ("0", "1"), table, initial, set(accepting))
            # It is minimal if both states are reached and no automaton of one state, all or nothing, agrees with it.
            if len(set(answers(dfa))) == 2:
                every.add(answers(dfa))
    found = [answers(dfa) for dfa in two_state_dfas()]
    assert len(found) == len(set(found)) == 24
    assert set(found) == every


def test_the_sample_never_changes() -> None:
    every = "".join(f"{entry.name}\n{to_json(entry.dfa)}" for entry in entries())
    assert sha256(every.encode()).hexdigest()[:16] == "470ecef0988b9362"
    assert entries()[23].name == "two-states-23"
    assert entries()[24] == Entry("drawn-000", drawn_dfa(0))


def test_the_sample_is_of_different_minimal_automata_with_small_monoids() -> None:
    found = [entry.dfa for entry in entries()]
    assert len(found) == len(set(found)) == len({entry.name for entry in entries()}) == 324
    for number, dfa in islice(different(), 40):
        assert dfa.n_states == 3 + number % 4
        assert dfa.minimise() == dfa
        assert TransitionMonoid.from_machine(dfa).size <= LARGEST


def test_a_file_is_read_as_the_language(tmp_path) -> None:
    entry = Entry("some", drawn_dfa(3))
    write_files([entry], tmp_path)
    task = languages.get(f"dfa:{entry.path(tmp_path)}")
    assert task.sampling == "balanced"
    assert task.language.equivalent(entry.dfa)
    before = entry.path(tmp_path).stat().st_mtime_ns
    write_files([entry], tmp_path)
    assert entry.path(tmp_path).stat().st_mtime_ns == before


# kind, states, monoid, J-classes, depth, largest group, idempotents, whether the empty word is alone in its class
KNOWN = {
    "Z_2": (automaton([[0, 1], [1, 0]], {0}), ("group", 2, 2, 1, 1, 2, 1, 0)),
    # A transposition and a cycle of three points.
    "S_3": (automaton([[1, 1], [0, 2], [2, 0]], {0}), ("group", 3, 6, 1, 1, 6, 1, 0)),
    # The identity above two constants, which are one class.
    "flip-flop": (automaton([[0, 1], [0, 1]], {1}), ("aperiodic", 2, 3, 2, 2, 1, 3, 1)),
    # 1, then a, b, ab, ba, then 0.
    "(ab)*": (Dfa.from_regex("(ab)*"), ("aperiodic", 3, 6, 3, 3, 1, 4, 1)),
    "(aaa)*": (Dfa.from_regex("(aaa)*"), ("group", 3, 3, 1, 1, 3, 1, 0)),
    # Words of 1s alone: 1 acts as the empty word does, and 0 is a zero.
    "tomita-1": (languages.get("tomita-1").language.minimise(), ("aperiodic", 2, 2, 2, 2, 1, 2, 0)),
    # The parity of a run's length has to be kept: egg boxes as in `test_green.py`.
    "tomita-3": (languages.get("tomita-3").language.minimise(), ("mixed", 5, 26, 6, 5, 2, 12, 1)),
    # Even numbers of both symbols: Z_2 x Z_2.
    "tomita-5": (languages.get("tomita-5").language.minimise(), ("group", 4, 4, 1, 1, 4, 1, 0)),
}
SHOWN = ("kind", "states", "monoid", "j_classes", "j_depth", "largest_group", "idempotents", "empty_alone")


@pytest.mark.parametrize("name", KNOWN)
def test_the_algebra_of_known_languages(name: str) -> None:
    dfa, expected = KNOWN[name]
    found = algebra(dfa)
    assert tuple(found[column] for column in SHOWN) == expected
    assert found["is_group"] == (expected[0] == "group")
    assert found["is_aperiodic"] == (expected[0] == "aperiodic")
    assert set(NUMBERS) < set(found)


@settings(max_examples=20)
@given(st.integers(0, 200), st.integers(1, 9))
def test_shares_are_those_of_all_words(number: int, length: int) -> None:
    dfa = drawn_dfa(number)
    members = [dfa.accepts(words(T)) for T in range(1, length + 1)]
    assert share_of_members(dfa, length) == pytest.approx(members[-1].mean())
    both = [0 < flags.mean() < 1 for flags in members]
    assert answers_at(dfa, range(1, length + 1)).all(axis=1).tolist() == both


def test_a_language_of_lengths_is_not_constant_and_a_finite_one_is() -> None:
    even, finite = Dfa.from_regex("((a|b)(a|b))*"), Dfa.from_regex("ab|ba")
    found = [(algebra(dfa)["is_constant"], algebra(dfa)["both_answers"]) for dfa in (even, finite, ~finite)]
    assert found == [(0, 0.0), (1, 0.0), (1, 0.0)]
