"""The runs that lessons are about: those that come with the package, and those made for a lesson by construction."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import languages
from languages.automata.monoid import TransitionMonoid
from languages.budget import TooLarge
from languages.context_free.nested import NestedTask
from languages.errors import UserError
from languages.tasks import TreeTask, tree_task
from regulargpt.certificate.checker import Progress
from regulargpt.classroom import data
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.lesson import material
from regulargpt.classroom.nested import Elements
from regulargpt.config.recipes import resolve, usual_model
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import validate
from regulargpt.construct.configuration import configuration
from regulargpt.finite.specification import specified_machine

SMALL = 32
"""Width of a network that is trained for a lesson at once."""
MOST_CONSTRUCTED = 16
"""Elements of a monoid: of more, the check of a constructed network takes minutes."""
PLACES = (Path(__file__).parent / "runs", Path(__file__).parents[3] / "docs" / "certified")
"""Where finished runs come with the package: in an installed one, and in a clone."""


def committed(language: str) -> Path | None:
    """The certified run on a language that comes with the package, if any.

    >>> committed("parity").name, committed("dyck-2")
    ('parity', None)
    """
    if "/" in language:
        return None
    return next((place / language for place in PLACES if (place / language / "DONE").exists()), None)


def is_small(task: NestedTask) -> bool:
    """Whether a network is constructed for a language with brackets: of more elements, training is as quick.

    >>> is_small(languages.find("brackets-2")), is_small(languages.find("json"))
    (True, False)
    """
    elements = Elements.from_machine(task.machine)
    return elements is not None and elements.size <= MOST_CONSTRUCTED


def construction(task: TreeTask) -> RunConfig:
    """The config of a network that is constructed for a lesson, with the shortest test there is.

    Raises UserError for a language that is too large; `--train` is the way for some of them.

    >>> import languages
    >>> construction(languages.get("tomita-3"))
    Traceback (most recent call last):
    languages.errors.UserError: tomita-3 has more than 16 monoid elements, too many to construct and prove a network \
in a moment; train one with `regulargpt demo tomita-3 --train`
    """
    material.check(task)
    try:
        if not isinstance(task, NestedTask):
            TransitionMonoid.from_machine(specified_machine(task), MOST_CONSTRUCTED)
    except TooLarge as error:
        raise UserError(
            f"{task.name} has more than {MOST_CONSTRUCTED} monoid elements, too many to construct and prove a network "
            f"in a moment; train one with `regulargpt demo {task.name} --train`"
        ) from error
    config = configuration(task.name)
    config = config.replaced(short_test(task, config.data.train_len))
    validate(config)
    return config


def training(language: str) -> RunConfig:
    """The config of a small network on a language with brackets, trained until it is proven, with the shortest test."""
    task = tree_task(languages.find(language))
    material.check(task)
    config = resolve(None, usual_model(language), language, certify=True)
    config = config.replaced({"model.d_model": SMALL, **short_test(task, config.data.train_len)})
    validate(config)
    return config


def short_test(task: TreeTask, train_len: int) -> dict[str, Any]:
    """What is proven needs no test: one word, of a length that was not trained."""
    return {
        "evaluation.test_len": a_length(task, train_len + 1),
        "evaluation.samples": 1,
        "evaluation.extra_lengths": (),
    }


def a_length(task: TreeTask, least: int) -> int:
    """The first length from `least` on that a task has words of.

    >>> import languages
    >>> a_length(languages.get("modular-arithmetic"), 40)
    41
    """
    return next(length for length in count(least) if task.has_length(length))


def constructed(config: RunConfig, folder: Path, progress: Progress = lambda part, done, count: None) -> PageRun:
    """A network as `construction` says, made in a new folder and proven. Raises UserError if it cannot be."""
    from regulargpt.runs import run
    from regulargpt.runs.certify import certificate_report
    from regulargpt.storage.folder import RunFolder

    run.run(config, folder)
    report = certificate_report(RunFolder.open(folder), progress)
    if not report["proven"]:
        name, reason = config.data.name, report.get("reason", "a word is answered wrongly")
        raise UserError(f"{name} by construction is not proven: {reason}; try `regulargpt demo {name} --train`")
    return words_of(data.gather(folder, progress))


def trained(config: RunConfig, folder: Path, progress: Progress = lambda part, done, count: None) -> PageRun:
    """A network as `training` says, in a new folder. Raises UserError if it is not proven at the end."""
    from regulargpt.runs import run

    summary = run.run(config, folder)
    if not summary["proven"]:
        name = config.data.name
        raise UserError(f"a small network on {name} was not proven in time; try `regulargpt demo {name} --train`")
    return words_of(data.gather(folder, progress))


def words_of(run: PageRun | data.OtherRun) -> PageRun:
    """The run, if it is a run on words of a language. Raises UserError if it is not."""
    if not isinstance(run, PageRun) or not run.is_on_language:
        raise UserError(f"{run.path} is no run on a language; a lesson needs one, as `regulargpt demo parity`")
    return run
