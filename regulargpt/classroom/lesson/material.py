"""What a lesson needs of a run: an automaton and a network, small enough to be shown, and a proof of all of it."""

from __future__ import annotations

import dataclasses
from collections import deque
from dataclasses import dataclass

import languages
from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.budget import TooLarge
from languages.context_free.nested import NestedTask
from languages.errors import UserError, shown
from languages.tasks import TreeTask, tree_task
from regulargpt.certificate.checker import Accepted
from regulargpt.classroom.data import Certificate, PageRun
from regulargpt.classroom.live.gathering import Live
from regulargpt.classroom.nested import Elements, Machine
from regulargpt.classroom.network import is_listed
from regulargpt.finite.specification import specified_machine
from regulargpt.models.options import ModelOptions

MOST_ELEMENTS, MOST_OF_AN_ALGEBRA = 60, 150
"""Of a monoid, of an algebra: its elements have a colour each, and its cases are tried one by one."""


@dataclass(frozen=True)
class Rival:
    """Another network of the same language, beside that of the lesson."""

    run: PageRun
    label: str

    @property
    def live(self) -> Live:
        """The network itself."""
        return self.run.live

    @property
    def wrong(self) -> tuple[int, ...]:
        """The first word that it answers wrongly, among those that were tried, the shortest first; empty if none is."""
        errors = self.live.wrong
        return errors.words[0] if errors and errors.words else ()


@dataclass(frozen=True)
class Material:
    """A lesson's language, automaton and monoid, and its network with the certificate."""

    run: PageRun
    machine: Machine
    monoid: TransitionMonoid | Elements  # of a language with brackets, the algebra
    certificate: Certificate
    summary: str
    rival: Rival | None = None

    @property
    def is_nested(self) -> bool:
        """Whether the language has brackets."""
        return isinstance(self.monoid, Elements)


def check(task: TreeTask) -> None:
    """Raise UserError if a language is no subject of a lesson.

    >>> check(languages.get("dyck-12"))
    Traceback (most recent call last):
    languages.errors.UserError: dyck-12 has more than 60 monoid elements, too many for a lesson; choose a smaller \
language, as `regulargpt demo dyck-2`, or look at it with `regulargpt show dyck-12`
    """
    if isinstance(task, NestedTask):
        return check_nested(task)
    machine = specified_machine(task)
    try:
        monoid = TransitionMonoid.from_machine(machine, MOST_ELEMENTS)
    except TooLarge as error:
        raise UserError(
            f"{task.name} has more than {MOST_ELEMENTS} monoid elements, too many for a lesson; choose a smaller "
            f"language, as `regulargpt demo dyck-2`, or look at it with `regulargpt show {task.name}`"
        ) from error
    if len(set(monoid.right.ravel().tolist())) < 2:
        raise UserError(
            f"all words of {task.name} of one symbol or more are alike: there is nothing to learn; "
            "choose another language, as `regulargpt demo parity`"
        )


def check_nested(task: NestedTask) -> None:
    """The same of a language with brackets."""
    elements = Elements.from_machine(task.machine)
    if elements is None or elements.size > MOST_OF_AN_ALGEBRA:
        raise UserError(
            f"{task.name} has more than {MOST_OF_AN_ALGEBRA} elements, too many for a lesson; choose a smaller "
            f"language, as `regulargpt demo brackets-2`, or look at it with `regulargpt show {task.name}`"
        )


def material(run: PageRun, rival: PageRun | None = None) -> Material:
    """What a lesson needs of a finished run, and of another run beside it.

    Raises UserError if the run is not proven, if it is too large for a lesson, or if the two do not belong together.
    """
    place, name = shown(run.path), run.config.data.name
    if run.certificate is None or run.machine is None:
        reason = f": {run.reasons[0]}" if run.reasons else ""
        raise UserError(
            f"{place} is not proven{reason}; a lesson ends with a proof, so run `regulargpt verify {place}` "
            "or choose another run"
        )
    if run.is_another:
        raise UserError(f"{place} is not proven of {name}: {run.reasons[0]}; choose another run")
    if not isinstance(run.certificate.accepted, Accepted):
        raise UserError(
            f"{place} is proven, but no tree, which a lesson is about; `regulargpt report {place}` shows it"
        )
    if not is_listed(run.certificate.record) or run.live.network is None:
        raise UserError(f"{place} is too large for a lesson; `regulargpt report {place}` shows it")
    task = tree_task(languages.find(name))
    check(task)
    other = None if rival is None else of_rival(rival, name)
    if isinstance(run.machine, MooreMachine):
        assert isinstance(task.machine, MooreMachine), "it is proven of the run's language"
        machine = named(run.machine, task.machine)
        return Material(run, machine, TransitionMonoid.from_machine(machine), run.certificate, task.summary, other)
    elements = Elements.from_machine(run.machine)
    assert elements is not None, "`check` refuses what has too many"
    return Material(run, run.machine, elements, run.certificate, task.summary, other)


def of_rival(rival: PageRun, language: str) -> Rival:
    """The network beside that of a language. Raises UserError if it has another language, or no page computes it."""
    place, theirs = shown(rival.path), rival.config.data.name
    if theirs != language:
        raise UserError(
            f"--beside {place} has learned {theirs} and the lesson is about {language}; choose a run on {language}"
        )
    if rival.live.network is None:
        raise UserError(f"--beside {place}: {rival.live.reason[:-1]}; choose a smaller network")
    return Rival(rival, label(rival.config.model))


NAMES = {
    **{"transformer": "Transformer", "lstm": "LSTM", "rnn": "RNN", "gru": "GRU"},
    **{"regulargpt": "RegularGPT", "gated-regulargpt": "gated RegularGPT"},
}
"""As the field writes them."""


def label(model: ModelOptions) -> str:
    """What a network is called.

    >>> from regulargpt.models.options import RecurrentOptions
    >>> label(RecurrentOptions("lstm"))
    'LSTM'
    """
    return NAMES.get(model.title, model.label)


def named(machine: MooreMachine, users: MooreMachine) -> MooreMachine:
    """The minimal machine with the names that the user's states have, of equivalent ones the first that is met.

    >>> parity = languages.get("parity").machine
    >>> named(specified_machine(languages.get("parity")), parity).states
    ('even', 'odd')
    """
    theirs = {machine.initial_index: users.initial_index}
    queue = deque(theirs)
    while queue:
        q = queue.popleft()
        for a, target in enumerate(machine.table[q].tolist()):
            if target not in theirs:
                theirs[target] = int(users.table[theirs[q], a])
                queue.append(target)
    names = [users.states[theirs[q]] if q in theirs else "" for q in range(machine.n_states)]
    if len(set(names)) < len(names) or "" in names:
        return machine
    return dataclasses.replace(machine, states=tuple(names), initial=names[machine.initial_index])
