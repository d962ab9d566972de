"""docs/lesson.md: the lesson of `regulargpt demo`, sentence by sentence, with what each assumes.

`python -m experiments.lesson` writes its tables again from the lesson's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regulargpt.classroom.lesson.wording import Sentence, plain, wording

PAGE = Path(__file__).parents[1] / "docs" / "lesson.md"
MARK = "<!-- sentences -->\n"


def tables() -> str:
    """What the lesson says, as Markdown."""
    found = wording()
    steps = [
        [
            f"### {i}. {step.heading}",
            "",
            *table(step.sentences),
            "",
            f"To do: {plain(step.do)} ({named(step.do.assumes)})",
            "",
            f"To take away: {plain(step.take)} ({named(step.take.assumes)})",
            "",
        ]
        for i, step in enumerate(found.steps, 1)
    ]
    opening = [f"Every reader knows: {named(found.known)}.", "", "### Opening", "", *table(found.opening), ""]
    return "\n".join([*opening, *(line for step in steps for line in step)])


def table(sentences: Sequence[Sentence]) -> list[str]:
    """A row for each sentence.

    >>> table([Sentence("A [[tree]].", ("a sign",), ("tree",))])[2:]
    ['| A tree. | a sign | tree |']
    """
    rows = [f"| {plain(one)}{only(one)} | {named(one.assumes)} | {named(one.gives) or '–'} |" for one in sentences]
    return ["| sentence | assumes | gives |", "|---|---|---|", *rows]


def only(sentence: Sentence) -> str:
    """In which lessons a sentence stands, if not in all.

    >>> only(Sentence("", when="beside"))
    ' *(beside)*'
    """
    return f" *({sentence.when})*" if sentence.when else ""


def named(things: Sequence[str]) -> str:
    """Things in a row."""
    return ", ".join(things)


def written(page: str) -> str:
    """The page with its tables as they should be."""
    return page.partition(MARK)[0] + MARK + tables()


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
