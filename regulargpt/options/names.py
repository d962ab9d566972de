"""Names as people write them on the command line."""

from __future__ import annotations

from collections.abc import Collection

from languages.errors import UserError, nearest, one_of


def read_names(text: str, known: Collection[str], noun: str) -> list[str]:
    """The names between the commas, each once; UserError for a name that there is not.

    >>> read_names("yarn, bca,yarn", ["bca", "ntk", "yarn"], "method")
    ['yarn', 'bca']
    >>> read_names("yarm", ["bca", "ntk", "yarn"], "method")
    Traceback (most recent call last):
    languages.errors.UserError: unknown method 'yarm'; did you mean 'yarn'?
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UserError(f"unknown {noun} {name!r:.40};{nearest(name, known) or f' choose {one_of(known)}'}")
    return list(dict.fromkeys(names))
