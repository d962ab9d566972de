"""The kinds of tasks."""

from languages.context_free.nested import NestedTask
from languages.drawn import DrawnTask
from languages.errors import VAST, LanguageError
from languages.task import Task

AnyTask = Task | NestedTask | DrawnTask
"""What a language's name stands for: its machine, and how its words are drawn."""

TreeTask = Task | NestedTask
"""A task whose answers a finite table along a tree can give: along any tree, or along that of the brackets."""


def tree_task(task: AnyTask) -> TreeTask:
    """The task, for what needs a finite table along a tree. LanguageError for a language that has none.

    >>> import languages
    >>> tree_task(languages.find("reverse-string"))
    Traceback (most recent call last):
    ...
    languages.errors.LanguageError: reverse-string is a context-free language without visible brackets: no table along a tree answers it; choose a regular language, as in dyck-4, or brackets-2
    """  # noqa: E501
    if isinstance(task, DrawnTask):
        what = {"unknown": "has no automaton that is known", "vast": f"is {VAST}"}
        of_level = f"is a {task.level} language without visible brackets"
        raise LanguageError(
            f"{task.name:.80} {what.get(task.level, of_level)}: no table along a tree answers it; "
            "choose a regular language, as in dyck-4, or brackets-2"
        )
    return task
