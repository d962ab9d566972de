"""Green's relations against libsemigroups, and by their definition."""

import numpy as np
from hypothesis import given
from libsemigroups_pybind11 import Konieczny, ReportGuard, Transf

from languages import get
from languages.automata import Semiautomaton
from languages.automata.green import GreenRelations
from languages.automata.monoid import TransitionMonoid
from tests.languages.random_machines import MACHINES


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
    green = GreenRelations.from_monoid(TransitionMonoid.from_machine(machine))
    ours = [(box.rows, box.columns, box.h_size, box.idempotents) for box in green.egg_boxes()]
    assert sorted(ours) == sorted(boxes)
    assert len(np.unique(green.H)) == theirs.number_of_H_classes()


@given(MACHINES)
def test_classes_and_depth_are_those_of_the_definition(machine: Semiautomaton) -> None:
    """x R y iff xM = yM, x L y iff Mx = My, x J y iff MxM = MyM."""
    monoid = TransitionMonoid.from_machine(machine)
    green, table = GreenRelations.from_monoid(monoid), monoid.table.astype(np.intp)
    right = [frozenset(row.tolist()) for row in table]
    left = [frozenset(column.tolist()) for column in table.T]
    both = [frozenset(table[list(ideal)].ravel().tolist()) for ideal in left]
    for labels, ideals in ((green.R, right), (green.L, left), (green.D, both)):
        number = {ideal: i for i, ideal in enumerate(dict.fromkeys(ideals))}
        assert labels.tolist() == [number[ideal] for ideal in ideals]
    pairs = {pair: i for i, pair in enumerate(dict.fromkeys(zip(right, left, strict=True)))}
    assert green.H.tolist() == [pairs[pair] for pair in zip(right, left, strict=True)]
    assert sum(box.size for box in green.egg_boxes()) == monoid.size
    # Depth is the longest chain of ideals: J(x) < J(y) iff MxM is a proper part of MyM.
    monoid = TransitionMonoid.from_machine(machine)
    table = monoid.table.astype(np.intp)
    left = {frozenset(column.tolist()) for column in table.T}
    ideals = {frozenset(table[list(ideal)].ravel().tolist()) for ideal in left}
    longest: dict[frozenset[int], int] = {}
    for ideal in sorted(ideals, key=len):
        longest[ideal] = 1 + max((longest[other] for other in ideals if other < ideal), default=0)
    assert GreenRelations.from_monoid(monoid).depth == max(longest.values())


def test_tomita_3_hides_a_group_of_two() -> None:
    """Not star-free: the parity of a run's length has to be kept."""
    green = GreenRelations.from_monoid(TransitionMonoid.syntactic(get("tomita-3").language))
    boxes = [(box.rows, box.columns, box.h_size, box.idempotents) for box in green.egg_boxes()]
    assert boxes == [(1, 1, 1, 1), (1, 1, 2, 1), (1, 1, 2, 1), (4, 4, 1, 8), (2, 2, 1, 0), (1, 1, 1, 1)]
    assert green.group_sizes == (1, 2, 2, 1, 1)
