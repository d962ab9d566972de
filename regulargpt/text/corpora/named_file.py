"""The file that the name of a text names, as in `text:notes.txt`."""

import os
from pathlib import Path

from languages.kept import Kept
from regulargpt.text.corpora.registry import written_path


def file_of_text(name: str) -> Path | None:
    """The file, whether it is there or not; None of a text that is made, of a folder, and of a data set.

    >>> file_of_text("text:notes.txt"), file_of_text("text:code")
    (PosixPath('notes.txt'), None)
    """
    if isinstance(name, Kept):
        return name.file
    path = written_path(name)
    path = None if path is None else os.path.expanduser(path)
    return None if path is None or os.path.isdir(path) else Path(path)
