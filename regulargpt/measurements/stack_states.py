"""The states of a stack network of signs beside those of the language's machine: there is nothing to cluster."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from languages.errors import UserError
from regulargpt import plots
from regulargpt.certificate.stack.search import attempt, machine_of
from regulargpt.data.language import LanguageData
from regulargpt.findings import Axis, Data, Dots, Finding, Group, Picture
from regulargpt.finite.stack_product import Proven
from regulargpt.measurements.options import ClusterOptions
from regulargpt.measurements.plane import plane
from regulargpt.runs.opened import OpenedRun
from regulargpt.tables import Table

SEVERAL = "several"  # in place of the machine's state


def measure_stack(run: OpenedRun, options: ClusterOptions) -> Finding:
    """With which of the machine's states each of the network's occurs, on all words of the language at once.

    UserError: options of sample words, of which there are none here.
    """
    assert isinstance(run.data, LanguageData)
    if options.length is not None or options.seed is not None:
        raise UserError("all words are gone through at once, none are drawn; leave out --length and --seed")
    machine, task = machine_of(run.data.task), run.data.task
    found = attempt(run.model, machine)
    pairs, beside = found.product.of, defaultdict[int, set[int]](set)
    for _, control in pairs:
        if control.p != found.network.start:  # before the first symbol all units are 0
            beside[control.p].add(control.q)
    states = list(beside)
    sole = np.array([min(beside[p]) if len(beside[p]) == 1 else machine.n_states for p in states], dtype=np.int64)
    names = [*machine.states, SEVERAL]
    counts = {name: int((sole == q).sum()) for q, name in enumerate(names) if (sole == q).any()}
    values: dict[str, Any] = {
        "machine_states": machine.n_states,
        "states": len(states),
        "entries": len(found.product.table),
        "pairs": len(pairs),
        "of_each": counts,
        "summary": sentence(task.name, machine.n_states, counts, isinstance(found.verdict, Proven)),
    }
    points, shares = plane(found.network.units[states])  # (states, 2)
    group = Group(points.tolist(), sole.tolist())
    x, y = (Axis(f"PC {at} ({100 * share:.1f} %)") for at, share in enumerate(shares, 1))
    dots = Dots([group], {q: names[q] for q in np.unique(sole).tolist()}, x, y)
    columns = ("state of the machine", "states of the network")
    rows = [[name, count] for name, count in counts.items()]
    return Finding(
        name="clusters",
        title=f"{task.name}, {run.config.model.title}: states on all words",
        facts=run.facts(),
        values=values,
        data=Data(columns, rows),
        picture=Picture([dots], f"{plots.title(run.config)}\nstates on all words", size=(6.4, 4.8)),
        drawn="pca",
        tables=[Table(columns, [(name, f"{count:,}") for name, count in rows])],
        sentence=values["summary"],
    )


def sentence(language: str, machine_states: int, counts: dict[str, int], is_whole: bool) -> str:
    """What occurs, in words.

    >>> sentence("reverse-string", 5, {"out 0": 3, "several": 1}, True)
    '4 states of the network beside 5 of the machine of reverse-string, 1 of them beside several'
    >>> sentence("reverse-string", 5, {"out 0": 3}, False)[-54:]
    'each beside one, as far as the search for a proof came'
    """
    text = f"{sum(counts.values()):,} states of the network beside {machine_states:,} of the machine of {language}, "
    text += f"{counts[SEVERAL]:,} of them beside several" if SEVERAL in counts else "each beside one"
    return text if is_whole else f"{text}, as far as the search for a proof came"
