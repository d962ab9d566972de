"""Kinds of data beside the words of a language: a wing brings each, with an entry point of the group `regulargpt.data`.

What names them by their prefixes is `languages.registry`, which refuses them where a language is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from regulargpt.data.options import DataOptions
from regulargpt.options.registry import ExtendedRegistry


@dataclass(frozen=True)
class Kind:
    """What the core says of a kind of data, and where its parts are, each as "module:NAME".

    `data` is the class of its data, `build` makes them of their options, `terminal` is the module with what
    `regulargpt.cli.kinds.Kind` has. `gather` reads what a page shows of a run on them; without it, that is what it
    shows of a run on words.
    """

    noun: str
    options: type[DataOptions]
    data: str
    build: str
    terminal: str
    objective: str
    """The usual one."""
    example: str
    """A name of its data."""
    run: str
    """What to choose where a run on them is needed."""
    gather: str = ""
    after: str = ""


KINDS: ExtendedRegistry[Kind] = ExtendedRegistry({}, "regulargpt.data")
