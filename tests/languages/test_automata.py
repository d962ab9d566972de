"""Machines as values: what is accepted, what is refused and in which words, text to indices and back."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.automata import Dfa, MooreMachine, Semiautomaton
from languages.errors import AutomatonError, UserError, WordError
from tests.languages.refusing import is_like, refusal

FLIP = ((0, 1), (1, 0))
EVEN = Dfa(("even", "odd"), ("0", "1"), FLIP, "even", {"even"})
PARITY = EVEN.as_moore(("odd", "even"))
ROWS = {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}}


def test_equality_and_hash_are_by_value() -> None:
    """However the transitions are given, and behind a copy."""
    machines = [Semiautomaton(("even", "odd"), "01", delta) for delta in (FLIP, np.array(FLIP), [[0, 1], [1, 0]], ROWS)]
    assert len(set(machines)) == 1
    assert machines[0].transitions == ROWS
    assert hash(Dfa(["even", "odd"], "01", ROWS, "even", ["even"])) == hash(EVEN)
    assert Dfa(("even", "odd"), "01", FLIP, "odd", {"even"}) != EVEN
    assert eval(repr(PARITY), {"MooreMachine": MooreMachine}) == PARITY
    EVEN.run("0110")
    assert copy.deepcopy(EVEN) == pickle.loads(pickle.dumps(EVEN)) == EVEN


def test_machines_are_immutable() -> None:
    with pytest.raises(AttributeError):
        EVEN.initial = "odd"  # type: ignore[misc]
    for array in (EVEN.table, EVEN.is_accepting, PARITY.output_table):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


MANY = tuple(f"s{i}" for i in range(15))
REFUSED = [
    (lambda: Semiautomaton((), "01", ()), "the states may not be empty; give at least one state"),
    (lambda: Semiautomaton(("q",), "", ((),)), "the alphabet may not be empty; give at least one symbol"),
    (lambda: Semiautomaton(("q", "q"), "0", ((0,), (0,))), "state 'q' is given 2 times; give each state once"),
    (lambda: Semiautomaton(("q",), "00", ((0, 0),)), "symbol '0' is given 2 times; give each symbol once"),
    (lambda: Semiautomaton(("",), "0", ((0,),)), "state '' is not a name; a state is a non-empty string"),
    (lambda: Semiautomaton((1,), "0", ((0,),)), "state 1 is not a name; a state is a non-empty string"),
    (lambda: Semiautomaton(("q",), ("a b",), ((0,),)), "symbol 'a b' contains a space; … the symbols of a text"),
    (lambda: Semiautomaton(("q0", "q1"), "ab", {"q0": {"a": "q0", "b": "q1"}, "q1": {"a": "q0"}}),
     "state 'q1' has no transition for 'b'; add one or complete the automaton with a sink (from_partial)"),
    (lambda: Semiautomaton(("q",), "a", {"q": {"a": "q", "b": "q"}}), "state 'q' has a transition … symbols are 'a'"),
    (lambda: Semiautomaton(("even",), "a", {"even": {"a": "evne"}}), "on 'a' state 'even' goes … you mean 'even'?"),
    (lambda: Semiautomaton(("p", "q"), "a", {"p": {"a": "p"}, "q": {"a": "q"}, "zz": {"a": "p"}}),
     "a transition starts in 'zz', which is not a state; the states are 'p', 'q'"),
    (lambda: Semiautomaton(("p", "q"), "ab", ((0, 1), (2, 0))), "state 'q' goes to state … 'a'; indices are 0..1"),
    (lambda: Semiautomaton(("p", "q"), "ab", ((0, 1),)), "a transition table is integers … is int64 of shape (1, 2)"),
    (lambda: Semiautomaton(("p", "q"), "ab", ((0, 1), (1,))), "a transition table is integers … is int64 of shape ()"),
    (lambda: Semiautomaton(("p",), "a", ((0.0,),)), "a transition table is integers of … is float64 of shape (1, 1)"),
    (lambda: Dfa(("even", "odd"), "01", FLIP, "evn", {"even"}), "the initial state is 'evn', … did you mean 'even'?"),
    (lambda: Dfa(MANY, "0", [[0]] * 15, "s0", {"zzz"}), "the accepting states include … 's10', 's11' and 3 more"),
    (lambda: Dfa(("even", "odd"), "01", FLIP, "even", "even"), "accepting states are a set of names; give {'even'}"),
    (lambda: MooreMachine(("even", "odd"), "01", FLIP, "even", (0,), ("no", "yes")), "1 outputs for 2 … one for each"),
    (lambda: MooreMachine(("even", "odd"), "01", FLIP, "even", (0, 2), ("no", "yes")), "state 'odd' has … no answer"),
    (lambda: MooreMachine(("even", "odd"), "01", FLIP, "even", (0, 1), ("no", "no")), "the output names … each once"),
    (lambda: MooreMachine.from_outputs(("p",), "a", ((0,),), "p", {}, ("no",)), "state 'p' has no … for no answer"),
    (lambda: MooreMachine.from_outputs(("p",), "a", ((0,),), "p", {"p": "yes"}, ("no",)), "state 'p' has … give 'no'"),
    (lambda: MooreMachine.from_outputs(("p",), "a", ((0,),), "p", {"p": "no", "q": "no"}, ("no",)),
     "outputs has a key 'q', which is not a state; the states are 'p'"),
    (lambda: Dfa.from_partial(("p", "sink"), "a", {"p": {"a": "p"}}, "p", set()), "the sink 'sink' is … another name"),
    (lambda: EVEN & Dfa(("q",), "ab", ((0, 0),), "q", set()), "the alphabets ['0', '1'] and … have the same symbols"),
    (lambda: EVEN.run("0121"), "symbol '2' at position 2 is not in the alphabet; the alphabet is '0', '1'"),
    (lambda: EVEN.run([[0, 1], [1, 7]]), "symbol index 7 at word 1, position 1 is … alphabet; its indices are 0..1"),
    (lambda: EVEN.run([0, -1]), "symbol index -1 at position 1 is outside the alphabet; its indices are 0..1"),
    (lambda: EVEN.run([[[0]]]), "words have shape (length,) or (batch, length); this array has shape (1, 1, 1)"),
    (lambda: EVEN.run([0.5]), "words are arrays of integers, the symbols' indices; this array holds float64"),
    (lambda: EVEN.run([[0], [1]], start=2), "a start is not a state; the machine's state indices are 0..1"),
    (lambda: EVEN.run([[0], [1]], start=-1), "a start is not a state; the machine's state indices are 0..1"),
    (lambda: EVEN.run([[0], [1]], start=np.array([0, 1, 0])), "start has shape (3,); give one … for each of 2 words"),
    (lambda: EVEN.element([[0]]), "element takes one word, an array (length,); this has shape (1, 1)"),
    (lambda: EVEN.decode([[0]]), "decode takes one word, an array (length,); this has shape (1, 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_refusals(make: Callable[[], object], message: str) -> None:
    assert is_like(refusal(make, error=(AutomatonError, WordError)), message)
    assert issubclass(AutomatonError, UserError)
    assert issubclass(WordError, UserError)


def test_the_largest_alphabet() -> None:
    symbols = tuple(f"a{i}" for i in range(2**16))
    machine = Semiautomaton(("p", "q"), symbols, np.stack([np.zeros(2**16, int), np.arange(2**16) % 2]))
    assert machine.run([[65535, 0]], start=1).tolist() == [0]
    with pytest.raises(AutomatonError, match="at most 65536 are supported"):
        Semiautomaton(("q",), (*symbols, "b"), np.zeros((1, 2**16 + 1), int))


def test_a_partial_machine_gets_a_sink_only_where_it_needs_one() -> None:
    partial = Dfa.from_partial(("p", "q"), "ab", {"p": {"a": "q"}}, "p", {"q"}, sink="dead")
    assert partial.states == ("p", "q", "dead")
    assert partial.transitions["q"] == {"a": "dead", "b": "dead"} == partial.transitions["dead"]
    assert Dfa.from_partial(("even", "odd"), "01", ROWS, "even", {"even"}) == EVEN
    moore = MooreMachine.from_partial(("p",), "ab", {"p": {"a": "p"}}, "p", (0, -1), ("yes",))
    assert moore.answers("aab", every=True).tolist() == [0, 0, -1]


@given(st.data())
def test_decode_undoes_encode(data: st.DataObject) -> None:
    symbol = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=data.draw(st.integers(1, 3)))
    alphabet = data.draw(st.lists(symbol, min_size=1, max_size=6, unique=True))
    machine = Semiautomaton(("q",), tuple(alphabet), [[0] * len(alphabet)])
    word = data.draw(st.lists(st.integers(0, len(alphabet) - 1)))
    assert machine.encode(machine.decode(word)).tolist() == word
    assert machine.encode([alphabet[i] for i in word]).tolist() == word


def test_texts_of_symbols_with_several_characters_are_split_at_spaces() -> None:
    machine = Semiautomaton(("q",), ("+1", "*2"), ((0, 0),))
    assert machine.encode(" *2  +1 ").tolist() == [1, 0]
    assert machine.decode([1, 0]) == "*2 +1"
    spaced = Semiautomaton(("q",), "a ", ((0, 0),))  # a space can be a symbol of one character
    assert spaced.decode(spaced.encode(" a ")) == " a "


def test_one_word_has_no_batch_axis() -> None:
    assert EVEN.accepts("").shape == ()
    assert EVEN.accepts("0111").item() is False
    assert EVEN.accepts("0111", every=True).tolist() == [True, False, True, False]
    assert EVEN.accepts([True, False]).item() is False
    assert PARITY.answers([[0, 1], [1, 1]]).tolist() == [0, 1]
    assert PARITY.answers([[0, 1]]).dtype == np.int64
    assert PARITY.named_outputs == {"even": "even", "odd": "odd"}
    assert ("11" in EVEN, "1" in EVEN) == (True, False)
