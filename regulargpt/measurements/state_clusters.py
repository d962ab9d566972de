"""The clusters of a run's hidden states, one for each monoid element or not (section 6.6.3, Figure 6.3).

What is computed of the states of all depths, and of each, is in `clusters`; the formulas and their sources are there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from languages.automata.monoid import TransitionMonoid
from languages.context_free.nested import NestedTask
from languages.errors import UserError, shown
from regulargpt import plots
from regulargpt.certificate.search import nested_labels
from regulargpt.certificate.search.codebook import Target
from regulargpt.data.language import LanguageData
from regulargpt.findings import Axis, Data, Dots, Finding, Group, Picture
from regulargpt.finite.levels import TooManyWindows
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.measurements.clusters import (
    Labels,
    Scores,
    by_depth,
    find_clusters,
    merged,
    scores,
    thinned,
    too_close,
)
from regulargpt.measurements.nested_states import nested_node_states
from regulargpt.measurements.options import ClusterOptions
from regulargpt.measurements.plane import plane
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.sample import Sample, words_of
from regulargpt.measurements.stack_states import measure_stack
from regulargpt.measurements.states import NodeStates, node_states
from regulargpt.models.tree.base import Tree
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


@dataclass(frozen=True)
class Sought:
    """What nodes can stand for: the elements of a monoid or an algebra, by name, those that a node can have, and how
    they are called together."""

    kind: str
    size: int
    names: Sequence[str]
    possible: Sequence[int]
    noun: str


def measure(run: OpenedRun, options: ClusterOptions) -> Finding:
    """The clusters of the states of all nodes, and of those of each depth."""
    assert isinstance(run.data, LanguageData)
    if is_stack_machine(run):
        return measure_stack(run, options)
    refuse_stack(run)
    sample = words_of(run, options.length, options.words, options.seed)
    seed = sample.seed
    sought, states = found_states(run, run.data, sample)
    is_nested = run.config.model.follows_brackets
    nodes = states.where(states.depths > 0)
    pool = thinned(nodes, seed)
    clusters, gap = find_clusters(pool.states)
    overall = scores(pool, clusters, gap, seed)
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
        "never_occurred": [name[e] for e in sought.possible if e not in occurring],
        "merged": [[name[e] for e in group] for group in groups],
        "too_close": [[name[e] for e in pair] for pair in too_close(pool.states, pool.elements)],
    }
    rows = [{"depth": "all", **values["overall"]}, *values["depths"]]
    points, shares = plane(pool.states)
    title = f"{run.data.name}, {run.config.model.title}: states on {len(sample.words)} words of length {sample.length}"
    held = f"two principal components hold {100 * sum(overall.explained_variance):.1f} % of the variance"
    return Finding(
        name="clusters",
        title=title,
        facts=sample.facts,
        values=values,
        data=Data(COLUMNS, [[row[column] for column in COLUMNS] for row in rows]),
        more={"states-pca": by_state(pool, points, clusters, name)},
        picture=picture(
            pool, points, name, shares, f"{plots.title(run.config)}\nstates at T = {sample.length}", is_nested
        ),
        drawn="pca",
        tables=[Table([SHOWN.get(column, column) for column in COLUMNS], [*map(shown_row, rows)], notes=[held])],
        sentence=values["summary"],
    )


def is_stack_machine(run: OpenedRun) -> bool:
    """Whether its states are those of a machine with a stack, and can be held against the language's."""
    model, objective = run.config.model, run.config.objective
    return model.has_stacks and no_certificate(model, objective, run.data.name) is None


def refuse_stack(run: OpenedRun) -> None:
    """Raise UserError where states are of words that need a stack: along brackets alone there are finitely many."""
    assert isinstance(run.data, LanguageData)
    if isinstance(run.data.task, NestedTask) and not run.config.model.follows_brackets:
        raise UserError(
            f"{shown(run.path)} does not follow the brackets of {run.data.name}: there is no end to what its states "
            "should tell apart; choose a run with model.tree = 'nested'"
        )


def found_states(run: OpenedRun, data: LanguageData, sample: Sample) -> tuple[Sought, NodeStates]:
    """What is sought in the states, and the states."""
    if isinstance(data.task, NestedTask):
        assert isinstance(run.model, Tree), "`refuse_stack` refuses other models"
        labels = nested_labels.Labels(NestedSpecification.of(data.task), run.model.chunk_size, run.model.aligned)
        return of_labels(labels), nested_node_states(run.model, sample.words, labels, sample.seed)
    monoid = TransitionMonoid.of(data.finite.machine.minimise())
    all_positions = run.config.objective.answers_prefixes
    states = node_states(run.model, sample.words, monoid, sample.seed, all_positions=all_positions)
    return of_monoid(monoid), states


def of_monoid(monoid: TransitionMonoid) -> Sought:
    """The elements by their shortlex least words, the empty one as ε."""
    names = [word or "ε" for word in monoid.words]
    return Sought("monoid", monoid.size, names, range(monoid.size), "monoid elements")


def of_labels(labels: nested_labels.Labels) -> Sought:
    """The elements that a node of a question can have, and with C = 2 those of a call and what follows it."""
    try:
        possible = Target.of(labels.specification, labels.chunk_size, labels.aligned).elements.tolist()
    except TooManyWindows:
        possible = [label for label, name in enumerate(labels.names) if name]
    noun = "elements and open pairs" if labels.chunk_size == 2 else "algebra elements"
    return Sought("algebra", labels.specification.size, labels.names, possible, noun)


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
    nodes: NodeStates,
    points: np.ndarray,
    name: Sequence[str],
    shares: tuple[float, float],
    title: str,
    together: bool = False,
) -> Picture:
    """Figure 6.3: the states in their plane, a colour for each element, a marker for each depth, deeper ones darker."""
    depths = by_depth(nodes.depths, together)
    groups = [
        # A network without a tree has no depths.
        Group(points[here].tolist(), nodes.elements[here].tolist(), f"depth {depth}" * (len(depths) > 1))
        for depth, here in depths
    ]
    kinds = {int(element): name[int(element)] for element in np.unique(nodes.elements)}
    x, y = (f"PC {at} ({100 * share:.1f} %{' of the variance' * (at == 1)})" for at, share in enumerate(shares, 1))
    return Picture([Dots(groups, kinds, Axis(x), Axis(y))], title, size=(6.4, 4.8))


def sentence(overall: Scores, sought: Sought, occurring: set[int], groups: Sequence[Sequence[int]]) -> str:
    """What was found, in words.

    >>> import languages
    >>> two = of_monoid(TransitionMonoid.of(languages.get("parity").machine))
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
