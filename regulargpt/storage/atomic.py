"""Files that are either absent, the old version, or the new version; never half of a version.

The order of calls is the trick (SQLite, "Atomic Commit"; Pillai et al., OSDI 2014): a temporary file in the
same folder, fsync, rename over the name, fsync of the folder. A failure is reported and leaves the old file.
"""

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from languages.errors import UserError, shown


class StorageError(UserError):
    """The disk said no: one line with the file, the reason and the remedy; `code` is the errno behind it.

    `is_failure` if that is no mistake in what was requested: the machine is short of something, or the work has begun.
    """

    def __init__(self, message: str, code: int = 0):
        super().__init__(message)
        self.code = code
        self.is_failure = code in _SHORT


class FormatError(UserError):
    """A file holds something other than what its name says."""


class Disk:
    """Every call on the file system made here, so that a test can record, refuse or replay them.

    Each raises OSError as the system does.
    """

    def create(self, path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)

    def append(self, path: Path) -> int:
        """A handle for writing at the end of a file, which is made if it is not there."""
        self.refuse_special(path)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def write(self, handle: int, data: memoryview) -> int:
        return os.write(handle, data)

    def truncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def replace(self, source: Path, target: Path) -> None:
        """Give a file the name of another, which is gone then: in a single step, so that nobody sees neither."""
        self.refuse_special(target)
        os.replace(source, target)

    def make_folder(self, path: Path) -> None:
        path.mkdir()

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on the disk."""
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def remove(self, path: Path) -> None:
        path.unlink()

    def remove_folder(self, path: Path) -> None:
        path.rmdir()

    def read(self, path: Path) -> bytes:
        self.refuse_special(path)
        return path.read_bytes()

    def refuse_special(self, path: Path) -> None:
        # A pipe would be waited for and a device read for ever; a rename would put a file in the place of either.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(errno.ESPIPE, "it is a pipe or a device, not a file")

    def size(self, path: Path) -> int:
        return path.stat().st_size

    def names(self, path: Path) -> list[str]:
        return sorted(os.listdir(path))

    def is_folder(self, path: Path) -> bool:
        return path.is_dir()

    def exists(self, path: Path) -> bool:
        return path.exists()


disk = Disk()

_SHORT = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO}
_SPACE = ("no space is left on the device", "free some space and try again")
_DENIED = ("permission denied", "make the folder writable or choose another one")
_FILES = ("too many files are open", "raise the limit (`ulimit -n 4096`) and try again")
_ABSENT = ("no such file or folder", "check that the folder was not moved or deleted")
_REASONS = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.EROFS: ("the file system is read-only", _DENIED[1]),
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOENT: _ABSENT,
    errno.ENOTDIR: ("a part of the path is not a folder", "choose another path"),
    errno.EEXIST: ("a file is in the way", "choose another path"),
    errno.ESPIPE: ("it is a pipe or a device, not a file", "give a file"),
    errno.EISDIR: ("it is a folder, not a file", "choose another path"),
}


@contextlib.contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turn an OSError of the body into a StorageError about `path`.

    >>> with reported(Path("/nowhere/x")):
    ...     disk.read(Path("/nowhere/x"))
    Traceback (most recent call last):
    regulargpt.storage.atomic.StorageError: /nowhere/x: no such file or folder; check that the folder was not moved or deleted
    """  # noqa: E501
    try:
        yield
    except OSError as error:
        unknown = ((error.strerror or type(error).__name__).lower(), "check the disk and try again")
        code = error.errno or 0
        reason, remedy = _REASONS.get(code, unknown)
        raise StorageError(f"{shown(path)}: {reason}; {remedy}", code) from error


@contextlib.contextmanager
def at_work() -> Iterator[None]:
    """What the disk refuses in the body is a failure of the work, whatever the reason.

    >>> try:
    ...     with at_work(), reported(Path("/nowhere/x")):
    ...         disk.read(Path("/nowhere/x"))
    ... except StorageError as error:
    ...     error.is_failure
    True
    """
    try:
        yield
    except StorageError as error:
        error.is_failure = True
        raise


def read_bytes(path: Path) -> bytes:
    """The whole file; StorageError if it cannot be read."""
    with reported(path):
        return disk.read(path)


def parse_text(data: bytes, path: Path) -> str:
    """The text in a file's bytes; FormatError if they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"{shown(path)} is not UTF-8 text (byte {error.start}); restore it from a copy"
        raise FormatError(message) from error


def parse_json(data: bytes, path: Path) -> dict[str, Any]:
    """The object in a file's bytes; FormatError if they are not a JSON object."""
    text = parse_text(data, path)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # Of these only JSONDecodeError is promised; numbers of 5000 digits and 20000 brackets raise the others.
        value = None
    if not isinstance(value, dict):
        raise FormatError(f"{shown(path)} is not a JSON object; restore it from a copy")
    return value


def write_new(path: Path, data: bytes) -> None:
    """Write and fsync a file under its own name: only for names that no reader looks for yet."""
    handle = disk.create(path)
    try:
        write_all(handle, data)
        # Before the rename, or a power cut may leave the new name with no bytes behind it.
        disk.sync(handle)
    finally:
        disk.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write every byte: one call may take fewer than it was given."""
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(handle, rest) :]


def temporary(path: Path) -> Path:
    """The name under which `path` is written first: same folder, so that the rename is atomic."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def is_temporary(name: str) -> bool:
    """Whether a file of this name is what an interrupted write left behind."""
    return name.startswith(".") and name.endswith(".tmp")


def write_bytes(path: Path, data: bytes) -> None:
    """Put `data` at `path`: after a crash at any moment the file is the old or the new, whole.

    Raises StorageError (disk full, permission, vanished folder, too many open files); the old file is then
    intact.
    """
    draft = temporary(path)
    with reported(path):
        disk.refuse_special(path)
        try:
            write_new(draft, data)
            disk.replace(draft, path)
        except BaseException:
            # The first failure is what to report; a temporary left behind is swept up on resume.
            with contextlib.suppress(OSError):
                disk.remove(draft)
            raise
        # The rename itself is data of the folder: without this a power cut may undo it.
        disk.sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of the text in UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """`write_bytes` of `value` as strict JSON, keys in their order; NaN is refused."""
    write_bytes(path, render_json(value))


def render_json(value: Any) -> bytes:
    """The bytes that `write_json` writes.

    >>> render_json({"b": [1], "a": None}).decode()
    '{\\n  "b": [\\n    1\\n  ],\\n  "a": null\\n}\\n'
    """
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def make_folder(path: Path) -> None:
    with reported(path):
        if disk.is_folder(path):
            return
        if path.parent != path:
            make_folder(path.parent)
        try:
            disk.make_folder(path)
        except FileExistsError:
            # Not exist_ok: another process may have been faster, but a file of that name is still in the way.
            if not disk.is_folder(path):
                raise
        disk.sync_folder(path.parent)


def remove_tree(path: Path) -> None:
    """Remove a folder of files (one level deep, as checkpoints are)."""
    for name in disk.names(path):
        disk.remove(path / name)
    disk.remove_folder(path)
