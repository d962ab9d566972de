"""The transition monoid: sizes known from the literature, its laws, and libsemigroups as an oracle."""

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


def cycle(n: int) -> Semiautomaton:
    delta = [[i, (i + 1) % n, (i - 1) % n] for i in range(n)]
    return Semiautomaton(tuple(map(str, range(n))), "012", delta)


def dyck(depth: int) -> Dfa:
    """D_n = (0 D_{n-1} 1)*: brackets nested at most `depth` deep."""
    levels = [str(level) for level in range(depth + 1)]
    delta = {levels[i]: {"0": levels[i + 1]} for i in range(depth)} | {levels[depth]: {}}
    for i in range(1, depth + 1):
        delta[levels[i]]["1"] = levels[i - 1]
    return Dfa.from_partial(levels, "01", delta, "0", {"0"})


def remainders(weights: tuple[int, int], n: int) -> Dfa:
    """Words whose symbols' weights sum to 0 mod n."""
    delta = [[(i + w) % n for w in weights] for i in range(n)]
    return Dfa(tuple(map(str, range(n))), "01", delta, "0", {"0"})


def tomita3() -> Dfa:
    """No odd run of 1s directly followed by an odd run of 0s."""
    return ~(Dfa.from_regex("(()|(0|1)*0)1(11)*0(00)*(()|1(0|1)*)", "01"))


def modular_arithmetic(precedence: bool) -> Semiautomaton:
    """Letters (operator, digit) mod 5; with precedence the state is (sum so far, signed last product)."""
    letters = [(operator, digit) for operator in "+-*" for digit in range(5)]
    symbols = tuple(f"{operator}{digit}" for operator, digit in letters)
    operations = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
    if not precedence:
        delta = [[operations[o](q, d) % 5 for o, d in letters] for q in range(5)]
        return Semiautomaton(tuple(map(str, range(5))), symbols, delta)

    def step(total: int, last: int, operator: str, digit: int) -> int:
        if operator == "*":
            return total * 5 + last * digit % 5
        return (total + last) % 5 * 5 + (digit if operator == "+" else -digit) % 5

    delta = [[step(*divmod(q, 5), *letter) for letter in letters] for q in range(25)]
    return Semiautomaton(tuple(map(str, range(25))), symbols, delta)


EVEN_PAIRS = Dfa.from_regex("()|0|1|0(0|1)*0|1(0|1)*1")
PARITY = remainders((0, 1), 2)
TOMITA = {
    1: Dfa.from_regex("1*", "01"),
    2: Dfa.from_regex("(10)*", "01"),
    3: tomita3(),
    4: ~Dfa.from_regex(".*000.*", "01"),
    5: Dfa.from_regex("(00|11|(01|10)(00|11)*(01|10))*", "01"),
    6: remainders((1, 2), 3),
    7: Dfa.from_regex("0*1*0*1*", "01"),
}
KNOWN = [  # machine, minimal states, transitions, aperiodic
    ("parity", PARITY, 2, 2, False),
    ("even pairs", EVEN_PAIRS, 5, 5, True),
    ("even pairs of two symbols or more", EVEN_PAIRS & Dfa.from_regex("..+", "01"), 5, 7, True),
    ("tomita 1", TOMITA[1], 2, 2, True),
    ("tomita 2", TOMITA[2], 3, 6, True),
    ("tomita 3", TOMITA[3], 5, 26, False),
    ("tomita 4", TOMITA[4], 4, 12, True),
    ("tomita 5", TOMITA[5], 4, 4, False),
    ("tomita 6", TOMITA[6], 3, 3, False),
    ("tomita 7", TOMITA[7], 5, 9, True),
    ("D_1", dyck(1), 3, 6, True),
    ("D_2", dyck(2), 4, 15, True),
    ("D_3", dyck(3), 5, 31, True),
    ("D_4", dyck(4), 6, 56, True),
    ("D_12", dyck(12), 14, 820, True),
]


@pytest.mark.parametrize(("name", "dfa", "states", "size", "aperiodic"), KNOWN, ids=[row[0] for row in KNOWN])
def test_known_languages(name: str, dfa: Dfa, states: int, size: int, aperiodic: bool) -> None:
    monoid = TransitionMonoid.syntactic(dfa)
    assert (dfa.minimise().n_states, monoid.size, monoid.is_aperiodic) == (states, size, aperiodic)


def test_known_semiautomata() -> None:
    for machine, size in [(cycle(5), 5), (modular_arithmetic(False), 25), (modular_arithmetic(True), 129)]:
        monoid = TransitionMonoid.of(machine)
        assert (monoid.size, monoid.is_aperiodic) == (size, False)
    assert TransitionMonoid.of(cycle(5)).is_group


def random_machine(seed: int, n_states: int, n_symbols: int) -> Semiautomaton:
    delta = np.random.default_rng(seed).integers(0, n_states, (n_states, n_symbols))
    return Semiautomaton(tuple(map(str, range(n_states))), tuple("abc"[:n_symbols]), delta)


MACHINES = st.builds(random_machine, st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 3))
WORDS = st.lists(st.integers(0, 100), max_size=12)


@given(MACHINES)
def test_libsemigroups_finds_the_same_monoid(machine: Semiautomaton) -> None:
    n = machine.n_states
    generators = [Transf(column) for column in [list(range(n)), *machine.table.T.tolist()]]
    _silent = ReportGuard(False)
    theirs = FroidurePin(generators)
    ours = TransitionMonoid.of(machine)
    assert (ours.size, len(ours.idempotents)) == (theirs.size(), theirs.number_of_idempotents())
    assert all(theirs.contains(Transf(function)) for function in ours.elements.tolist())


@given(MACHINES)
def test_the_table_composes_functions(machine: Semiautomaton) -> None:
    """Associativity and identity follow from it; they are checked too where the table is small."""
    monoid = TransitionMonoid.of(machine)
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
    monoid = TransitionMonoid.of(machine)
    first, second = np.array(u, int) % machine.n_symbols, np.array(v, int) % machine.n_symbols
    both = monoid.of_word(np.concatenate([first, second]))
    assert both == monoid.table[monoid.of_word(first), monoid.of_word(second)]
    assert np.array_equal(monoid.elements[int(both)], machine.element(np.concatenate([first, second])))


@given(MACHINES)
def test_words_are_the_least_of_their_elements(machine: Semiautomaton) -> None:
    monoid = TransitionMonoid.of(machine)
    assert [int(monoid.of_word(word)) for word in monoid.words] == list(range(monoid.size))
    keys = [(len(word), word) for word in monoid.words]
    assert keys == sorted(keys)
    short = ["", *machine.alphabet, *(a + b for a in machine.alphabet for b in machine.alphabet)]
    assert all((len(w), w) >= keys[int(monoid.of_word(w))] for w in short)


@given(MACHINES)
def test_aperiodic_exactly_if_all_groups_are_trivial(machine: Semiautomaton) -> None:
    monoid = TransitionMonoid.of(machine)
    assert monoid.is_aperiodic == (set(GreenRelations.of(monoid).group_sizes) == {1})
    assert monoid.is_group == (len(monoid.idempotents) == 1)


@given(MACHINES, st.data())
def test_the_reversed_language_has_the_opposite_monoid(machine: Semiautomaton, data: st.DataObject) -> None:
    accepting = data.draw(st.sets(st.sampled_from(machine.states)))
    dfa = Dfa(machine.states, machine.alphabet, machine.delta, machine.states[0], accepting)
    forth, back = TransitionMonoid.syntactic(dfa), TransitionMonoid.syntactic(dfa.reverse())
    opposite = np.array([int(back.of_word(word[::-1])) for word in forth.words])
    assert sorted(opposite) == list(range(back.size))
    assert np.array_equal(opposite[forth.table], back.table[opposite[:, None], opposite[None]].T)


def test_of_word_takes_texts_batches_and_prefixes() -> None:
    monoid = TransitionMonoid.of(PARITY)
    assert monoid.of_word([[0, 1], [1, 1]]).tolist() == [1, 0]
    assert monoid.of_word("0111", every=True).tolist() == [0, 1, 0, 1]
    assert monoid.of_word("").item() == monoid.identity
    assert monoid.generators.tolist() == [0, 1]


def test_the_identity_is_an_element_even_if_no_other_word_induces_it() -> None:
    reset = TransitionMonoid.of(Semiautomaton(("p", "q"), "ab", ((0, 1), (0, 1))))
    assert reset.words == ("", "a", "b")
    assert not reset.is_group


def test_limits_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AutomatonError, match="more than 100 elements; minimise the machine, or raise max_size"):
        TransitionMonoid.syntactic(dyck(12), max_size=100)
    monkeypatch.setattr(monoid_module, "MAX_TABLE", 100)
    with pytest.raises(AutomatonError, match="multiplication table of 820 elements is too large; at most 100"):
        _ = TransitionMonoid.syntactic(dyck(12)).table
