"""The gallery: the lessons of docs/gallery/index.md, each made by the command beside it, and the index as a page.

`python -m experiments.gallery OUT` makes all of them in the folder OUT, and `python -m experiments.gallery OUT parity`
one. `index` is the page that a web server shows of the folder.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from regulargpt.classroom.document import document
from regulargpt.cli import call
from regulargpt.findings.markup import tag, text

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
INDEX = "index"
ROW = re.compile(r"^\| ([^|]+) \| `([\w-]+)\.html` \| (.*) \| `regulargpt (.*)` \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str, str]]:
    """Of each lesson the heading, the name of its page, what it is good for, and the arguments that make it."""
    entries = ROW.findall((GALLERY / f"{INDEX}.md").read_text("utf-8"))
    return [(heading, name, good_for, command.replace(r"\|", "|")) for heading, name, good_for, command in entries]


def commands() -> dict[str, list[str]]:
    """The arguments that make each page, by its name.

    >>> commands()["dyck-2"]
    ['demo', 'dyck-2']
    """
    return {name: shlex.split(command) for _, name, _, command in rows()}


def index() -> str:
    """The list of the lessons as a page."""
    lessons = [
        tag("dt", tag("a", text(heading), href=f"{name}.html"))
        + tag(
            "dd",
            text(f"{good_for[0].upper()}{good_for[1:]}."),
            " Made by ",
            tag("code", text(f"regulargpt {command}")),
            ".",
        )
        for heading, name, good_for, command in rows()
    ]
    opening = "How can one know that a computer program is right on every word? Each lesson has seven short steps."
    return document(
        title="Right on every word? Five lessons",
        heading="Right on every word?",
        skip=("lessons", "To the lessons"),
        body=tag("div", tag("p", opening), class_="lead")
        + tag("main", tag("dl", *lessons, id="lessons"), class_="lesson"),
        data=None,
        styles=("page.css", "lesson/lesson.css"),
    )


def make(name: str, folder: Path) -> Path:
    """Make one page, in this folder; where it is. To be called in the repository's root, as its commands are."""
    path = folder / f"{name}.html"
    if name == INDEX:
        path.write_text(index(), "utf-8")
        return path
    code = call([*commands()[name], "--out", str(path)])
    assert code == 0, f"the command behind {name} ended with {code}"
    return path


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    for chosen in sys.argv[2:] or [*commands(), INDEX]:
        make(chosen, place)
