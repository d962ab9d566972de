"""What guides have of the files of the lesson: the words in docs/index.md, and the lesson sentence by sentence.

`python -m experiments.lesson` writes the words of the guides again, from glossary.toml.
`python -m experiments.lesson sentences.md` writes what each sentence of `regulargpt demo` assumes, and of the
workbench, from the files text.toml.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from regulargpt.classroom.lesson.wording import Sentence, Wording, captions, glossary, plain, wording

INDEX = Path(__file__).parents[1] / "docs" / "index.md"
WORDS = "| word | meaning here |\n|---|---|\n"


def with_words(index: str) -> str:
    """The index of the guides, with the words of the glossary in their table."""
    before, _, after = index.partition(WORDS)
    rows = "".join(f"| {word} | {meaning} |\n" for word, meaning in glossary().items())
    return before + WORDS + rows + after[after.index("\n\n") + 1 :]


def sentences() -> str:
    """What the lesson and the captions of the workbench say, as Markdown."""
    parts = ("The lesson", wording()), ("The workbench", captions())
    return "\n".join(line for title, spoken in parts for line in by_sentence(title, spoken))


def by_sentence(title: str, spoken: Wording) -> list[str]:
    """A heading for the opening and for each step, and what each sentence assumes."""
    steps = [
        [
            f"## {i}. {step.heading}",
            "",
            *table(step.sentences),
            "",
            f"To do: {plain(step.do)} ({named(step.do.assumes)})",
            "",
            f"To take away: {plain(step.take)} ({named(step.take.assumes)})",
            "",
        ]
        for i, step in enumerate(spoken.steps, 1)
    ]
    opening = [
        f"# {title}, sentence by sentence",
        "",
        f"Every reader knows: {named(spoken.known)}.",
        "",
        "## Opening",
        "",
        *table(spoken.opening),
        "",
    ]
    return [*opening, *(line for step in steps for line in step)]


def table(sentences: Sequence[Sentence]) -> list[str]:
    """A row for each sentence.

    >>> table([Sentence("A [[tree]].", ("a sign",), ("tree",))])[2:]
    ['| A tree. | a sign | tree |']
    """
    rows = [
        f"| {plain(sentence)}{only(sentence)} | {named(sentence.assumes)} | {named(sentence.gives) or '–'} |"
        for sentence in sentences
    ]
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


if __name__ == "__main__":
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(sentences(), "utf-8")
    else:
        INDEX.write_text(with_words(INDEX.read_text("utf-8")), "utf-8")
