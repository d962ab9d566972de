"""Minimal machines, products, counter-examples: against brute force, automata-lib and the laws."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.automata import Dfa, MooreMachine, operations
from languages.convert.automata_lib import to_automata_lib
from languages.errors import AutomatonError
from tests.languages.random_machines import dfas
from tests.languages.refusing import refusal

WORDS = ["".join(word) for length in range(5) for word in product("ab", repeat=length)]  # shortlex


@cache
def all_small_dfas() -> tuple[Dfa, ...]:
    """All 5898 automata with at most 3 states over 2 symbols and the first state initial."""
    found: list[Dfa] = []
    for n in (1, 2, 3):
        states = tuple(f"s{i}" for i in range(n))
        for targets in product(range(n), repeat=2 * n):
            for flags in product((False, True), repeat=n):
                accepting = {state for state, flag in zip(states, flags, strict=True) if flag}
                found.append(Dfa(states, ("a", "b"), np.reshape(targets, (n, 2)), "s0", accepting))
    return tuple(found)


def words_accepted(dfa: Dfa, start: int | None = None) -> tuple[bool, ...]:
    """Membership of all words of up to 4 symbols: it tells apart any two languages of 3-state automata."""
    state = {"": dfa.initial_index if start is None else start}
    for word in WORDS[1:]:
        state[word] = dfa.delta[state[word[:-1]]][dfa.alphabet.index(word[-1])]
    return tuple(bool(dfa.is_accepting[state[word]]) for word in WORDS)


def test_minimal_machines_of_all_small_automata() -> None:
    """Equal languages give equal minimal machines, different ones different, of Myhill-Nerode's size."""
    assert len(all_small_dfas()) == 2 + 2**4 * 2**2 + 3**6 * 2**3
    minimal: dict[tuple[bool, ...], Dfa] = {}
    for dfa in all_small_dfas():
        language, least = words_accepted(dfa), dfa.minimise()
        assert minimal.setdefault(language, least) == least
        accessible = {int(dfa.run(word)) for word in WORDS[:7]}
        assert least.n_states == len({words_accepted(dfa, q) for q in accessible})
    assert len(set(minimal.values())) == len(minimal)


def test_counter_examples_of_small_automata() -> None:
    rng = np.random.default_rng(0)
    dfas = all_small_dfas()
    for i, j in rng.integers(0, len(dfas), (1500, 2)):
        left, right = words_accepted(dfas[i]), words_accepted(dfas[j])
        differing = [word for word, p, q in zip(WORDS, left, right, strict=True) if p != q]
        assert dfas[i].counterexample(dfas[j]) == (differing[0] if differing else None)


@given(dfas(max_states=12))
def test_minimise_agrees_with_automata_lib(dfa: Dfa) -> None:
    theirs = to_automata_lib(dfa).minify()
    ours = dfa.minimise()
    assert ours.n_states == len(theirs.to_complete().states)
    assert to_automata_lib(ours) == theirs


@given(dfas(), dfas())
def test_operators_agree_with_automata_lib(left: Dfa, right: Dfa) -> None:
    x, y = to_automata_lib(left), to_automata_lib(right)
    pairs = [(left & right, x & y), (left | right, x | y), (left - right, x - y), (left ^ right, x ^ y), (~left, ~x)]
    for ours, theirs in pairs:
        assert to_automata_lib(ours) == theirs
    assert left.is_empty() == x.isempty()


@given(dfas())
def test_reverse_accepts_the_words_backwards(dfa: Dfa) -> None:
    backwards = dfa.reverse()
    assert all((word in backwards) == (word[::-1] in dfa) for word in WORDS)
    assert backwards.reverse().equivalent(dfa)
    # Reverse, determinise, twice: minimal without any refinement. Source: Brzozowski, 1962.
    assert backwards.reverse().n_states == dfa.minimise().n_states


@given(dfas(), dfas())
def test_laws(left: Dfa, right: Dfa) -> None:
    least = left.minimise()
    assert least.minimise() == least
    assert least.equivalent(left)
    assert ~~left == left
    assert (left ^ right).is_empty() == (left.counterexample(right) is None) == (least == right.minimise())


@given(st.lists(st.integers(-1, 2), min_size=2, max_size=8), st.integers(0, 2**32))
def test_moore_machines_agree_with_automata_for_each_output(outputs: list[int], seed: int) -> None:
    """A Moore machine is as many automata as it has outputs; its minimal states tell all of them apart."""
    rng = np.random.default_rng(seed)
    states = tuple(f"s{i}" for i in range(len(outputs)))
    delta = rng.integers(0, len(states), (len(states), 2))
    moore = MooreMachine(states, ("a", "b"), delta, "s0", tuple(outputs), ("x", "y", "z"))
    least = moore.minimise()
    assert moore.counterexample(least) is None
    assert least.minimise() == least
    words = [moore.encode(word) for word in WORDS]
    assert all(moore.answers(word) == least.answers(word) for word in words)
    residuals = np.array([[moore.output_table[moore.run(word, q)] for word in words] for q in range(len(states))])
    accessible = operations.search(moore.table, 0).nodes
    if len(states) <= 5:
        assert least.n_states == len(np.unique(residuals[accessible], axis=0))


def test_moore_difference_compares_outputs_by_name() -> None:
    one = MooreMachine(("p", "q"), "a", ((1,), (0,)), "p", (0, 1), ("no", "yes"))
    same = MooreMachine(("p", "q"), "a", ((1,), (0,)), "p", (1, 0), ("yes", "no"))
    other = MooreMachine(("p", "q"), "a", ((1,), (0,)), "p", (1, -1), ("yes", "no"))
    assert one.equivalent(same)
    assert one.counterexample(other) == "a"
    new_name = MooreMachine(("p", "q"), "a", ((1,), (0,)), "p", (0, 1), ("no", "maybe"))
    assert one.counterexample(new_name) == "a"


def test_the_order_of_the_alphabet_does_not_matter_to_the_language() -> None:
    left, right = Dfa.from_regex("ab*", "ab"), Dfa.from_regex("ab*", "ba")
    assert left.counterexample(right) is None
    assert right.counterexample(Dfa.from_regex("a*", "ab")) == ""
    # Counter-examples are first in the order of the left alphabet.
    nothing, anything = Dfa.from_regex("a&b", "ba"), Dfa.from_regex("a|b", "ab")
    assert (nothing.counterexample(anything), anything.counterexample(nothing)) == ("b", "a")


def test_products_name_their_states_by_pairs() -> None:
    even = Dfa(("even", "odd"), "01", ((0, 1), (1, 0)), "even", {"even"})
    assert (even & even).states == ("(even, even)", "(odd, odd)")
    awkward = Dfa(("a", "a, b", "b, c", "c"), "0", ((1,), (2,), (3,), (0,)), "a", {"a"})
    assert len((awkward & awkward).states) == 4


def test_limits_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "MAX_PAIRS", 3)
    monkeypatch.setattr(operations, "MAX_SUBSETS", 3)
    dfa = Dfa.from_regex("(a|b)*a(a|b)(a|b)", "ab")
    with pytest.raises(AutomatonError, match="the product of 8 and 8 states is too large; at most 3 pairs"):
        _ = dfa & dfa
    assert "the reversed automaton has more than 3 states" in refusal(dfa.reverse, error=AutomatonError)
