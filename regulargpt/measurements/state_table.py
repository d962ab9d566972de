"""The states of a run as a table, for numpy and pandas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.words import decode
from languages.context_free.nested import NestedTask
from regulargpt.data.language import LanguageData
from regulargpt.measurements.options import ClusterOptions
from regulargpt.measurements.sample import Sample
from regulargpt.measurements.sought_states import chosen, found_states, of_automaton, refuse_stack, usual_classes
from regulargpt.measurements.state_classes import classed, of_monoid
from regulargpt.runs.opened import OpenedRun


def state_table(run: OpenedRun, sample: Sample, options: ClusterOptions) -> dict[str, npt.NDArray[Any]]:
    """The states of the run's network on some words, a column each: see `regulargpt.states`."""
    assert isinstance(run.data, LanguageData)
    refuse_stack(run)
    if isinstance(run.data.task, NestedTask):
        sought, nodes = found_states(run, run.model, sample, options)
        classes = transitions = named(sought.names, nodes.elements)
    else:
        sub = of_automaton(run, run.model, sample, options)
        sub = replace(sub, nodes=sub.nodes.where(chosen(sub.nodes, options)))
        sought, nodes = classed(sub, usual_classes(run.model, options))
        classes = named(sought.names, nodes.elements)
        transitions = named(of_monoid(sub.monoid).names, sub.nodes.elements)
    texts = np.array([decode(word, run.data.task.machine.alphabet) for word in sample.words.tolist()], dtype=object)
    return {
        "word": texts[nodes.words],
        "level": nodes.depths,
        "start": nodes.starts,
        "position": nodes.ends - 1,
        "class": classes,
        "transition": transitions,
        "count": nodes.counts,
        "vector": nodes.states,
    }


def named(names: Any, numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
    """The names of numbers, the empty word as ε.

    >>> named(["", "a"], np.array([1, 0])).tolist()
    ['a', 'ε']
    """
    return np.array([name or "ε" for name in names], dtype=object)[numbers]
