"""Assembled texts, kept from each process to the next: a folder of files that are whole or absent.

A file is the symbols, then a JSON record of them, then the record's length and a mark. It is written under another name
and renamed, so that readers see the old text or the new. The folder can be deleted at any time.
"""

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, BinaryIO, cast

from languages.cache_folder import remedy
from languages.errors import CorpusError, shown
from regulargpt.text.corpora.files import open_regular

MARK = b"corpus01"
MAX_RECORD = 2**16
STALE = 24 * 3600.0  # seconds: an unfinished file as old as this was left behind by a process that died


def record(path: Path) -> dict[str, Any] | None:
    """The record at the end of a file; None if there is no file, or no file that was written here."""
    try:
        with open_regular(path) as file:
            file.seek(-len(MARK) - 8, os.SEEK_END)
            length, mark = int.from_bytes(file.read(8), "little"), file.read(len(MARK))
            if mark != MARK or length > MAX_RECORD:
                return None
            file.seek(-len(MARK) - 8 - length, os.SEEK_END)
            value = json.loads(file.read(length))
    except (OSError, ValueError, RecursionError):  # the last for thousands of brackets
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def trailer(record: dict[str, Any]) -> bytes:
    text = json.dumps(record).encode()
    return text + len(text).to_bytes(8, "little") + MARK


@contextlib.contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """A file to write, which takes the name `path` when the body ends well, and is gone when it does not."""
    with _written(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        handle, name = tempfile.mkstemp(".tmp", ".", path.parent)
    draft = Path(name)
    try:
        with _written(path), os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            # Before the rename, or a power cut may leave the name with no bytes behind it.
            os.fsync(file.fileno())
        with _written(path):
            os.replace(draft, path)
            _sync(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def _sync(folder: Path) -> None:
    """The rename is data of the folder: without this a power cut may undo it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sweep(folder: Path) -> None:
    for left in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError):  # another process may have been faster
            if time.time() - left.stat().st_mtime > STALE:
                left.unlink()


@contextlib.contextmanager
def _written(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise CorpusError(f"{shown(path)}: cannot be written ({error.strerror}); {remedy()}") from error
