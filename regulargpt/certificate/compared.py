"""The automaton of a certificate beside the language: what is proven of either holds of the other if they are equal.

An automaton that was learned from a network's answers can be another one than the language's. Never imports torch.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from languages.automata import MooreMachine
from languages.automata.moore import UNDEFINED
from languages.automata.oracle import Oracle
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.convert.machines import AnyMachine, read_json
from languages.errors import AutomatonError, LanguageError, UserError
from languages.registry import WITHOUT_MACHINE, no_known_machine
from languages.task import Task
from languages.tasks import AnyTask
from regulargpt.finite.nonempty import counterexample
from regulargpt.finite.specification import specified_machine
from regulargpt.finite.stack_product import StackProduct, Transducer, UndecidedProduct, Word, Wrong
from regulargpt.storage.atomic import parse_text, read_bytes
from regulargpt.storage.folder import AUTOMATON, RunFolder


def against(learned: AnyMachine, task: AnyTask) -> dict[str, Any]:
    """A learned machine beside the task's, and the shortest word that they answer differently.

    >>> import languages
    >>> task = languages.get("parity")
    >>> against(task.machine, task)
    {'states': 2, 'language': 'parity', 'equal': True}
    """
    true = right_machine(task)
    word = parting_word(learned, true)
    report: dict[str, Any] = {"states": learned.n_states, "language": task.name, "equal": word is None}
    if word is not None:
        names = {UNDEFINED: None, **dict(enumerate(task.output_names))}
        symbols = np.array([word])
        answers = {"learned": names[int(learned.answers(symbols)[0])], "right": names[int(true.answers(symbols)[0])]}
        report["differs"] = {"word": task.machine.decode(symbols[0]), "length": len(word), **answers}
    return report


def right_machine(task: AnyTask) -> AnyMachine:
    """The machine that has an answer where the task has, and no other.

    LanguageError for a language whose machine is no table.
    """
    if isinstance(task, Task):
        return specified_machine(task)
    if task.level in WITHOUT_MACHINE:
        raise LanguageError(no_known_machine(task.name))
    if isinstance(task.machine, Oracle):
        raise LanguageError(f"{task.name} is a {task.level} language: there is no table of moves to prove it by")
    return task.machine


def parting_word(mine: AnyMachine, other: AnyMachine) -> list[int] | None:
    """A shortest word that two machines over the same symbols answer differently, None if there is none.

    AutomatonError for two with stacks whose heights differ so much that it is not decided.
    """
    if isinstance(mine, PushdownTransducer) and isinstance(other, PushdownTransducer):
        return word_of_stacks(mine, other)
    assert isinstance(mine, MooreMachine), "both are with a stack, or without"
    assert isinstance(other, MooreMachine), "both are with a stack, or without"
    word_of_both = counterexample(mine, other)
    return None if word_of_both is None else [*word_of_both]


def word_of_stacks(mine: PushdownTransducer, other: PushdownTransducer) -> list[int] | None:
    """The same of two machines with stacks: by their brackets if these are visible, else by their product."""
    with suppress(AutomatonError):
        left, two = VisiblyPushdown.from_machine(mine), VisiblyPushdown.from_machine(other)
        if (left.direction == two.direction).all():
            word = left.counterexample(two)
            return None if word is None else mine.encode(word).tolist()
    wrong = list[Word]()
    # A product says nothing of words that the second has no answer to.
    for left, two in ((mine, other), (other, mine)):
        verdict = StackProduct(Transducer(left, two), two).run()
        if isinstance(verdict, UndecidedProduct):
            raise AutomatonError(f"whether two machines with stacks are alike is not decided: {verdict.reason}")
        wrong += [verdict.word] if isinstance(verdict, Wrong) else []
    return list(min(wrong, key=len)) if wrong else None


def automaton_of(folder: RunFolder) -> AnyMachine:
    """The automaton of a run's certificate. Raises UserError if it cannot be read, or is no such machine."""
    path = folder.path / AUTOMATON
    machine = read_json(parse_text(read_bytes(path), path), str(path))
    if not isinstance(machine, MooreMachine | PushdownTransducer):
        raise UserError(f"{path} is no Moore machine, as automata of certificates are; verify the run again")
    return machine


def difference(report: dict[str, Any]) -> str:
    """Where the two part, in words.

    >>> word = {"word": "()", "right": "accept", "learned": "reject", "length": 2}
    >>> difference({"states": 1, "language": "dyck-1", "equal": False, "differs": word})
    'not that of dyck-1: () is accept, not reject'
    """
    word = report["differs"]
    return f"not that of {report['language']}: {word['word']} is {word['right']}, not {word['learned']}"
