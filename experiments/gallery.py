"""docs/gallery: the lessons of its index, each made by the command that stands beside it.

`python -m experiments.gallery` makes all of them again, and `python -m experiments.gallery parity` one.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from regulargpt.cli import call

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
ROW = re.compile(r"^\| \[[^\]]+\]\(([\w-]+)\.html\) \|.*\| `regulargpt (.*)` \|$", re.MULTILINE)


def commands() -> dict[str, list[str]]:
    """The arguments that make each page, by its name.

    >>> commands()["dyck-2"]
    ['demo', 'dyck-2']
    """
    index = (GALLERY / "index.md").read_text("utf-8")
    return {name: shlex.split(command.replace(r"\|", "|")) for name, command in ROW.findall(index)}


def make(name: str, folder: Path = GALLERY) -> Path:
    """Make one page, in this folder; where it is. To be called in the repository's root, as its commands are."""
    path = folder / f"{name}.html"
    code = call([*commands()[name], "--out", str(path)])
    assert code == 0, f"the command behind {name} ended with {code}"
    return path


if __name__ == "__main__":
    for chosen in sys.argv[1:] or commands():
        make(chosen)
