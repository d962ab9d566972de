"""The files of a folder, and reading them without ever waiting for a pipe or reading a device."""

import contextlib
import os
import stat
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from errno import EINVAL, ELOOP
from pathlib import Path
from typing import BinaryIO

from languages.budget import check
from languages.errors import CorpusError, UserError, shown

BLOCK = 2**20
MAX_FILES = 2**20


@dataclass(frozen=True, order=True)
class File:
    name: str  # relative to the folder, with / on every system
    path: Path
    size: int
    modified: int

    def blocks(self) -> Iterator[bytes]:
        """Its bytes, at most BLOCK at a time. CorpusError if they are not as many as were found."""
        yield from blocks(self.path, 0, self.size)
        with refused(self.path):
            now = os.stat(self.path)
        if (now.st_size, now.st_mtime_ns) != (self.size, self.modified):
            raise CorpusError(f"{shown(self.path)} changed while it was read; try again")


def blocks(path: Path, start: int, stop: int) -> Iterator[bytes]:
    """The bytes of a file from `start` to `stop`. CorpusError if the file ends before."""
    with refused(path), open_regular(path) as file:
        file.seek(start)
        while start < stop:
            block = file.read(min(BLOCK, stop - start))
            if not block:
                raise CorpusError(f"{shown(path)} changed while it was read; try again")
            yield block
            start += len(block)


def walk(folder: Path, wanted: Callable[[os.DirEntry[str]], bool] = lambda _: True) -> list[File]:
    """The files under a folder that are not empty, in the order of their names.

    Left out: what is hidden (a name that begins with a dot), links, pipes and devices, and the files and folders
    that are not `wanted`. CorpusError for what cannot be read; TooLarge for more than MAX_FILES files.
    """
    files: list[File] = []
    folders, count = [folder], 0
    while folders:
        here = folders.pop()
        with refused(here), os.scandir(here) as entries:
            for entry in entries:
                count += 1
                check(count, MAX_FILES, f"{shown(folder)} holds more than {count - 1:,} files")
                if entry.name.startswith(".") or not wanted(entry):
                    continue
                # Links are not followed: they may lead in circles, or bring one file into both parts.
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False) and (state := entry.stat(follow_symlinks=False)).st_size:
                    path = Path(entry.path)
                    name = path.relative_to(folder).as_posix()
                    files.append(File(name, path, state.st_size, state.st_mtime_ns))
    return sorted(files)


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open for reading. OSError for a pipe or device, which might wait or never end."""
    # Looked at first, since opening a device may do something; not waited for, since a pipe may come in between.
    check_regular(os.stat(path))
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)), "rb", buffering=0)
    try:
        check_regular(os.fstat(file.fileno()))
    except OSError:
        file.close()
        raise
    return file


def check_regular(state: os.stat_result) -> None:
    """OSError for anything but a file."""
    if not stat.S_ISREG(state.st_mode):
        raise OSError(EINVAL, "it is a pipe or device, not a file")


@contextlib.contextmanager
def refused(path: Path) -> Generator[None]:
    """Turn what the system says of a path into a CorpusError of one line."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        if isinstance(error, UserError):
            raise
        reason = "the links lead in a circle" if getattr(error, "errno", None) == ELOOP else None
        reason = reason or getattr(error, "strerror", None) or error
        raise CorpusError(f"{shown(path)}: cannot be read ({reason})") from error
