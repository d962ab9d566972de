"""The file that the name of a language or a text names, as in `dfa:mine.json`."""

import os
from pathlib import Path

from languages.kept import Kept


def file_of(name: str) -> Path | None:
    """The file, whether it is there or not; None of a name without one, and of a folder.

    >>> file_of("pushdown:mine.json;depth=1000"), file_of("dfa:mine.dot;outputs=labels"), file_of("words:mine.csv")
    (PosixPath('mine.json'), PosixPath('mine.dot'), PosixPath('mine.csv'))
    >>> file_of("text:notes.txt"), file_of("text:code"), file_of("parity")
    (PosixPath('notes.txt'), None, None)
    """
    if isinstance(name, Kept):
        return name.file
    kind, colon, rest = name.partition(":")
    if kind == "text":
        return file_of_text(name)
    if kind == "dfa":
        from languages.regular.user import without_options

        rest = without_options(rest)
    elif kind == "pushdown":
        from languages.context_free.user import of_file

        rest, _ = of_file(rest)
    elif kind != "words":
        return None
    return Path(rest) if colon else None


def file_of_text(name: str) -> Path | None:
    from languages.text.registry import written_path

    path = written_path(name)
    path = None if path is None else os.path.expanduser(path)
    return None if path is None or os.path.isdir(path) else Path(path)
