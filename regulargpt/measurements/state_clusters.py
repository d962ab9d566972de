"""The clusters of a run's hidden states, one for each monoid element or not (section 6.6.3, Figure 6.3).

What is computed of the states of all depths, and of each, is in `clusters`; the formulas and their sources are there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regulargpt import plots
from regulargpt.data.language import LanguageData
from regulargpt.findings import Axis, Curves, Data, Dots, Finding, Group, Picture
from regulargpt.measurements.baselines import baselines, untrained
from regulargpt.measurements.clustering import Clustering
from regulargpt.measurements.clusters import (
    Labels,
    Scores,
    by_depth,
    find_clusters,
    merged,
    purity,
    rand_index,
    scores,
    thinned,
    too_close,
)
from regulargpt.measurements.options import ClusterOptions
from regulargpt.measurements.plane import shares_of_variance
from regulargpt.measurements.planes import PLANES, Plane
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.sample import Sample
from regulargpt.measurements.stack_states import measure_stack
from regulargpt.measurements.state_classes import Sought
from regulargpt.measurements.state_map import Match, arrows, letters, outlines, percent, truncated
from regulargpt.measurements.states import NodeStates
from regulargpt.plots import Line
from regulargpt.runs.opened import OpenedRun
from regulargpt.tables import Table
from regulargpt.training.proof import no_certificate

COLUMNS = ("depth", *(field.name for field in dataclasses.fields(Scores) if field.name != "explained_variance"))
STATE_COLUMNS = ("depth", "word", "start", "end", "count", "element", "least_word", "cluster", "pc1", "pc2")
SHOWN = {"silhouette": "silh.", "ari": "ARI"}  # what columns are called for people
# Digits of the columns that are no counts.
DIGITS = {"gap": 2, "spread": 2, "distance": 2}
# The sentence names so many elements; the JSON has them all.
MAX_NAMED = 8
# Clusters whose adjusted Rand index is at least this match the elements but for stray states.
NEARLY = 0.95


def measure(run: OpenedRun, options: ClusterOptions) -> Finding:
    """The clusters of the states of all nodes, and of those of each depth."""
    assert isinstance(run.data, LanguageData)
    if is_stack_machine(run):
        return measure_stack(run, options)
    clustering = Clustering.from_run(run, options)
    sample, sought, nodes, pool, clusters = (
        clustering.sample,
        clustering.sought,
        clustering.nodes,
        clustering.pool,
        clustering.clusters,
    )
    seed, is_nested = sample.seed, run.config.model.follows_brackets
    overall = scores(pool, clusters, clustering.gap, seed)
    before = untrained(run, sample, options)
    by_chance = baselines(pool, clusters, before, seed)
    depths = [
        (depth, scores(rows, *find_clusters(rows.states), seed))
        for depth, here in by_depth(nodes.depths, is_nested)
        for rows in [thinned(nodes.where(here), seed)]
    ]
    occurring, groups, name = set(nodes.elements.tolist()), merged(pool.elements, clusters), sought.names
    values = {
        sought.kind: sought.size,
        "summary": sentence(overall, sought, occurring, groups),
        "overall": rounded(dataclasses.asdict(overall)),
        "depths": [{"depth": depth, **rounded(dataclasses.asdict(row))} for depth, row in depths],
        "baselines": {name: rounded(dataclasses.asdict(row)) for name, row in by_chance.items()},
        "variances": rounded(shares_of_variance(pool.states)),
        "never_occurred": [name[e] for e in sought.possible if e not in occurring],
        "merged": [[name[e] for e in group] for group in groups],
        "too_close": [[name[e] for e in pair] for pair in too_close(pool.states, pool.elements)],
    }
    rows = [{"depth": "all", **values["overall"]}, *values["depths"]]
    rows += [{"depth": name, **of} for name, of in values["baselines"].items()]
    plane = PLANES[options.method](pool)
    at = f" at {options.at}" if options.at else ""
    title = (
        f"{run.data.name}, {run.config.model.title}: states{at} on {len(sample.words)} words of length {sample.length}"
    )
    return Finding(
        name="clusters",
        title=title,
        facts=sample.facts,
        values=values,
        data=Data(COLUMNS, [[row[column] for column in COLUMNS] for row in rows]),
        more={f"states-{options.method}": by_state(pool, plane.points, clusters, name)},
        picture=titled(run, options, clustering, plane, before),
        drawn=options.method,
        pictures={"scree": scree(values["variances"], heading(run, options, sample))},
        tables=[Table([SHOWN.get(column, column) for column in COLUMNS], [*map(shown_row, rows)], notes=[plane.note])],
        sentence=values["summary"],
    )


def map_of(run: OpenedRun, options: ClusterOptions) -> Picture:
    """The picture alone, as a proven run ends with it: soon drawn, for it takes no numbers of scikit-learn."""
    assert isinstance(run.data, LanguageData)
    if is_stack_machine(run):
        return measure_stack(run, options).picture
    clustering = Clustering.from_run(run, options)
    return titled(
        run, options, clustering, PLANES[options.method](clustering.pool), untrained(run, clustering.sample, options)
    )


def titled(
    run: OpenedRun, options: ClusterOptions, clustering: Clustering, plane: Plane, before: NodeStates | None
) -> Picture:
    """The picture, with a title that has the match of the clusters, and that of the states `before` training."""
    y, clusters = clustering.pool.elements, clustering.clusters
    matched = clustering.match.sentence(y, clustering.sought.names, purity(y, clusters), rand_index(y, clusters))
    title = f"{heading(run, options, clustering.sample)}: {matched}{before_training(before)}"
    return picture(clustering.pool, clusters, plane, clustering.sought, title, run.config.model.follows_brackets)


def heading(run: OpenedRun, options: ClusterOptions, sample: Sample) -> str:
    """What stands above a picture of states: the run, and below it where they were taken."""
    at = f" at {options.at}" if options.at else ""
    return f"{plots.title(run.config)}\nstates{at}, T = {sample.length}"


def before_training(before: NodeStates | None) -> str:
    """What the title says of the untrained network, which may part the classes, too."""
    if before is None:
        return ""
    y, clusters = before.elements, find_clusters(before.states)[0]
    match = f"purity {percent(purity(y, clusters))} %, adjusted Rand {truncated(rand_index(y, clusters))}"
    return f"\nbefore training: {match}"


def is_stack_machine(run: OpenedRun) -> bool:
    """Whether its states are those of a machine with a stack, and can be held against the language's."""
    model, objective = run.config.model, run.config.objective
    return model.has_stacks and no_certificate(model, objective, run.data.name) is None


def shown_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """A row for people: counts as they are, other numbers with two or three digits, a dash where there is none."""
    return tuple(
        str(value) if isinstance(value, int | str) else "-" if value is None else f"{value:.{DIGITS.get(column, 3)}f}"
        for column, value in ((column, row[column]) for column in COLUMNS)
    )


def by_state(pool: NodeStates, points: np.ndarray, clusters: Labels, name: Sequence[str]) -> Data:
    """A row for each state in the picture."""
    least = np.array(name, dtype=object)[pool.elements]
    columns = (pool.depths, pool.words, pool.starts, pool.ends, pool.counts, pool.elements, least, clusters)
    # Six digits: below that the machine shows, not the network.
    states = zip(*(column.tolist() for column in columns), *points.astype(float).round(6).T.tolist(), strict=True)
    return Data(STATE_COLUMNS, list(states))


def picture(
    nodes: NodeStates, clusters: Labels, plane: Plane, sought: Sought, title: str, together: bool = False
) -> Picture:
    """Figure 6.3: the states in their plane, a colour for each element, a marker for each depth, deeper ones darker.

    On it lie the clusters that were found without labels, and what each symbol does to them.
    """
    # Of the rows that are drawn, by new numbers: clusters without such a row are not on the map.
    shown, points = nodes.where(plane.drawn), plane.points[plane.drawn]
    match = Match.from_labels(shown.elements, np.unique(clusters[plane.drawn], return_inverse=True)[1])
    name, moves = sought.names, sought.moves
    depths = by_depth(shown.depths, together)
    groups = [
        # A network without a tree has no depths.
        Group(points[here].tolist(), shown.elements[here].tolist(), f"depth {depth}" * (len(depths) > 1))
        for depth, here in depths
    ]
    kinds = {int(element): name[int(element)] for element in np.unique(shown.elements)}
    dots = Dots(
        groups,
        kinds,
        Axis(plane.axes[0]),
        Axis(plane.axes[1]),
        outlines(points, match, letters(match, name, moves)),
        [] if moves is None else arrows(points, match, moves),
        points[match.wrong].tolist(),
    )
    return Picture([dots], title, size=(6.4, 4.8))


def scree(variances: Sequence[float], title: str) -> Picture:
    """The share of the variance along each principal component."""
    numbers = range(1, len(variances) + 1)
    line = Line("", numbers, [100 * share for share in variances])
    y = Axis("share of the variance, %", low=0, high=100)
    return Picture([Curves([line], Axis("principal component", is_log=False), y)], title, size=(6.4, 3.2))


def sentence(overall: Scores, sought: Sought, occurring: set[int], groups: Sequence[Sequence[int]]) -> str:
    """What was found, in words.

    >>> import languages
    >>> from regulargpt.measurements.state_classes import of_monoid
    >>> from languages.automata.monoid import TransitionMonoid
    >>> two = of_monoid(TransitionMonoid.from_machine(languages.get("parity").machine))
    >>> scored = Scores(9, 2, 2, 3.0, 1.0, 1.0, 0.9, 1.0, 0.5, 1.0, 9.0, (0.9, 0.1))
    >>> sentence(scored, two, {0, 1}, [])
    '2 clusters found for 2 of 2 monoid elements, one for each'
    >>> sentence(dataclasses.replace(scored, clusters=1, ari=0.0, purity=0.5), two, {0, 1}, [[0, 1]]).split("; ")[::2]
    ['1 cluster found for 2 of 2 monoid elements: they do not match', 'in one cluster: ε with 1']
    """
    name = sought.names
    text = f"{overall.clusters} cluster{'s' * (overall.clusters != 1)} found for {overall.elements} of "
    text += f"{len(sought.possible)} {sought.noun}"
    if overall.ari == 1.0:
        parts = [f"{text}, one for each"]
    else:
        match = "they match nearly" if overall.ari >= NEARLY else "they do not match"
        measured = f"purity {overall.purity:.4f}, adjusted Rand index {overall.ari:.4f} (1 for a match, 0 by chance)"
        parts = [f"{text}: {match}", measured]
    if never := [name[e] for e in sought.possible if e not in occurring]:
        parts.append("never occurred in a node: " + some(never))
    if overall.elements < len(occurring):
        rare = len(occurring) - overall.elements
        parts.append(f"{rare} more occurred in so few nodes that none of them was drawn")
    if groups:
        parts.append("in one cluster: " + some([" with ".join(some_of(group, name)) for group in groups]))
    return "; ".join(parts)


def some_of(group: Sequence[int], name: Sequence[str]) -> list[str]:
    """The names of a group, not more than `MAX_NAMED`."""
    shown = [name[e] for e in group[:MAX_NAMED]]
    return shown if len(group) <= MAX_NAMED else [*shown, f"{len(group) - MAX_NAMED} more"]


def some(texts: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    rest = len(texts) - MAX_NAMED
    return ", ".join(texts[:MAX_NAMED]) + (f" and {rest} more" if rest > 0 else "")
