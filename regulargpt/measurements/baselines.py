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


def baselines(
    run: OpenedRun, sample: Sample, options: ClusterOptions, pool: NodeStates, clusters: Labels
) -> dict[str, Scores]:
    """The scores of the same clusters with the classes shuffled over the states, and those of the untrained network.

    A network may part the classes before it has learned anything: in a wide layer that reads few symbols every sub-word
    has a state of its own. The untrained network is that of the run's seed; it is left out where its states are not
    finite.
    """
    seed = sample.seed
    mixed = replace(pool, elements=rng(seed, "shuffled").permutation(pool.elements))
    found = {"shuffled": scores(mixed, clusters, None, seed)}
    try:
        _, drawn = found_states(run, load_drawn(run.folder, run.config.seed), sample, options)
    except UserError:
        return found
    drawn = thinned(drawn, seed)
    return found | {"untrained": scores(drawn, *find_clusters(drawn.states), seed)}
