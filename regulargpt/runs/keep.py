"""Which files of the user's a new run keeps in its folder, so that it opens anywhere (`regulargpt.storage.kept`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from languages.errors import UserError
from regulargpt import data
from regulargpt.data.base import Data
from regulargpt.data.options import DataOptions
from regulargpt.storage.atomic import disk, read_bytes, reported, shown
from regulargpt.storage.kept import KeptFile
from regulargpt.storage.manifest import digest

LARGEST = 32 << 20
"""Bytes of a text or a tokenizer that is kept at most. The file of a language, which is read as a whole, always is."""
ENDING = re.compile(r"\.[a-z0-9]{1,9}")


def to_keep(options: DataOptions, words: Data) -> list[KeptFile]:
    """The files that these options name, as they are now. `words` are the data that were made of them.

    Raises UserError if the files have changed since.
    """
    files = [KeptFile(key, called(key, options, file), read_bytes(file)) for key, file in fitting(options)]
    if files and data.build(options).fingerprint() != words.fingerprint():
        raise UserError(f"{options.name} changed while it was read; try again")
    return files


def digests(options: DataOptions) -> dict[str, str]:
    """The SHA-256 of each file that would be kept now, by the option that names it."""
    return {key: digest(read_bytes(file)) for key, file in fitting(options)}


def fitting(options: DataOptions) -> Iterator[tuple[str, Path]]:
    """The files that are kept, by the options that name them."""
    return ((key, file) for key, file in options.files() if file not in too_large(options))


def too_large(options: DataOptions) -> list[Path]:
    """The files that are not kept: texts of more than `LARGEST` bytes."""
    return [file for _, file in options.files() if not data.is_language(options.name) and size_of(file) > LARGEST]


def size_of(file: Path) -> int:
    with reported(file):
        return disk.size(file)


def called(key: str, options: DataOptions, file: Path) -> str:
    """What a file is called in the run's folder: with its ending, which says how it is read.

    >>> called("name", DataOptions("words:mine.TSV"), Path("mine.TSV"))
    'language.tsv'
    """
    if key == "tokenizer":
        return "tokenizer.json"
    ending = file.suffix.lower()
    return data.noun_of(options.name) + (ending if ENDING.fullmatch(ending) else "")


def notice(file: Path) -> str:
    """What is said of a text that the run does not keep."""
    most = f"more than {LARGEST >> 20} MiB, so the run keeps no copy"
    return f"{shown(file)} has {most}: leave the text there, unchanged, for whatever is to open the run"
