"""The transition monoid: its laws, and libsemigroups as an oracle. Known sizes are in test_tasks.py."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsemigroups_pybind11 import FroidurePin, ReportGuard, Transf

from languages.automata import Dfa, Semiautomaton
from languages.automata import monoid as monoid_module
from languages.automata.green import GreenRelations
from languages.automata.monoid import TransitionMonoid
from languages.errors import AutomatonError
from languages.regular.dyck import dyck_dfa
from tests.languages.random_machines import MACHINES

WORDS = st.lists(st.integers(0, 100), max_size=12)


@given(MACHINES)
def test_libsemigroups_finds_the_same_monoid_aperiodic_exactly_if_all_groups_are_trivial(
    machine: Semiautomaton,
) -> None:
    n = machine.n_states
    generators = [Transf(column) for column in [list(range(n)), *machine.table.T.tolist()]]
    _silent = ReportGuard(False)
    theirs = FroidurePin(generators)
    ours = TransitionMonoid.from_machine(machine)
    assert (ours.size, len(ours.idempotents)) == (theirs.size(), theirs.number_of_idempotents())
    assert all(theirs.contains(Transf(function)) for function in ours.elements.tolist())
    monoid = TransitionMonoid.from_machine(machine)
    assert monoid.is_aperiodic == (set(GreenRelations.from_monoid(monoid).group_sizes) == {1})
    assert monoid.is_group == (len(monoid.idempotents) == 1)


@given(MACHINES)
def test_the_table_composes_functions(machine: Semiautomaton) -> None:
    """Associativity and identity follow from it; they are checked too where the table is small."""
    monoid = TransitionMonoid.from_machine(machine)
    table = monoid.table.astype(np.intp)
    pairs = np.random.default_rng(0).integers(0, monoid.size, (200, 2))
    for i, j in pairs:
        assert np.array_equal(monoid.elements[table[i, j]], monoid.elements[j][monoid.elements[i]])
    assert np.array_equal(table[0], np.arange(monoid.size))
    assert np.array_equal(table[:, 0], np.arange(monoid.size))
    i, j, k = np.random.default_rng(1).integers(0, monoid.size, (3, 500))
    assert np.array_equal(table[table[i, j], k], table[i, table[j, k]])
    assert np.array_equal(monoid.right, table[:, monoid.generators])
    assert np.array_equal(monoid.left, table[monoid.generators].T)
    assert np.array_equal(monoid.idempotents, np.flatnonzero(np.diag(table) == np.arange(monoid.size)))


@given(MACHINES, WORDS, WORDS)
def test_of_word_is_a_homomorphism(machine: Semiautomaton, u: list[int], v: list[int]) -> None:
    monoid = TransitionMonoid.from_machine(machine)
    first, second = np.array(u, int) % machine.n_symbols, np.array(v, int) % machine.n_symbols
    both = monoid.of_word(np.concatenate([first, second]))
    assert both == monoid.table[monoid.of_word(first), monoid.of_word(second)]
    assert np.array_equal(monoid.elements[int(both)], machine.element(np.concatenate([first, second])))


@given(MACHINES)
def test_words_are_the_least_of_their_elements(machine: Semiautomaton) -> None:
    monoid = TransitionMonoid.from_machine(machine)
    assert [int(monoid.of_word(word)) for word in monoid.words] == list(range(monoid.size))
    keys = [(len(word), word) for word in monoid.words]
    assert keys == sorted(keys)
    short = ["", *machine.alphabet, *(a + b for a in machine.alphabet for b in machine.alphabet)]
    assert all((len(w), w) >= keys[int(monoid.of_word(w))] for w in short)


@given(MACHINES, st.data())
def test_the_reversed_language_has_the_opposite_monoid(machine: Semiautomaton, data: st.DataObject) -> None:
    accepting = data.draw(st.sets(st.sampled_from(machine.states)))
    dfa = Dfa(machine.states, machine.alphabet, machine.delta, machine.states[0], accepting)
    forth, back = TransitionMonoid.syntactic(dfa), TransitionMonoid.syntactic(dfa.reverse())
    opposite = np.array([int(back.of_word(word[::-1])) for word in forth.words])
    assert sorted(opposite) == list(range(back.size))
    assert np.array_equal(opposite[forth.table], back.table[opposite[:, None], opposite[None]].T)


def test_of_word_takes_texts_batches_and_prefixes_and_the_identity_is_an_element() -> None:
    monoid = TransitionMonoid.from_machine(Semiautomaton(("even", "odd"), "01", ((0, 1), (1, 0))))
    assert monoid.of_word([[0, 1], [1, 1]]).tolist() == [1, 0]
    assert monoid.of_word("0111", every=True).tolist() == [0, 1, 0, 1]
    assert monoid.of_word("").item() == monoid.identity
    assert monoid.generators.tolist() == [0, 1]
    # The identity is one even if no other word induces it.
    reset = TransitionMonoid.from_machine(Semiautomaton(("p", "q"), "ab", ((0, 1), (0, 1))))
    assert reset.words == ("", "a", "b")
    assert not reset.is_group


def test_limits_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AutomatonError, match="more than 100 elements; minimise the machine, or raise max_size"):
        TransitionMonoid.syntactic(dyck_dfa(12), max_size=100)
    monkeypatch.setattr(monoid_module, "MAX_TABLE", 100)
    with pytest.raises(AutomatonError, match="multiplication table of 820 elements is too large; at most 100"):
        _ = TransitionMonoid.syntactic(dyck_dfa(12)).table
