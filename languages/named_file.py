"""The file that the name of a language names, as in `dfa:mine.json`."""

from pathlib import Path

from languages.kept import Kept


def file_of(name: str) -> Path | None:
    """The file, whether it is there or not; None of a name without one.

    >>> file_of("pushdown:mine.json;depth=1000"), file_of("dfa:mine.dot;outputs=labels"), file_of("words:mine.csv")
    (PosixPath('mine.json'), PosixPath('mine.dot'), PosixPath('mine.csv'))
    >>> file_of("parity")
    """
    if isinstance(name, Kept):
        return name.file
    kind, colon, rest = name.partition(":")
    if kind == "dfa":
        from languages.regular.user import without_options

        rest = without_options(rest)
    elif kind == "pushdown":
        from languages.context_free.user import of_file

        rest, _ = of_file(rest)
    elif kind != "words":
        return None
    return Path(rest) if colon else None
