"""The standard streams in whatever state the shell left them: full, closed, or a pipe that nobody reads any more."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

STDIN, STDOUT, STDERR = range(3)


class Unwritable(Exception):
    """The standard output takes nothing more; `is_pipe` if it is a pipe that nobody reads any more, `is_closed` if the
    shell closed it."""

    def __init__(self, error: OSError):
        why = "it is closed" if error.errno == errno.EBADF else reason(error)
        super().__init__(f"the standard output cannot be written: {why}")
        self.is_pipe, self.is_closed = isinstance(error, BrokenPipeError), error.errno == errno.EBADF


def reason(error: OSError) -> str:
    """Why, as part of a sentence."""
    return (error.strerror or type(error).__name__).lower()


class Handle(io.FileIO):
    """A standard stream. The first write that fails raises Unwritable, and nothing is written after that.

    On stderr (`is_silent`) nothing raises: nobody is there to be told, and the work that it was about goes on.
    """

    def __init__(self, handle: int, is_silent: bool):
        super().__init__(handle, "w", closefd=False)
        self.is_silent, self.is_broken = is_silent, False

    def write(self, data: Any) -> int | None:
        """As FileIO, but for what is broken."""
        if not self.is_broken:
            try:
                return super().write(data)
            except OSError as error:
                # What is still in the buffer must not fail once more when Python ends.
                self.is_broken = True
                if not self.is_silent:
                    raise Unwritable(error) from error
        return memoryview(data).nbytes


@contextmanager
def guarded() -> Iterator[None]:
    """While the block runs, sys.stdout and sys.stderr are such streams, and the three handles are open."""
    for handle in (STDIN, STDOUT, STDERR):
        keep_open(handle)
    former = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = stream(STDOUT, former[0]), stream(STDERR, former[1], is_silent=True)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = former


def keep_open(handle: int) -> None:
    """A handle that the shell closed (`>&-`) is opened on nothing, or the next file would get its number.

    Stdout refuses then what is written to it, stderr swallows it.
    """
    try:
        os.fstat(handle)
    except OSError:
        # Unix gives the lowest free number, and those below are open.
        os.open(os.devnull, os.O_WRONLY if handle == STDERR else os.O_RDONLY)
        os.set_inheritable(handle, True)


def stream(handle: int, former: TextIO | None, is_silent: bool = False) -> TextIO:
    """Text on the handle, in the encoding that Python chose; what it cannot say is written as an escape."""
    encoding = "utf-8" if former is None else former.encoding
    buffered = io.BufferedWriter(Handle(handle, is_silent))
    return io.TextIOWrapper(buffered, encoding, errors="backslashreplace", line_buffering=is_silent)
