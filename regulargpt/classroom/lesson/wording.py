"""What the lesson says: its files, and what differs from language to language."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Any

from regulargpt.classroom.document import file
from regulargpt.findings.markup import tag, text

TERM = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]")
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Sentence:
    """A sentence, what a reader must know to follow it, and what the reader knows after it.

    `when` is the trait of the lessons that say it; empty for all.
    """

    says: str
    assumes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    when: str = ""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Sentence:
        """From the file."""
        known, given = (tuple(record.get(key, ())) for key in ("assumes", "gives"))
        return cls(record["says"], known, given, record.get("when", ""))


@dataclass(frozen=True)
class LessonStep:
    """One of the seven: what it says, the thing to do, and the sentence to take away."""

    name: str
    heading: str
    sentences: tuple[Sentence, ...]
    do: Sentence
    take: Sentence
    label: str  # in the way through the page: the name, where no other is given
    panel: str = ""  # of the workbench: what the step lights


@dataclass(frozen=True)
class Wording:
    """All that the lesson says: what every reader knows, how it opens, its steps."""

    known: tuple[str, ...]
    opening: tuple[Sentence, ...]
    steps: tuple[LessonStep, ...]


@cache
def wording(nested: bool = False) -> Wording:
    """The text of the lesson, or of that on a language with brackets.

    >>> [step.name for step in wording().steps]
    ['language', 'automaton', 'monoid', 'tree', 'network', 'clusters', 'proof']
    """
    return read("lesson/nested.toml" if nested else "lesson/text.toml")


@cache
def captions() -> Wording:
    """The text of the workbench.

    >>> [step.panel for step in captions().steps]
    ['editor', 'tree', 'lanes', 'map', 'wall', 'break', 'lanes']
    """
    return read("workbench/text.toml")


def read(name: str) -> Wording:
    """A file of sentences."""
    record = tomllib.loads(file(name))
    steps = [
        LessonStep(
            part["name"],
            part["heading"],
            tuple(map(Sentence.from_record, part["sentences"])),
            Sentence.from_record(part["do"]),
            Sentence.from_record(part["take"]),
            part.get("label", part["name"]),
            part.get("panel", ""),
        )
        for part in record["section"]
    ]
    return Wording(
        tuple(record["known"]), tuple(map(Sentence.from_record, record["opening"]["sentences"])), tuple(steps)
    )


@cache
def glossary() -> dict[str, str]:
    """What each word means.

    >>> glossary()["word"]
    'a row of symbols; its length T is how many there are'
    """
    return {entry["term"]: entry["meaning"] for entry in tomllib.loads(file("lesson/glossary.toml"))["word"]}


def rule(language: str, summary: str) -> str:
    """What a language asks, in plain words if somebody has written them.

    >>> rule("tomita-1", "membership in 1*"), rule("regex:(ab)*", "membership: (ab)*")
    ('Accept if there is no 0.', 'membership: (ab)*')
    """
    return tomllib.loads(file("lesson/rules.toml")).get(language, summary)


def said(sentence: Sentence, values: Mapping[str, str] = NOTHING) -> str:
    """A sentence as markup: its words for the glossary as links, and `values`, which are markup, in their places.

    >>> said(Sentence("A [[tree]] has $count."), {"count": "2"})
    'A <a href="#term-tree" class="term">tree</a> has 2.'
    """
    return Template(TERM.sub(term, text(sentence.says))).substitute(values)


def term(match: re.Match[str]) -> str:
    """A word whose meaning is shown where it has the focus or the pointer."""
    name, written = match[1], match[2] or match[1]
    return tag("a", written, href=f"#term-{slug(name)}", class_="term")


def plain(sentence: Sentence) -> str:
    """A sentence without its marks.

    >>> plain(Sentence("Many [[tree|trees]]."))
    'Many trees.'
    """
    return TERM.sub(lambda match: match[2] or match[1], sentence.says)


def terms(sentences: Sequence[Sentence]) -> list[str]:
    """The words for the glossary, in the order in which they come.

    >>> terms([Sentence("[[tree|Trees]] of [[node|nodes]]."), Sentence("A [[tree]].")])
    ['tree', 'node']
    """
    return list(dict.fromkeys(match[1] for sentence in sentences for match in TERM.finditer(sentence.says)))


def slug(name: str) -> str:
    """A name for an id.

    >>> slug("neural network")
    'neural-network'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def of_lesson(sentences: Sequence[Sentence], traits: AbstractSet[str]) -> list[Sentence]:
    """The sentences that a lesson with these traits says.

    >>> [plain(one) for one in of_lesson([Sentence("Always."), Sentence("Never.", when="odd")], {"even"})]
    ['Always.']
    """
    return [sentence for sentence in sentences if not sentence.when or sentence.when in traits]
