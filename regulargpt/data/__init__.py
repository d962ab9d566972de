"""Data: what a model is trained and tested on. A batch is a pure function of (seed, purpose, step).

Today every name is that of a language (`languages.get`); a source of another kind is a row of SOURCES, by the prefix
of its names.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from regulargpt.config.options import Options, hints
from regulargpt.config.registry import Registry, Row
from regulargpt.data.options import BalancedOptions, DataOptions, LanguageOptions, sampled

if TYPE_CHECKING:
    from languages.task import Task
    from regulargpt.data.language import LanguageData


class Sources(Registry):
    """The sources of data: the options of a language depend on how its words are drawn."""

    def __getitem__(self, name: str) -> Row:
        # A task made in Python may be made anew under the same name, so it is not kept.
        from languages.registry import MADE

        return of_language(name) if name not in MADE else language_row(MADE[name])

    def written(self, text: str, path: str) -> dict[str, Any]:
        """A language keeps what stands behind its colon: it is part of what the language is."""
        return {"name": text}

    def who_has(self, option: str) -> str:
        """Some options are those of members and non-members."""
        return "languages of members and non-members have" if option in hints(BalancedOptions) else ""


@cache
def of_language(name: str) -> Row:
    """The row of a language: kept, since a config is read often and some automata take seconds to build."""
    import languages

    return language_row(languages.get(name))


def language_row(task: Task) -> Row:
    """The row of a task."""
    return Row("regulargpt.data.language:LanguageData", sampled(task.sampling), task.summary, task.source)


SOURCES = Sources("language", {}, DataOptions)


def build(options: Options, task: Task | None = None) -> LanguageData:
    """The data of these options; `task` is that of the language, if it is known already."""
    import languages
    from regulargpt.data.language import LanguageData

    assert isinstance(options, LanguageOptions)
    return LanguageData(task or languages.get(options.name), options)


def read_data(text: str) -> LanguageData:
    """The data of a language as it is written, with the options' defaults.

    >>> read_data("dyck-2").options.members
    0.5
    """
    return build(SOURCES.options(text, "data"))


__all__ = ["SOURCES", "build", "read_data"]
