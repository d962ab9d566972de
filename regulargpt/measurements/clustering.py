"""The states of a run's network on sample words, and the clusters in them: what `verify` and the page of a run show."""

from __future__ import annotations

from dataclasses import dataclass

from regulargpt.measurements.clusters import Labels, find_clusters, thinned
from regulargpt.measurements.options import ClusterOptions
from regulargpt.measurements.sample import Sample, words_of
from regulargpt.measurements.sought_states import found_states, refuse_stack
from regulargpt.measurements.state_classes import Sought
from regulargpt.measurements.state_map import Match
from regulargpt.measurements.states import NodeStates
from regulargpt.runs.opened import OpenedRun


@dataclass(frozen=True)
class Clustering:
    """All states of the sample with their classes, and a `pool` of them, in which `clusters` (rows,) were found.

    The `gap` decided how many; `match` holds the clusters against the classes.
    """

    sample: Sample
    sought: Sought
    nodes: NodeStates
    pool: NodeStates
    clusters: Labels
    gap: float | None
    match: Match

    @classmethod
    def from_run(cls, run: OpenedRun, options: ClusterOptions) -> Clustering:
        """Of a network without a stack machine's states. UserError for what speaks against it."""
        refuse_stack(run)
        sample = words_of(run, options.length, options.words, options.seed)
        sought, nodes = found_states(run, run.model, sample, options)
        pool = thinned(nodes, sample.seed)
        clusters, gap = find_clusters(pool.states)
        return cls(sample, sought, nodes, pool, clusters, gap, Match.from_labels(pool.elements, clusters))
