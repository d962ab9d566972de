"""Green's relations against libsemigroups, against networkx, and by their definition."""

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from libsemigroups_pybind11 import Konieczny, ReportGuard, Transf

from languages.automata import Dfa, Semiautomaton
from languages.automata.green import DClass, GreenRelations, in_order, strong_components
from languages.automata.monoid import TransitionMonoid


def random_machine(seed: int, n_states: int, n_symbols: int) -> Semiautomaton:
    delta = np.random.default_rng(seed).integers(0, n_states, (n_states, n_symbols))
    return Semiautomaton(tuple(map(str, range(n_states))), tuple("abc"[:n_symbols]), delta)


MACHINES = st.builds(random_machine, st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 3))


@given(MACHINES)
def test_libsemigroups_draws_the_same_egg_boxes(machine: Semiautomaton) -> None:
    n = machine.n_states
    _silent = ReportGuard(False)
    theirs = Konieczny([Transf(column) for column in [list(range(n)), *machine.table.T.tolist()]])
    theirs.run()
    boxes = [
        (d.number_of_R_classes(), d.number_of_L_classes(), d.size_H_class(), d.number_of_idempotents())
        for d in theirs.D_classes()
    ]
    green = GreenRelations.of(TransitionMonoid.of(machine))
    ours = [(box.rows, box.columns, box.h_size, box.idempotents) for box in green.egg_boxes()]
    assert sorted(ours) == sorted(boxes)
    assert len(np.unique(green.H)) == theirs.number_of_H_classes()


@given(MACHINES)
def test_classes_are_those_of_the_definition(machine: Semiautomaton) -> None:
    """x R y iff xM = yM, x L y iff Mx = My, x J y iff MxM = MyM."""
    monoid = TransitionMonoid.of(machine)
    green, table = GreenRelations.of(monoid), monoid.table.astype(np.intp)
    right = [frozenset(row.tolist()) for row in table]
    left = [frozenset(column.tolist()) for column in table.T]
    both = [frozenset(table[list(ideal)].ravel().tolist()) for ideal in left]
    for labels, ideals in ((green.R, right), (green.L, left), (green.D, both)):
        number = {ideal: i for i, ideal in enumerate(dict.fromkeys(ideals))}
        assert labels.tolist() == [number[ideal] for ideal in ideals]
    pairs = {pair: i for i, pair in enumerate(dict.fromkeys(zip(right, left, strict=True)))}
    assert green.H.tolist() == [pairs[pair] for pair in zip(right, left, strict=True)]
    assert sum(box.size for box in green.egg_boxes()) == monoid.size


@given(MACHINES)
def test_the_depth_is_the_longest_chain_of_ideals(machine: Semiautomaton) -> None:
    """J(x) < J(y) iff MxM is a proper part of MyM; the chains are gone through one by one."""
    monoid = TransitionMonoid.of(machine)
    table = monoid.table.astype(np.intp)
    left = {frozenset(column.tolist()) for column in table.T}
    ideals = {frozenset(table[list(ideal)].ravel().tolist()) for ideal in left}
    longest: dict[frozenset[int], int] = {}
    for ideal in sorted(ideals, key=len):
        longest[ideal] = 1 + max((longest[other] for other in ideals if other < ideal), default=0)
    assert GreenRelations.of(monoid).depth == max(longest.values())


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 3))
def test_strong_components_agree_with_networkx(seed: int, n: int, degree: int) -> None:
    graph = np.random.default_rng(seed).integers(0, n, (n, degree))
    edges = [(v, int(w)) for v, row in enumerate(graph) for w in row]
    expected = np.empty(n, int)
    for i, component in enumerate(nx.strongly_connected_components(nx.DiGraph(edges))):
        expected[list(component)] = i
    assert np.array_equal(strong_components(graph), in_order(expected))


def test_a_long_chain_does_not_recurse() -> None:
    n = 20_000
    chain = np.minimum(np.arange(n) + 1, n - 1)[:, None]
    assert np.array_equal(strong_components(chain), np.arange(n))


def test_a_group_is_one_class() -> None:
    rotation = Semiautomaton(("0", "1", "2"), "a", ((1,), (2,), (0,)))
    green = GreenRelations.of(TransitionMonoid.of(rotation))
    assert green.egg_boxes() == (DClass(rows=1, columns=1, h_size=3, idempotents=1),)
    assert green.group_sizes == (3,)


def test_tomita_3_hides_a_group_of_two() -> None:
    """Not star-free: the parity of a run's length has to be kept."""
    odd = Dfa.from_regex("(()|(0|1)*0)1(11)*0(00)*(()|1(0|1)*)", "01")
    green = GreenRelations.of(TransitionMonoid.syntactic(odd))
    boxes = [(box.rows, box.columns, box.h_size, box.idempotents) for box in green.egg_boxes()]
    assert boxes == [(1, 1, 1, 1), (1, 1, 2, 1), (1, 1, 2, 1), (4, 4, 1, 8), (2, 2, 1, 0), (1, 1, 1, 1)]
    assert green.group_sizes == (1, 2, 2, 1, 1)
