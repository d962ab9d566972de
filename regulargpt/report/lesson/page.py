"""The lesson in one HTML file: seven steps, each with what it says, a thing to do, and a sentence to take away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from regulargpt.config.recipes import CONSTRUCTED
from regulargpt.models.tree.depth import depth
from regulargpt.report import automaton
from regulargpt.report.document import document
from regulargpt.report.lesson.material import Material, label
from regulargpt.report.lesson.wording import (
    TERM,
    Step,
    glossary,
    of_lesson,
    rule,
    said,
    slug,
    term,
    terms,
    wording,
)
from regulargpt.report.live.gathering import Live
from regulargpt.report.live.snapshots import Snapshots
from regulargpt.report.live.twins import WEIGHTS, bundle
from regulargpt.report.network import machine_data
from regulargpt.report.svg import by_element, tag, text
from regulargpt.storage.atomic import write_text

SHARED = ("word.js", "nodes.js", "live.js", "parting.js")
STEPS = ("language", "automaton", "monoid", "tree", "network", "clusters", "proof")
SCRIPTS = (*SHARED, *(f"lesson/{name}.js" for name in ("terms", "field", "chips", "shadow", *STEPS, "lesson")))
TOGETHER = {2: "in pairs", 3: "in threes"}
LONG = 1000  # symbols in a word whose levels are counted


def write(lesson: Material, out: Path) -> int:
    """Write the page; its size in bytes. StorageError if the disk refuses."""
    page = render(lesson)
    write_text(out, page)
    return len(page.encode())


def render(lesson: Material) -> str:
    """The page as text."""
    name = lesson.run.config.data.name
    networks = [lesson.run.live.network, lesson.rival and lesson.rival.live.network]
    twins = [found for network in networks if network for found in network.twins]
    return document(
        title=f"Right on every word? A lesson on {name}",
        heading="Right on every word?",
        skip=("language", "To the first step"),
        body=body(lesson),
        data=script_data(lesson),
        styles=("page.css", "lesson/lesson.css"),
        scripts=SCRIPTS,
        modules=bundle([WEIGHTS, *twins]),
    )


def body(lesson: Material) -> str:
    """The opening, the way through the steps, the steps, and the words."""
    found, traits, values = wording(), traits_of(lesson), values_of(lesson)
    opening = tag("p", " ".join(said(sentence, values) for sentence in found.opening), class_="opening")
    about = tag("p", "The language of this lesson: ", tag("code", text(lesson.run.config.data.name)), class_="about")
    links = [
        tag("li", tag("a", tag("b", str(i)), tag("span", text(f" {step.name}")), href=f"#{step.name}"))
        for i, step in enumerate(found.steps, 1)
    ]
    way = tag("nav", tag("ol", *links), class_="way", aria_label="The seven steps")
    steps = [section(i, step, lesson, traits, values) for i, step in enumerate(found.steps, 1)]
    without = tag("noscript", tag("p", "This lesson needs JavaScript: everything in it is calculated in the page."))
    said_here = chain.from_iterable([*of_lesson(step.sentences, traits), step.do, step.take] for step in found.steps)
    used = terms(list(said_here))
    if lesson.rival is not None and lesson.rival.label in glossary():
        used.append(lesson.rival.label)
    return tag("div", opening, about, without, class_="lead") + way + tag("main", *steps, words(used), class_="lesson")


def section(i: int, step: Step, lesson: Material, traits: set[str], values: Mapping[str, str]) -> str:
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


def further(step: Step, lesson: Material) -> str:
    """What stands in an activity beside what its script puts there."""
    if step.name == "language":
        found = rule(lesson.run.config.data.name, lesson.summary)
        return tag("details", tag("summary", "Show the rule"), tag("p", text(found)), class_="rule")
    if step.name == "automaton":
        return tag("div", automaton.drawing(lesson.machine), class_="scroll picture")
    if step.name == "proof":
        accepted = lesson.certificate.accepted
        claims = [tag("p", text(claim)) for claim in (accepted.claim, accepted.unquantised_claim) if claim]
        note = "An independent program went through the same cases when this page was made, and lost no rounding:"
        return tag("details", tag("summary", "What exactly is proven"), tag("p", note), *claims, class_="claim")
    return ""


def words(used: Iterable[str]) -> str:
    """The glossary of the page."""
    entries = [tag("dt", text(name)) + tag("dd", text(glossary()[name]), id=f"term-{slug(name)}") for name in used]
    heading = tag("h2", "The words of this page", id="words-heading")
    return tag("section", heading, tag("dl", *entries), id="words", class_="words", aria_labelledby="words-heading")


def traits_of(lesson: Material) -> set[str]:
    """Which sentences this lesson says."""
    machine, accepted, config = lesson.machine, lesson.certificate.accepted, lesson.run.config
    return {
        "partial" if -1 in machine.outputs else "total",
        "accepts" if accepts(lesson) else "transduces",
        "constructed" if config.recipe in CONSTRUCTED else "trained",
        "regulargpt" if config.model.name == "regulargpt" else "other-tree",
        "one-to-one" if max(map(len, lesson.certificate.words)) == 1 else "shared",
        "as-it-is" if accepted.unquantised_claim else "quantised",
        *(["absent"] if absent(lesson) else []),
        *(["beside"] if lesson.rival else []),
    }


def accepts(lesson: Material) -> bool:
    """Whether the drawing shows the answer by a second circle."""
    return set(lesson.machine.output_names) == {"accept", "reject"}


def absent(lesson: Material) -> str:
    """The one kind that no node is of; empty if there is none, or more than one."""
    met = set(chain.from_iterable(lesson.certificate.words))
    missing = [word for word in lesson.monoid.words if word not in met]
    return (missing[0] or "ε") if len(missing) == 1 else ""


def values_of(lesson: Material) -> dict[str, str]:
    """What differs from language to language, as markup."""
    machine, certificate, network = lesson.machine, lesson.certificate, lesson.run.live.network
    assert network is not None, "`material` refuses a run without one"
    C = certificate.record["chunk_size"]
    example = np.array(list(islice(cycle(range(machine.n_symbols)), 4)))
    names = [name for i, name in enumerate(machine.output_names) if i in machine.outputs]
    label, seen = (lesson.rival.label, lesson.rival.train_len) if lesson.rival else ("", 0)
    return {
        "symbols": listed(machine.alphabet, "or"),
        "example": tag("code", text(machine.decode(example))),
        "outputs": listed(names, "or"),
        "states": f"{machine.n_states}",
        "kinds": f"{lesson.monoid.size}",
        "together": TOGETHER.get(C, f"in groups of {C}"),
        "levels": f"{depth(LONG, C)}",
        "chunk": f"{C}",
        "weights": f"{sum(tensor.size for tensor in network.weights.values()):,}",
        "size": f"{len(certificate.record['prototypes'][0])}",
        "places": f"{certificate.accepted.prototypes}",
        "absent": text(absent(lesson)),
        "signs": f"{machine.n_symbols}",
        "entries": f"{certificate.accepted.entries:,}",
        "rival_length": f"{seen}",
        "rival": TERM.sub(term, f"[[{label}]]") if label in glossary() else text(label),
    }


def listed(names: Iterable[str], last: str) -> str:
    """Names in a sentence, as code.

    >>> listed("012", "or")
    '<code>0</code>, <code>1</code> or <code>2</code>'
    """
    *most, end = (tag("code", text(name)) for name in names)
    return f"{', '.join(most)} {last} {end}" if most else end


def script_data(lesson: Material) -> dict[str, Any]:
    """JSON values for the scripts. A case is a window by offset, 0 what is absent, then its prototype."""
    machine, record = lesson.machine, lesson.certificate.record
    number = {word: i for i, word in enumerate(lesson.monoid.words)}
    elements = [[number[word] for word in words] for words in lesson.certificate.words]
    every = by_element([[i] for i in range(lesson.monoid.size)])
    rival = lesson.rival and {"name": lesson.rival.label, "live": live_data(lesson.rival.live)}
    return machine_data(machine, lesson.monoid) | {
        "table": lesson.monoid.table.tolist(),
        "colours": every,
        "network": {
            "chunk_size": record["chunk_size"],
            "aligned": lesson.run.config.model.aligned,
            "elements": elements,
            "answers": [None if answer is None else machine.output_names[answer] for answer in record["answers"]],
        },
        "leaves": list(map(list, zip(record["leaves"]["windows"], record["leaves"]["images"], strict=True))),
        "nodes": list(map(list, zip(record["nodes"]["windows"], record["nodes"]["images"], strict=True))),
        "label": label(lesson.run.config.model),
        "live": live_data(lesson.run.live),
        "rival": rival,
    }


def live_data(live: Live) -> dict[str, Any] | None:
    """A network for the scripts, without what only a report shows."""
    return replace(live, map=None, snapshots=Snapshots()).data()
