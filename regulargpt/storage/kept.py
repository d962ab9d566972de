"""The user's files that a run was made from, copied into its folder: it opens wherever that lies, and however the
originals change.

environment.json says which option of `data` names each, and its digest, from the first moment on: the manifest comes
with the end of the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regulargpt.storage import atomic, manifest

KEY = "kept"
"""Under which environment.json lists them."""
NAME = re.compile(r"(language|text)(\.[a-z0-9]{1,9})?|tokenizer\.json")
"""What they are called: a folder from elsewhere must not name a file outside itself."""


@dataclass(frozen=True)
class KeptFile:
    """A file to keep: the option of `data` that names it, what it is called in the folder, its bytes."""

    option: str
    name: str
    content: bytes

    def record(self) -> dict[str, str]:
        """What environment.json says of it."""
        return {"file": self.name, "sha256": manifest.digest(self.content)}


def names(environment: Mapping[str, Any], folder: Path) -> dict[str, tuple[str, str]]:
    """The name and the digest of each kept file, by its option; none of a run that keeps none.

    >>> names({"kept": {"name": {"file": "language.json", "sha256": "2c26"}}}, Path("runs/a"))
    {'name': ('language.json', '2c26')}
    """
    try:
        files = {key: (str(of["file"]), str(of["sha256"])) for key, of in environment.get(KEY, {}).items()}
    except (AttributeError, KeyError, TypeError):
        files = {"": ("", "")}
    if not all(NAME.fullmatch(name) for name, _ in files.values()):
        place = atomic.shown(folder / "environment.json")
        raise atomic.FormatError(f"{place}: {KEY!r} is not what a run writes there; restore it from a copy")
    return files
