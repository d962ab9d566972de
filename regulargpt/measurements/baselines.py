"""What the numbers of clusters come to without a match: of shuffled classes, and of the network before its training."""

from __future__ import annotations

from dataclasses import replace

from languages.errors import UserError
from languages.randomness import rng
from regulargpt.measurements.clusters import Labels, Scores, find_clusters, scores, thinned
from regulargpt.measurements.options import ClusterOptions
from regulargpt.measurements.sample import Sample
from regulargpt.measurements.sought_states import found_states
from regulargpt.measurements.states import NodeStates
from regulargpt.runs.load import load_drawn
from regulargpt.runs.opened import OpenedRun


def baselines(pool: NodeStates, clusters: Labels, before: NodeStates | None, seed: int) -> dict[str, Scores]:
    """The scores of the same clusters with the classes shuffled over the states, and those of the states `before`."""
    mixed = replace(pool, elements=rng(seed, "shuffled").permutation(pool.elements))
    rows = {"shuffled": scores(mixed, clusters, None, seed)}
    if before is None:
        return rows
    return rows | {"untrained": scores(before, *find_clusters(before.states), seed)}


def untrained(run: OpenedRun, sample: Sample, options: ClusterOptions) -> NodeStates | None:
    """The states before training, of the network of the run's seed; None where they are not finite.

    A network may part the classes before it has learned anything: in a wide layer that reads few symbols every sub-word
    has a state of its own.
    """
    try:
        _, drawn = found_states(run, load_drawn(run.folder, run.config.seed), sample, options)
    except UserError:
        return None
    return thinned(drawn, sample.seed)
