"""The machine with which the workbench begins."""

from __future__ import annotations

from dataclasses import replace

import languages
from languages.context_free.nested import NestedTask
from languages.convert.machines import to_json
from languages.errors import UserError
from languages.tasks import tree_task
from regulargpt.classroom.lesson.material import check
from regulargpt.finite.specification import specified_machine

MOST_STATES = 12  # that one can draw


def machine_of(language: str) -> str:
    """The machine of a language, minimal if it has no stack, as JSON text.

    UserError if it is too large to be drawn and trained in a page.

    >>> print(machine_of("regex:(ab)*").splitlines()[2])
      "alphabet": ["a", "b"],
    """
    task = tree_task(languages.find(language))
    check(task)
    machine = task.machine if isinstance(task, NestedTask) else specified_machine(task)
    if machine.n_states > MOST_STATES:
        raise UserError(
            f"{language} has {machine.n_states} states, and on the workbench one draws at most {MOST_STATES}; "
            "choose a smaller one, as tomita-3"
        )
    if isinstance(task, NestedTask) or not task.glyphs:
        return to_json(machine)
    return to_json(replace(machine, alphabet=task.glyphs))
