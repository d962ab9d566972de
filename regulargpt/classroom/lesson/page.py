"""The lesson in one HTML file: seven steps, each with what it says, a thing to do, and a sentence to take away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import languages
from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.automata.pushdown import PushdownTransducer
from languages.context_free.nested import NestedTask
from languages.tasks import tree_task
from regulargpt.classroom import automaton, nested
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.document import document
from regulargpt.classroom.lesson.facts import in_a_row, traits_of, values_of
from regulargpt.classroom.lesson.material import Material, label
from regulargpt.classroom.lesson.wording import (
    LessonStep,
    glossary,
    of_lesson,
    rule,
    said,
    slug,
    terms,
    wording,
)
from regulargpt.classroom.live.gathering import Live
from regulargpt.classroom.live.snapshots import KeptSnapshots
from regulargpt.classroom.live.twins import WEIGHTS, bundle
from regulargpt.classroom.network import machine_data
from regulargpt.findings.markup import by_element, tag, text
from regulargpt.storage.atomic import write_text

SHARED = ("word.js", "nodes.js", "live.js", "parting.js")
STEPS = ("language", "automaton", "monoid", "tree", "network", "clusters", "proof")
SCRIPTS = (*SHARED, *(f"lesson/{name}.js" for name in ("terms", "field", "chips", "shadow", "cases", *STEPS, "lesson")))


def write(lesson: Material, out: Path) -> int:
    """Write the page; its size in bytes. StorageError if the disk refuses."""
    page = render(lesson)
    write_text(out, page)
    return len(page.encode())


def render(lesson: Material) -> str:
    """The page as text."""
    name = lesson.run.config.data.name
    networks = [lesson.run.live.network, lesson.rival and lesson.rival.live.network]
    twins = [twin for network in networks if network for twin in network.twins]
    return document(
        title=f"Right on every word? A lesson on {name}",
        heading="Right on every word?",
        skip=("language", "To the first step"),
        body=body(lesson),
        data=script_data(lesson),
        styles=("page.css", "lesson/lesson.css", "lesson/steps.css"),
        scripts=SCRIPTS,
        modules=bundle([WEIGHTS, *twins]),
    )


def body(lesson: Material) -> str:
    """The opening, the way through the steps, the steps, and the words."""
    wording_of, traits, values = wording(lesson.is_nested), traits_of(lesson), values_of(lesson)
    opening = tag("p", " ".join(said(sentence, values) for sentence in wording_of.opening), class_="opening")
    name = lesson.run.config.data.name
    about = tag("p", "The language of this lesson: ", tag("code", text(name)), text(other_signs(name)), class_="about")
    links = [
        tag("li", tag("a", tag("b", str(i)), tag("span", text(f" {step.label}")), href=f"#{step.name}"))
        for i, step in enumerate(wording_of.steps, 1)
    ]
    way = tag("nav", tag("ol", *links), class_="way", aria_label="The seven steps")
    steps = [section(i, step, lesson, traits, values) for i, step in enumerate(wording_of.steps, 1)]
    without = tag("noscript", tag("p", "This lesson needs JavaScript: everything in it is calculated in the page."))
    said_here = chain.from_iterable(
        [*of_lesson(step.sentences, traits), step.do, step.take] for step in wording_of.steps
    )
    used = terms(list(said_here))
    if lesson.rival is not None and lesson.rival.label in glossary():
        used.append(lesson.rival.label)
    lead = tag("section", opening, about, without, class_="lead", aria_label="Opening")
    return lead + way + tag("main", *steps, words(used), class_="lesson")


def other_signs(language: str) -> str:
    """What the data write for the symbols of this page, where they write something else.

    >>> other_signs("dyck-2"), other_signs("parity")
    ('. In its data the symbols ( and ) are 0 and 1.', '')
    """
    task = tree_task(languages.find(language))
    if isinstance(task, NestedTask) or not task.glyphs:
        return ""
    return f". In its data the symbols {' and '.join(task.glyphs)} are {' and '.join(task.alphabet)}."


def section(i: int, step: LessonStep, lesson: Material, traits: set[str], values: Mapping[str, str]) -> str:
    """One step."""
    says = [tag("p", said(sentence, values)) for sentence in of_lesson(step.sentences, traits)]
    do = tag("p", said(step.do, values), class_="do")
    take = tag("p", tag("b", "To take away: "), said(step.take, values), class_="takeaway")
    heading = tag("h2", tag("span", str(i), class_="number"), text(step.heading), id=f"{step.name}-heading")
    activity = tag("div", tag("h3", "To do"), do, further(step, lesson), data_part="activity", class_="activity")
    return tag(
        "section",
        heading,
        tag("div", *says, class_="says"),
        activity,
        take,
        id=step.name,
        class_="step",
        aria_labelledby=f"{step.name}-heading",
    )


def further(step: LessonStep, lesson: Material) -> str:
    """What stands in an activity beside what its script puts there."""
    if step.name == "language":
        sentence = rule(lesson.run.config.data.name, lesson.summary)
        return tag("details", tag("summary", "Show the rule"), tag("p", text(sentence)), class_="rule")
    if step.name == "automaton":
        return tag("div", automaton.drawing(lesson.machine), class_="scroll picture")
    if step.name == "proof":
        accepted = lesson.certificate.of_table
        claims = [tag("p", text(claim)) for claim in (accepted.claim, accepted.unquantised_claim) if claim]
        note = "An independent program went through the same cases when this page was made, and lost no rounding:"
        return tag("details", tag("summary", "What exactly is proven"), tag("p", note), *claims, class_="claim")
    return ""


def words(used: Iterable[str]) -> str:
    """The glossary of the page."""
    entries = [tag("dt", text(name)) + tag("dd", text(glossary()[name]), id=f"term-{slug(name)}") for name in used]
    heading = tag("h2", "The words of this page", id="words-heading")
    return tag("section", heading, tag("dl", *entries), id="words", class_="words", aria_labelledby="words-heading")


def script_data(lesson: Material) -> dict[str, Any]:
    """JSON values for the scripts. A case is a window by offset, 0 what is absent, then its prototype."""
    machine, record = lesson.machine, lesson.certificate.record
    elements = elements_of(lesson)
    every = by_element([[i] for i in range(len(lesson.monoid.words))])
    rival = lesson.rival and network_data(lesson.rival.run)
    return automaton_data(lesson) | {
        "colours": every,
        "network": {
            "chunk_size": record["chunk_size"],
            "aligned": lesson.run.config.model.aligned,
            "elements": elements,
            "answers": [None if answer is None else machine.output_names[answer] for answer in record["answers"]],
        },
        "leaves": list(map(list, zip(record["leaves"]["windows"], record["leaves"]["images"], strict=True))),
        "nodes": list(map(list, zip(record["nodes"]["windows"], record["nodes"]["images"], strict=True))),
        "in_a_row": in_a_row(len(set(machine.outputs) - {-1})),
        **network_data(lesson.run),
        "rival": rival,
    }


def elements_of(lesson: Material) -> list[list[int]]:
    """What each prototype stands for, in the lesson's own names."""
    if lesson.is_nested:
        return list(map(list, lesson.certificate.elements))
    number = {word: i for i, word in enumerate(lesson.monoid.words)}
    return [[number[word] for word in words] for words in lesson.certificate.words]


def automaton_data(lesson: Material) -> dict[str, Any]:
    """The automaton and its monoid or algebra for the scripts; `table` is the product of two elements."""
    machine, monoid = lesson.machine, lesson.monoid
    if isinstance(monoid, TransitionMonoid):
        assert isinstance(machine, MooreMachine)
        return machine_data(machine, monoid) | {"table": monoid.table.tolist()}
    assert isinstance(machine, PushdownTransducer)
    data = nested.machine_data(machine, lesson.run.nested_task, monoid, nested.MANY)
    return data | {"table": monoid.algebra.product.tolist()}


def network_data(run: PageRun) -> dict[str, Any]:
    """A network for the scripts, and what it is called."""
    return {"label": label(run.config.model), "live": live_data(run.live)}


def live_data(live: Live) -> dict[str, Any] | None:
    """A network for the scripts, without what only a report shows."""
    return replace(live, map=None, snapshots=KeptSnapshots()).data()
