"""The format of run folders and sweeps on the disk. Another version is refused; before 1.0 none is converted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regulargpt.storage import atomic

FORMAT = 2


def refuse_other_format(stated: Mapping[str, Any], folder: Path) -> None:
    """Raise FormatError unless the file `stated` in this folder has this program's number.

    >>> refuse_other_format({"format": 1}, Path("runs/parity"))
    Traceback (most recent call last):
    regulargpt.storage.atomic.FormatError: runs/parity has format 1, this program needs 2; make it anew, or use the version that wrote it
    """  # noqa: E501
    if stated.get("format") != FORMAT:
        number = stated.get("format", "unknown")
        message = f"{atomic.shown(folder)} has format {number}, this program needs {FORMAT}"
        raise atomic.FormatError(f"{message}; make it anew, or use the version that wrote it")
