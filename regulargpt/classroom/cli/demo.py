"""`regulargpt demo [LANGUAGE]`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from languages.errors import UserError, shown
from regulargpt.cli.output import CheckBar, as_json, emit, say
from regulargpt.cli.types import PATH, NewFileType

if TYPE_CHECKING:
    from regulargpt.classroom.data import PageRun

NAME = "lesson.html"
WORKBENCH = "workbench.html"
LANGUAGE = "parity"
HOW_LONG = "this takes a minute for a simple language and up to ten for a larger one, on one core"

# What is proven needs no long test.
SHORT_TEST = {"evaluation.samples": 64, "evaluation.extra_lengths": ()}
MORE_LENGTHS = 20


@click.command()
@click.argument("language", required=False)
@click.option("--train", is_flag=True, help="Train a network until it is proven, in runs/; minutes, not seconds.")
@click.option("--run", "folder", type=PATH, help="The lesson is about this run, which is proven.")
@click.option("--beside", type=PATH, help="Another run on the language: its network answers beside.")
@click.option("--out", type=NewFileType(NAME), help=f"The page.  [default: {NAME}]")
@click.option(
    "--workbench",
    type=NewFileType(WORKBENCH),
    help="Write this page instead: draw a machine, train, prove and break in it.",
)
@as_json
def command(
    language: str | None,
    train: bool,
    folder: Path | None,
    beside: Path | None,
    out: Path | None,
    workbench: Path | None,
    as_json: bool,
) -> int | None:
    """Write a lesson: seven steps to how a network can be known to be right on every word.

    Without a language it is about parity, from a trained network that comes with the package. For other languages a
    network is constructed, in seconds; for larger ones with brackets of any depth a small one is trained, in a minute.
    """
    if workbench is not None:
        refuse_beside({"--train": train, "--run": folder, "--beside": beside, "--out": out})
        return write_workbench(workbench, language, as_json)
    refuse(language, train, folder)
    path = out or Path(NAME)
    name = language or (None if folder else LANGUAGE)
    with TemporaryDirectory() as temporary, closing(CheckBar()) as progress:
        other = None if beside is None else beside_it(beside, name, progress)
        if folder is not None:
            lesson_or_status = "run", gathered(folder, progress)
        elif train:
            lesson_or_status = trained(name or LANGUAGE, progress, as_json)
        else:
            lesson_or_status = at_once(name or LANGUAGE, Path(temporary, "run"), progress)
        if isinstance(lesson_or_status, int):
            return lesson_or_status
        return finish(*lesson_or_status, other, path, as_json)


def refuse(language: str | None, train: bool, folder: Path | None) -> None:
    """Raise UserError for what contradicts itself."""
    if folder is not None and (language is not None or train):
        given = "--train" if train else f"the language {language}"
        raise UserError(f"--run {shown(folder)} and {given} exclude each other; a run has its language")


def refuse_beside(given: Mapping[str, object]) -> None:
    """Raise UserError for an option that is not one of the workbench's."""
    for option, value in given.items():
        if value:
            raise UserError(
                f"--workbench and {option} exclude each other: it names a page of its own, in which one trains"
            )


def write_workbench(path: Path, language: str | None, as_json: bool) -> None:
    """Write the workbench and say so."""
    from regulargpt.classroom.workbench import page
    from regulargpt.classroom.workbench.beginning import machine_of

    size = page.write(path, language and machine_of(language))
    said = f"{shown(path)}: {size:,} bytes, the workbench; open it in a browser"
    emit({"out": str(path), "bytes": size, "language": language}) if as_json else click.echo(said)


def gathered(folder: Path, progress: CheckBar) -> PageRun:
    """A finished run on a language. Raises UserError if there is none."""
    from regulargpt.classroom import data
    from regulargpt.classroom.lesson.making import words_of

    return words_of(data.gather(folder, progress))


def beside_it(folder: Path, language: str | None, progress: CheckBar) -> PageRun:
    """The run beside that on a language. Raises UserError, before anything is made, if it cannot stand there."""
    from regulargpt.classroom.lesson.material import of_rival

    other = gathered(folder, progress)
    of_rival(other, language or other.config.data.name)
    return other


def at_once(language: str, temporary: Path, progress: CheckBar) -> tuple[str, PageRun]:
    """How the run was made, and the run: the one that comes with the package, else one by construction.

    Of a larger language with brackets a small one is trained.
    """
    import languages
    from languages.context_free.nested import NestedTask
    from languages.tasks import tree_task
    from regulargpt.classroom.lesson import making

    committed = making.committed(language)
    if committed is not None:
        return "committed", gathered(committed, progress)
    task = tree_task(languages.find(language))
    if isinstance(task, NestedTask) and not making.is_small(task):
        config = making.training(language)
        say("training a small network until it is proven: this takes about a minute", err=True)
        return "trained", making.trained(config, temporary, progress)
    config = making.construction(task)
    return "constructed", making.constructed(config, temporary, progress)


def trained(language: str, progress: CheckBar, as_json: bool) -> tuple[str, PageRun] | int:
    """How the run was made, and the run: trained until it is proven. The exit code where it did not come to its end."""
    import languages
    from languages.tasks import tree_task
    from regulargpt.classroom.lesson import making, material
    from regulargpt.cli.configure import configure, default_folder
    from regulargpt.config.validation import validate
    from regulargpt.training.proof import no_certificate

    task = tree_task(languages.find(language))
    material.check(task)
    config = configure(language, None, None, None, {}, certify=True)
    test_len = making.a_length(task, config.data.train_len + MORE_LENGTHS)
    config = config.replaced(SHORT_TEST | {"evaluation.test_len": test_len})
    assert no_certificate(config.model, config.objective, language) is None, "RegularGPT can be certified"
    validate(config)
    folder = default_folder(config)
    if folder.exists():
        raise UserError(f"{shown(folder)} is there already; show it with `regulargpt demo --run {shown(folder)}`")
    say(f"training until it is proven: {HOW_LONG}", err=True)

    from regulargpt.cli.running import finished
    from regulargpt.runs import run

    result = finished(lambda watch: run.run(config, folder, watch), config, folder, as_json)
    return result if isinstance(result, int) else ("trained", gathered(folder, progress))


def finish(made: str, run: PageRun, beside: PageRun | None, path: Path, as_json: bool) -> None:
    """Write the lesson and say so."""
    from regulargpt.classroom.lesson import page
    from regulargpt.classroom.lesson.material import material

    size = page.write(material(run, beside), path)
    language = run.config.data.name
    result = {"out": str(path), "bytes": size, "language": language, "network": made}
    said = f"{shown(path)}: {size:,} bytes, a lesson on {language}; open it in a browser"
    emit(result) if as_json else click.echo(said)
