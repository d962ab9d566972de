"""The states of a run's network, held against what they should say; also of the network before its training."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from languages.automata.monoid import TransitionMonoid
from languages.context_free.nested import NestedTask
from languages.errors import UserError, shown
from regulargpt.certificate.search import nested_labels
from regulargpt.certificate.search.codebook import Target
from regulargpt.data.language import LanguageData
from regulargpt.finite.levels import TooManyWindows
from regulargpt.finite.nested_specification import NestedSpecification
from regulargpt.measurements.nested_states import nested_node_states
from regulargpt.measurements.options import ClusterOptions
from regulargpt.measurements.sample import Sample
from regulargpt.measurements.state_classes import Sought, Sub, classed
from regulargpt.measurements.states import NodeStates, node_states
from regulargpt.models.base import Model
from regulargpt.models.tree.base import Tree
from regulargpt.runs.opened import OpenedRun


def found_states(run: OpenedRun, model: Model, sample: Sample, options: ClusterOptions) -> tuple[Sought, NodeStates]:
    """What is sought in the states of a model of the run's kind, and the states above the symbols.

    A network that reads from left to right has a state of a prefix. UserError for options that do not fit the run.
    """
    sought, states = states_of(run, model, sample, options)
    return sought, states.where(chosen(states, options))


def chosen(states: NodeStates, options: ClusterOptions) -> npt.NDArray[np.bool_]:
    """The rows (rows,) above the symbols, or of the levels that are requested; UserError where there are none."""
    if options.levels is None:
        return states.depths > 0
    there = np.unique(states.depths[states.depths > 0]).tolist()
    if not (depths := sorted({*options.levels} & {*there})):
        raise UserError(
            f"--level {options.level}: there is no such level; on words of this length there are "
            f"{', '.join(map(str, there))}"
        )
    return np.isin(states.depths, depths)


def states_of(run: OpenedRun, model: Model, sample: Sample, options: ClusterOptions) -> tuple[Sought, NodeStates]:
    """The same, of all levels."""
    assert isinstance(run.data, LanguageData)
    if isinstance(run.data.task, NestedTask):
        refuse_along_brackets(options)
        assert isinstance(model, Tree), "`refuse_stack` refuses other models"
        labels = nested_labels.Labels(NestedSpecification.from_task(run.data.task), model.chunk_size, model.aligned)
        return of_labels(labels), nested_node_states(
            model, sample.words, labels, sample.seed, thinned=not sample.is_given
        )
    return classed(of_automaton(run, model, sample, options), usual_classes(model, options))


def of_automaton(run: OpenedRun, model: Model, sample: Sample, options: ClusterOptions) -> Sub:
    """The states, and the minimal automaton whose moves their sub-words are."""
    assert isinstance(run.data, LanguageData)
    machine, smallest = run.data.finite.machine, run.data.finite.machine.minimise()
    # Pages number states as the smallest machine does. Where that is the language's own, states have names.
    is_own = np.array_equal(machine.table, smallest.table) and machine.initial_index == smallest.initial_index
    machine = machine if is_own else smallest
    monoid = TransitionMonoid.from_machine(machine)
    how = {"all_positions": run.config.objective.answers_prefixes, "at": options.at or ""}
    how |= {"thinned": not sample.is_given}
    return Sub(node_states(model, sample.words, monoid, sample.seed, **how), sample.words, machine, monoid)


def usual_classes(model: Model, options: ClusterOptions) -> str:
    """What the states should say, where nothing else is chosen: a node says a transition, a prefix a state."""
    return options.colour or ("transition" if isinstance(model, Tree) else "state")


def refuse_stack(run: OpenedRun) -> None:
    """Raise UserError where states are of words that need a stack: along brackets alone there are finitely many."""
    assert isinstance(run.data, LanguageData)
    if isinstance(run.data.task, NestedTask) and not run.config.model.follows_brackets:
        raise UserError(
            f"{shown(run.path)} does not follow the brackets of {run.data.name}: there is no end to what its states "
            "should tell apart; choose a run with model.tree = 'nested'"
        )


def refuse_along_brackets(options: ClusterOptions) -> None:
    """Raise UserError for what is chosen otherwise than it must be along brackets."""
    if options.colour not in (None, "transition"):
        raise UserError(f"--colour {options.colour}: along brackets nodes are held against the algebra; leave it out")
    if options.at is not None:
        raise UserError(f"--at {options.at}: along brackets the states that go on are taken; leave it out")


def of_labels(labels: nested_labels.Labels) -> Sought:
    """The elements that a node of a question can have, and with C = 2 those of a call and what follows it."""
    try:
        possible = Target.from_specification(labels.specification, labels.chunk_size, labels.aligned).elements.tolist()
    except TooManyWindows:
        possible = [label for label, name in enumerate(labels.names) if name]
    noun = "elements and open pairs" if labels.chunk_size == 2 else "algebra elements"
    return Sought("algebra", labels.specification.size, labels.names, possible, noun)
