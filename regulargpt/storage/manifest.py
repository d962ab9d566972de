"""SHA-256 digests of the files of a folder, written last: a folder without a valid manifest is not trusted.

The manifest ends in a digest of its own other bytes, so that a flipped bit anywhere, also in the manifest, is
found.
"""

import errno
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from languages.errors import UserError
from regulargpt.storage import atomic
from regulargpt.storage.format import FORMAT, refuse_other_format

NAME = "manifest.json"
_TAIL = b'"\n}\n'
_HEX = 64


class IntegrityError(UserError):
    """A file is not the file that was written: the message names the file and both digests."""


def is_damage(error: UserError) -> bool:
    """Whether a file is missing, unreadable or not what it was: too many open files or a permission hides nothing.

    >>> is_damage(IntegrityError("changed")), is_damage(atomic.StorageError("denied", errno.EACCES))
    (True, False)
    """
    if isinstance(error, atomic.StorageError):
        return error.code in (errno.ENOENT, errno.EIO)
    return isinstance(error, IntegrityError | atomic.FormatError)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def render(digests: Mapping[str, str]) -> bytes:
    """The manifest as bytes: `files`, `format`, and last `sha256`, the digest of the rest.

    >>> text = render({"a.txt": digest(b"a")}).decode()
    >>> text.splitlines()[-2][:12], len(text.splitlines())
    ('  "sha256": ', 7)
    """
    # The digest of itself cannot be part of what is digested: an empty section stands in for it.
    blank = atomic.render_json({"files": dict(digests), "format": FORMAT, "sha256": ""})
    head = blank[: -len(_TAIL)]
    return head + digest(blank).encode() + _TAIL


def parse(data: bytes, path: Path) -> dict[str, str]:
    """The digests of a manifest read from `path`; IntegrityError if its own digest does not hold."""
    # By position, not by parsing: the digest must vouch for the bytes before anything reads meaning into them.
    cut = len(data) - len(_TAIL) - _HEX
    head, written, tail = data[: max(cut, 0)], data[max(cut, 0) : cut + _HEX], data[cut + _HEX :]
    actual = digest(head + tail)
    if written != actual.encode():
        raise damaged(path, written.decode("ascii", "backslashreplace"), actual)
    body = atomic.parse_json(data, path)
    refuse_other_format(body, path.parent)
    return _plain_names(body.get("files"), path)


def damaged(path: Path, expected: str, actual: str) -> IntegrityError:
    """The error for a file whose bytes are not those that were written."""
    if not re.fullmatch(r"[!-~]{64}", expected):
        expected = "unreadable (the file was cut, or its last line changed)"
    return IntegrityError(
        f"{atomic.shown(path)} is damaged: SHA-256 expected {expected}, found {actual}; restore it from a copy"
    )


def _plain_names(files: Any, path: Path) -> dict[str, str]:
    if not isinstance(files, dict) or not all(isinstance(expected, str) for expected in files.values()):
        raise atomic.FormatError(f"{atomic.shown(path)} lists no files; restore it from a copy")
    # A name with a folder in it could point outside the folder that is being checked.
    for name in files:
        if name in ("", ".", "..") or "/" in name or "\\" in name:
            place = atomic.shown(path)
            raise atomic.FormatError(f"{place}: {name!r} is not a plain file name; restore it from a copy")
    return files


def write_manifest(folder: Path, names: Iterable[str]) -> None:
    """Digest the named files as they now lie on the disk and write the manifest."""
    digests = {name: digest(atomic.read_bytes(folder / name)) for name in names}
    atomic.write_bytes(folder / NAME, render(digests))


def read_manifest(folder: Path) -> dict[str, str]:
    """The recorded digests; StorageError if there is none, IntegrityError if it is damaged."""
    return parse(atomic.read_bytes(folder / NAME), folder / NAME)


def read_verified(folder: Path, names: Iterable[str] | None = None) -> dict[str, bytes]:
    """The contents of the named files (all recorded ones by default), each checked against the manifest.

    What is returned is what was checked: the files are read once. Raises IntegrityError naming file and both
    digests, or the file that is missing or not recorded.
    """
    digests = read_manifest(folder)
    contents: dict[str, bytes] = {}
    for name in digests if names is None else names:
        if name not in digests:
            place = atomic.shown(folder / name)
            raise IntegrityError(f"{place} is not recorded in {NAME}; restore the folder from a copy")
        contents[name] = read_checked(folder / name, digests[name])
    return contents


def read_checked(path: Path, expected: str) -> bytes:
    """The contents of a file; IntegrityError if they have not this digest, or it is missing."""
    with atomic.reported(path):
        if not atomic.disk.exists(path):
            raise damaged(path, expected, "no file")
        data = atomic.disk.read(path)
    if digest(data) != expected:
        raise damaged(path, expected, digest(data))
    return data


def verify(folder: Path) -> dict[str, str]:
    """Check every recorded file and return the digests; IntegrityError on the first missing or changed."""
    read_verified(folder)
    return read_manifest(folder)
