"""A page's run with all states that `verify` clusters on its map."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from languages.automata import operations
from languages.automata.monoid import TransitionMonoid
from languages.automata.pushdown import PushdownTransducer
from languages.errors import UserError
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.live.crowd import MOST_OUTLINES, STEPS, Crowd, folded, said, steps
from regulargpt.classroom.live.state_map import StateMap
from regulargpt.classroom.nested import Elements, Machine
from regulargpt.data.language import LanguageData
from regulargpt.runs.opened import OpenedRun, open_run
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from regulargpt.measurements.state_classes import Sought

SHOWN = {"automaton": "prefixes", "monoid": "nodes", "algebra": "nodes"}  # classes, and the points they are of


def crowded(run: PageRun) -> PageRun:
    """The run with a crowd on its map; as it is where it has no map, or `verify` has no such states of it."""
    if run.live.map is None or run.machine is None:
        return run
    try:
        crowded_map = with_crowd(run.live.map, open_run(RunFolder.open(run.path), reads=False), run.machine)
    except UserError:  # `verify` refuses it and says why; here there is nothing to show
        return run
    return run if crowded_map is None else replace(run, live=replace(run.live, map=crowded_map))


def with_crowd(known: StateMap, run: OpenedRun, machine: Machine) -> StateMap | None:
    """The map in the plane of the states that `verify` clusters, with these; None where they are of another kind."""
    from regulargpt.measurements.clustering import Clustering
    from regulargpt.measurements.clusters import purity, rand_index
    from regulargpt.measurements.options import ClusterOptions
    from regulargpt.measurements.state_clusters import is_stack_machine
    from regulargpt.measurements.state_map import letters, middles, outlines, ways

    if is_stack_machine(run):
        return None
    assert isinstance(run.data, LanguageData)
    clustering = Clustering.from_run(run, ClusterOptions())
    sample, sought, nodes, pool, match = (
        clustering.sample,
        clustering.sought,
        clustering.nodes,
        clustering.pool,
        clustering.match,
    )
    if SHOWN[sought.kind] != known.kind:
        return None
    start = run.data.finite.machine.minimise().initial_index if sought.kind == "automaton" else 0
    scored = purity(pool.elements, clustering.clusters), rand_index(pool.elements, clustering.clusters)
    drawn = known.from_states(known.kind, pool.states, known.anchors, known.numbers)
    points, seen = drawn.seen(pool.states), drawn.seen(nodes.states)
    drawn = replace(drawn, low=np.minimum(drawn.low, seen.min(0)), high=np.maximum(drawn.high, seen.max(0)))
    step = float((drawn.high - drawn.low).max() / STEPS) or 1.0
    dots, places = folded(steps(seen, drawn.low, step), nodes.elements, sample.seed)
    # Symbols by number: the page writes them as it writes the typed word's.
    moves = sought.moves and replace(sought.moves, alphabet=[*map(str, range(len(sought.moves.alphabet)))])
    is_many = len(match.classes) > MOST_OUTLINES
    crowd = Crowd(
        dots,
        drawn.low,
        step,
        match.sentence(pool.elements, sought.names, *scored),
        said(len(nodes), len(pool), places, len(sample.words), sample.length) + " Outlines are too many." * is_many,
        [] if is_many else outlines(points, match, letters(match, sought.names, sought.moves)),
        {ends: [*map(int, symbols)] for ends, symbols in ways(match, moves).items()} if moves else {},
        {e: [*map(int, moves.from_class(e).get(e, []))] for e in match.classes[match.whole].tolist()} if moves else {},
        middles(points, match),
        pairs_of(machine, sought, start),
        sought.moves and (start, sought.moves.table.tolist()),
    )
    return replace(drawn, crowd=crowd)


def pairs_of(machine: Machine, sought: Sought, start: int) -> list[tuple[int, int]]:
    """The page's numbers, of elements or states, each with the class that a word of it has.

    The page's machine answers only within a task's domain: one number may go with several classes, and the reverse.
    `start` is the class of the empty word.

    >>> import languages
    >>> from regulargpt.measurements.state_classes import of_states
    >>> machine = languages.get("parity").machine
    >>> pairs_of(machine, of_states(machine), 0)
    [(0, 0), (1, 1)]
    """
    if isinstance(machine, PushdownTransducer):
        elements, number = Elements.from_machine(machine), {name: e for e, name in enumerate(sought.names)}
        if elements is None:
            return []
        names = [(word or "ε") + "…" * (k >= elements.size) for k, word in enumerate(elements.words)]
        return [(k, number[name]) for k, name in enumerate(names) if name in number]
    assert sought.moves is not None, "along brackets alone there are none"
    table, first = machine.table, machine.initial_index
    if sought.kind == "monoid":
        monoid = TransitionMonoid.from_machine(machine)
        table, first = monoid.right, monoid.identity
    product = operations.search_product(table, first, sought.moves.table, start)
    ours, theirs = operations.pairs(product, len(sought.moves.table))
    return sorted(zip(ours.tolist(), theirs.tolist(), strict=True))
