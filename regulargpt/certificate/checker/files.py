"""Files from strangers: read once, in bounds, and refused where anything in them is not understood."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Files of these sizes take less than 2 GiB as values, whatever is in them.
MAX_CERTIFICATE, MAX_WEIGHTS, MAX_OTHER = 16 << 20, 32 << 20, 1 << 20
MAX_AXES = 3
DTYPES = {"F64": "<f8", "F32": "<f4"}


class Malformed(ValueError):
    """A file is not what it should be: there is nothing to check."""


class Rejected(ValueError):
    """The certificate proves nothing; the message says what failed first.

    `excess` is how far a state may leave its ball, where that failed.
    """

    def __init__(self, message: str, excess: float | None = None):
        super().__init__(message)
        self.excess = excess


def read(path: Path, most: int) -> bytes:
    """The bytes of a regular file of at most so many bytes. Raises OSError, or Malformed for anything else."""
    # O_NONBLOCK: opening a pipe must not wait for its writer. What was opened is looked at, whatever has the name now.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Malformed(f"{path} is not a regular file")
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if status.st_size > most:
            raise Malformed(f"{path} has {status.st_size:,} bytes; at most {most:,} are read")
        return file.read(most)


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def parsed(data: bytes, name: object) -> Any:
    """A JSON text without NaN, infinities or a key twice in one object; Malformed otherwise.

    >>> parsed(b'{"a": NaN}', "it")
    Traceback (most recent call last):
    ...
    regulargpt.certificate.checker.files.Malformed: it is not JSON: NaN is no number
    """

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = dict(pairs)
        if len(keys) < len(pairs):
            raise ValueError("a key is there twice")
        return keys

    try:
        return json.loads(data.decode("utf-8"), parse_constant=refuse, object_pairs_hook=unique)
    except RecursionError:
        raise Malformed(f"{name} is not JSON: nested too deeply") from None
    except ValueError as error:
        raise Malformed(f"{name} is not JSON: {error}") from None


def fields(value: Any, name: str, kinds: Mapping[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """An object with these keys, each of its kind, and no other; Malformed otherwise.

    >>> fields({"C": 2, "D": 3}, "it", {"C": int})
    Traceback (most recent call last):
    ...
    regulargpt.certificate.checker.files.Malformed: it has the unknown key 'D'
    """
    if not isinstance(value, dict):
        raise Malformed(f"{name} is not an object")
    for key in value:
        if key not in kinds:
            raise Malformed(f"{name} has the unknown key {key!r}")
    for key, kind in kinds.items():
        if key not in value:
            raise Malformed(f"{name} has no {key!r}")
        if not isinstance(value[key], kind) or (isinstance(value[key], bool) and kind is not bool):
            raise Malformed(f"{name}: {key!r} is {value[key]!r:.40}, of the wrong kind")
    return value


def integers(value: Any, name: str, most: int, width: int = 0) -> npt.NDArray[np.int64]:
    """A list (n,) of integers from 0 to `most`, or (n, width) of lists of so many; Malformed otherwise."""
    rows = value if width else [value]
    good = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
    good = good and all(len(row) == width for row in rows if width)
    if not good or not all(type(i) is int and 0 <= i <= most for row in rows for i in row):
        raise Malformed(f"{name} is not {f'rows of {width}' if width else 'a list of'} integers from 0 to {most}")
    return np.array(value, dtype=np.int64).reshape((-1, width) if width else -1)  # (n, width) or (n,), also for n = 0


def numbers(value: Any, name: str, shape: tuple[int, ...]) -> Floats:
    """Finite numbers of this shape, each the double nearest to its decimal digits; -1 is any size."""
    rows = value if len(shape) == 2 else [value]
    good = isinstance(rows, list) and all(isinstance(row, list) and len(row) in (shape[-1], -shape[-1]) for row in rows)
    if not good and shape[-1] != -1:
        raise Malformed(f"{name} is not {shape} numbers")
    if not all(type(x) in (int, float) for row in rows for x in row):
        raise Malformed(f"{name} holds something that is no number")
    try:
        array = np.array([[float(x) for x in row] for row in rows]).reshape(shape)  # (n,) or (m, n)
    except (OverflowError, ValueError):
        raise Malformed(f"{name} is not {shape} finite numbers") from None
    if not np.isfinite(array).all():
        raise Malformed(f"{name} is not {shape} finite numbers")
    return array


def tensors(data: bytes) -> dict[str, Floats]:
    """The tensors of a safetensors file in float64, exactly: eight bytes of header length, a JSON header, numbers.

    Raises Malformed for a file that is cut or overlong, and for other types than F32 and F64.
    """
    size = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else -1
    if not 0 < size <= min(len(data) - 8, MAX_OTHER):
        raise Malformed("the weights are no safetensors file")
    header = parsed(data[8 : 8 + size], "the weights' header")
    if not isinstance(header, dict):
        raise Malformed("the weights' header is not an object")
    header.pop("__metadata__", None)  # notes, no tensor
    arrays, at = {}, 8 + size
    spans = {"dtype": str, "shape": list, "data_offsets": list}
    entries = []
    for name, entry in header.items():
        entry = fields(entry, f"tensor {name!r}", spans)
        shape = integers(entry["shape"], f"the shape of tensor {name!r}", MAX_WEIGHTS).tolist()
        offsets = integers(entry["data_offsets"], f"the offsets of tensor {name!r}", MAX_WEIGHTS).tolist()
        if entry["dtype"] not in DTYPES:
            raise Malformed(f"tensor {name!r} has the type {entry['dtype']!r:.20}; known are {', '.join(DTYPES)}")
        if len(shape) > MAX_AXES or len(offsets) != 2:
            raise Malformed(f"tensor {name!r} is no array of at most {MAX_AXES} axes at two offsets")
        entries.append((offsets, name, shape, np.dtype(DTYPES[entry["dtype"]])))
    # Tensors follow each other without gap or overlap, so every byte of the file has one meaning.
    for offsets, name, shape, dtype in sorted(entries, key=lambda entry: entry[0]):
        start, end = (8 + size + offset for offset in offsets)
        if start != at or end - start != dtype.itemsize * math.prod(shape) or end > len(data):
            raise Malformed(f"tensor {name!r} does not lie where the header says")
        flat = np.frombuffer(data[start:end], dtype=dtype).astype(np.float64)
        arrays[name] = flat.reshape(shape)  # as the header says
        at = end
    if at != len(data):
        raise Malformed("the weights go on after the last tensor")
    return arrays
