"""Data: what a model is trained and tested on. A batch is a pure function of (seed, purpose, step).

A name is that of a language (`languages.get`), of a text, which begins with `text:` or `hf:`, or of a retrieval task,
which begins with `retrieval:`. What those two are, a wing says (`regulargpt.data.kinds`).
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from languages.budget import VARIABLE
from languages.errors import UserError
from languages.registry import WORDS, is_language, is_retrieval, is_text
from regulargpt.data.kinds import KINDS
from regulargpt.data.options import BalancedOptions, DataOptions, GivenOptions, LanguageOptions, sampled
from regulargpt.options import Options, hints
from regulargpt.options.registry import Registry, Row, load

if TYPE_CHECKING:
    from languages.tasks import AnyTask
    from regulargpt.data.base import Data
    from regulargpt.data.language import LanguageData


class Sources(Registry):
    """The sources of data: the options of a language depend on how its words are drawn."""

    def __getitem__(self, name: str) -> Row:
        if not is_language(name):
            kind = KINDS[kind_of(name)]
            return Row(kind.data, kind.options, f"a {kind.noun}")
        task = task_of(name)
        if name.startswith(WORDS):
            return Row("regulargpt.data.given:GivenData", GivenOptions, task.summary, task.source)
        return Row("regulargpt.data.language:LanguageData", sampled(task.sampling), task.summary, task.source)

    def written(self, text: str, path: str) -> dict[str, Any]:
        """A language keeps what stands behind its colon: it is part of what the language is."""
        return {"name": text}

    def who_has(self, option: str) -> str:
        """Some options are those of members and non-members."""
        return "languages of members and non-members have" if option in hints(BalancedOptions) else ""


def task_of(name: str) -> AnyTask:
    """The task of a language, kept: a config is read often, and some automata take seconds to build.

    A file is read again once it has changed; a machine made in Python may be another one under its name by now.
    """
    import languages
    from languages.named_file import file_of
    from languages.registry import MADE

    path = file_of(name)
    if name in MADE or (path is not None and not path.is_file()):
        return languages.find(name)
    written = None if path is None else path.stat()
    stamp = None if written is None else (written.st_mtime_ns, written.st_size, written.st_ino)
    return _task(name, os.environ.get(VARIABLE), stamp)


@lru_cache(maxsize=64)
def _task(name: str, budget: str | None, stamp: tuple[int, ...] | None) -> AnyTask:
    import languages

    return languages.find(name)


SOURCES = Sources("language", {}, DataOptions)


def sampling(name: str) -> str:
    """How a source is drawn: "uniform" or "balanced" words of a language, "text" or "retrieval".

    >>> sampling("parity"), sampling("dyck-2"), sampling("text:code"), sampling("retrieval:line")
    ('uniform', 'balanced', 'text', 'retrieval')
    """
    return kind_of(name) if not is_language(name) else task_of(name).sampling


def kind_of(name: str) -> str:
    """The kind of data of a name, as an objective asks for it: "words", "text" or "retrieval"."""
    return "text" if is_text(name) else "retrieval" if is_retrieval(name) else "words"


def noun_of(name: str) -> str:
    """What a name is that of, for a message.

    >>> noun_of("parity"), noun_of("text:code"), noun_of("retrieval:line")
    ('language', 'text', 'retrieval task')
    """
    return "language" if is_language(name) else KINDS[kind_of(name)].noun


def build(options: Options, task: AnyTask | None = None) -> Data:
    """The data of these options; `task` is that of the language, if it is known already.

    Raises UserError for a text that cannot be read.
    """
    assert isinstance(options, DataOptions)
    if not is_language(options.name):
        return load(KINDS[kind_of(options.name)].build)(options)
    return of_words(options, task)


def of_words(options: Options, task: AnyTask | None = None) -> LanguageData:
    """The words of a language.

    Raises UserError for the options of a text or a retrieval task, which no machine answers.
    """
    from regulargpt.data.language import LanguageData

    if not isinstance(options, LanguageOptions):
        name = str(getattr(options, "name", "it"))
        raise UserError(f"{name} is a {noun_of(name)}, which has no automaton; choose a language, or a run on one")
    if isinstance(options, GivenOptions):
        from regulargpt.data.given import GivenData

        return GivenData(task or task_of(options.name), options)
    return LanguageData(task or task_of(options.name), options)


def read_data(text: str) -> Data:
    """The data of a language or text as it is written, with the options' defaults.

    >>> read_data("dyck-2").options.members
    0.5
    """
    return build(SOURCES.options(text, "data"))


__all__ = [
    "SOURCES",
    "build",
    "is_language",
    "is_retrieval",
    "is_text",
    "kind_of",
    "noun_of",
    "of_words",
    "read_data",
    "sampling",
    "task_of",
]
