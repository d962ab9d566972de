"""The states of a stack network of signs beside those of the language's machine: each is a cluster of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from languages.errors import UserError
from regulargpt import plots
from regulargpt.certificate.stack.search import attempt, machine_of
from regulargpt.data.language import LanguageData
from regulargpt.findings import Arrow, Axis, Data, Dots, Finding, Group, Picture
from regulargpt.finite.stack_product import Case, Proven
from regulargpt.measurements.options import ClusterOptions
from regulargpt.measurements.plane import Points, plane
from regulargpt.measurements.state_map import MAX_ARROWS, Match, outlines
from regulargpt.runs.opened import OpenedRun
from regulargpt.tables import Table

SEVERAL = "several"  # in place of the machine's state
OF_SAMPLES = ("length", "seed", "at", "level", "colour")
"""Options of what is chosen of sample words."""
SO_FAR = ", as far as the search for a proof came"


def measure_stack(run: OpenedRun, options: ClusterOptions) -> Finding:
    """With which of the machine's states each of the network's occurs, on all words of the language at once.

    UserError: options of sample words, of which there are none here, or of a choice among states.
    """
    assert isinstance(run.data, LanguageData)
    named = [name for name in OF_SAMPLES if getattr(options, name) is not None] + ["method"] * (options.method != "pca")
    if named:
        flags = " and ".join(f"--{name}" for name in named)
        raise UserError(f"all words are gone through at once, and every state is drawn as it is; leave out {flags}")
    machine, task = machine_of(run.data.task), run.data.task
    tried = attempt(run.model, machine)
    pairs, beside = tried.product.of, defaultdict[int, set[int]](set)
    for _, control in pairs:
        if control.p != tried.network.start:  # before the first symbol all units are 0
            beside[control.p].add(control.q)
    states = list(beside)
    sole = np.array([min(beside[p]) if len(beside[p]) == 1 else machine.n_states for p in states], dtype=np.int64)
    names = [*machine.states, SEVERAL]
    counts = {name: int((sole == q).sum()) for q, name in enumerate(names) if (sole == q).any()}
    is_whole = isinstance(tried.verdict, Proven)
    values: dict[str, Any] = {
        "machine_states": machine.n_states,
        "states": len(states),
        "entries": len(tried.product.table),
        "pairs": len(pairs),
        "of_each": counts,
        "summary": sentence(task.name, machine.n_states, counts, is_whole),
    }
    points, shares = plane(tried.network.units[states])  # (states, 2)
    match = Match(np.arange(len(states)), sole, np.flatnonzero(sole < machine.n_states), sole == machine.n_states)
    x, y = (Axis(f"PC {at} ({100 * share:.1f} %)") for at, share in enumerate(shares, 1))
    dots = Dots(
        [Group(points.tolist(), sole.tolist())],
        {q: names[q] for q in np.unique(sole).tolist()},
        x,
        y,
        outlines(points, match, dict(enumerate(names))) if len(states) <= MAX_ARROWS else [],
        arrows(points, states, tried.product.table, machine.alphabet),
        points[match.wrong].tolist(),
    )
    counted = f"{len(match.whole)} of {len(states)} states of the network are each beside one of the machine"
    title = f"{plots.title(run.config)}\n{counted}{'' if is_whole else SO_FAR}"
    columns = ("state of the machine", "states of the network")
    rows = [[name, count] for name, count in counts.items()]
    return Finding(
        name="clusters",
        title=f"{task.name}, {run.config.model.title}: states on all words",
        facts=run.facts(),
        values=values,
        data=Data(columns, rows),
        picture=Picture([dots], title, size=(6.4, 4.8)),
        drawn="pca",
        tables=[Table(columns, [(name, f"{count:,}") for name, count in rows])],
        sentence=values["summary"],
    )


def arrows(
    points: Points, states: Sequence[int], table: Mapping[Case, tuple[int, int]], alphabet: Sequence[str]
) -> list[Arrow]:
    """What each symbol does to each state. Where that depends on the top of the stack, the symbol has several arrows.

    None where there would be more than `MAX_ARROWS`.
    """
    place, ways = dict(zip(states, points.tolist(), strict=True)), defaultdict[tuple[int, int], set[int]](set)
    for (start, symbol, _), (end, _) in table.items():
        if start != end and start in place and end in place:
            ways[start, end].add(symbol)
    if len(ways) > MAX_ARROWS:
        return []
    return [
        Arrow(place[start], place[end], ", ".join(alphabet[symbol] for symbol in sorted(symbols)))
        for (start, end), symbols in ways.items()
    ]


def sentence(language: str, machine_states: int, counts: dict[str, int], is_whole: bool) -> str:
    """What occurs, in words.

    >>> sentence("reverse-string", 5, {"out 0": 3, "several": 1}, True)
    '4 states of the network beside 5 of the machine of reverse-string, 1 of them beside several'
    >>> sentence("reverse-string", 5, {"out 0": 3}, False)[-54:]
    'each beside one, as far as the search for a proof came'
    """
    text = f"{sum(counts.values()):,} states of the network beside {machine_states:,} of the machine of {language}, "
    text += f"{counts[SEVERAL]:,} of them beside several" if SEVERAL in counts else "each beside one"
    return text if is_whole else text + SO_FAR
