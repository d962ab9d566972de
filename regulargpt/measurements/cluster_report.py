"""The clusters of a run's hidden states, one for each monoid element or not: numbers, tables, a picture, a sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from languages.automata.monoid import TransitionMonoid
from regulargpt import tables
from regulargpt.measurements import pictures
from regulargpt.measurements.clusters import (
    Labels,
    Scores,
    States,
    by_depth,
    find_clusters,
    merged,
    scores,
    thinned,
    too_close,
)
from regulargpt.measurements.plane import plane
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.states import NodeStates, node_states
from regulargpt.measurements.subject import subject
from regulargpt.plots import title
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

FOLDER = "verify"
COLUMNS = ("depth", *(field.name for field in dataclasses.fields(Scores) if field.name != "explained_variance"))
STATE_COLUMNS = ("depth", "word", "start", "end", "count", "element", "least_word", "cluster", "pc1", "pc2")
# The sentence names so many elements; the JSON has them all.
MAX_NAMED = 8
# Clusters whose adjusted Rand index is at least this match the elements but for stray states.
NEARLY = 0.95


def clusters(
    folder: RunFolder, *, length: int | None = None, words: int = 32, seed: int | None = None, out: Path | None = None
) -> dict[str, Any]:
    """Measure the clusters of a finished run and write clusters.json, clusters.csv, states-pca.csv and pca.png.

    They go to `out`, by default RUN/verify. What is returned is what clusters.json holds. Raises UserError, before
    anything is written, as `subject` does.
    """
    run = subject(folder, FOLDER, length=length, words=words, seed=seed, out=out)
    seed, out = run.seed, run.out
    monoid = TransitionMonoid.of(run.task.machine.minimise())
    states = node_states(run.model, run.words, monoid, seed, all_positions=run.answers_prefixes)
    nodes = states.where(states.depths > 0)
    pool = thinned(nodes, seed)
    found, gap = find_clusters(pool.states)
    overall = scores(pool, found, gap, seed)
    depths = [(depth, scores(rows, *find_clusters(rows.states), seed)) for depth, rows in by_depth(nodes)]
    occurring, groups = set(nodes.elements.tolist()), merged(pool.elements, found)
    report = {
        **run.facts,
        "monoid": monoid.size,
        "summary": sentence(overall, monoid, occurring, groups),
        "overall": rounded(dataclasses.asdict(overall)),
        "depths": [{"depth": depth, **rounded(dataclasses.asdict(row))} for depth, row in depths],
        "never_occurred": [name for e, name in enumerate(names(monoid)) if e not in occurring],
        "merged": [[names(monoid)[e] for e in group] for group in groups],
        "too_close": [[names(monoid)[e] for e in pair] for pair in too_close(pool.states, pool.elements)],
    }
    atomic.make_folder(out)
    write_tables(out, report, pool, found, monoid)
    heading = f"{title(run.config)}\nstates at T = {run.length}"
    points, shares = plane(pool.states)
    pictures.pca_png(out / "pca.png", pool, points, names(monoid), shares, heading)
    atomic.write_json(out / "clusters.json", report)
    return report


def names(monoid: TransitionMonoid) -> list[str]:
    """The elements by their shortlex least words, the empty one as ε."""
    return [word or "ε" for word in monoid.words]


def write_tables(out: Path, report: dict[str, Any], pool: NodeStates, found: Labels, monoid: TransitionMonoid) -> None:
    """clusters.csv, a row overall and for each depth; states-pca.csv, a row for each state in the picture."""
    rows = [{"depth": "all", **report["overall"]}, *report["depths"]]
    atomic.write_text(out / "clusters.csv", tables.csv([COLUMNS, *([row[name] for name in COLUMNS] for row in rows)]))
    points: States = plane(pool.states)[0]
    least = np.array(names(monoid), dtype=object)[pool.elements]
    columns = (pool.depths, pool.words, pool.starts, pool.ends, pool.counts, pool.elements, least, found)
    # Six digits: below that the machine shows, not the network.
    states = zip(*(column.tolist() for column in columns), *points.astype(float).round(6).T.tolist(), strict=True)
    atomic.write_text(out / "states-pca.csv", tables.csv([STATE_COLUMNS, *states]))


def sentence(overall: Scores, monoid: TransitionMonoid, occurring: set[int], groups: Sequence[Sequence[int]]) -> str:
    """What was found, in words.

    >>> import languages
    >>> two = TransitionMonoid.of(languages.get("parity").machine)
    >>> found = Scores(9, 2, 2, 3.0, 1.0, 1.0, 0.9, 1.0, 0.5, 1.0, 9.0, (0.9, 0.1))
    >>> sentence(found, two, {0, 1}, [])
    '2 clusters found for 2 of 2 monoid elements, one for each'
    >>> sentence(dataclasses.replace(found, clusters=1, ari=0.0, purity=0.5), two, {0, 1}, [[0, 1]]).split("; ")[::2]
    ['1 cluster found for 2 of 2 monoid elements: they do not match', 'in one cluster: ε with 1']
    """
    name = names(monoid)
    text = f"{overall.clusters} cluster{'s' * (overall.clusters != 1)} found for {len(occurring)} of {monoid.size}"
    text += " monoid elements"
    if overall.ari == 1.0:
        parts = [f"{text}, one for each"]
    else:
        match = "they match nearly" if overall.ari >= NEARLY else "they do not match"
        measured = f"purity {overall.purity:.4f}, adjusted Rand index {overall.ari:.4f} (1 for a match, 0 by chance)"
        parts = [f"{text}: {match}", measured]
    if never := [name[e] for e in range(monoid.size) if e not in occurring]:
        parts.append("never occurred in a node: " + some(never))
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
