"""The workbench in one HTML file: seven captions, and the panels that they light."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from regulargpt.classroom.document import document
from regulargpt.classroom.lesson.page import words
from regulargpt.classroom.lesson.wording import LessonStep, captions, said, terms
from regulargpt.classroom.live.twins import PageScript, gathered, resolved
from regulargpt.classroom.workbench.lean import HERE, lean
from regulargpt.findings.markup import tag, text
from regulargpt.storage.atomic import write_text

PANELS = {
    "editor": "The machine",
    "tree": "The tree over a word",
    "lanes": "Three networks",
    "map": "The map of nodes",
    "wall": "The wall of cases",
    "break": "Hammer",
}
# What runs in the page and in its workers; and what draws.
CALCULATIONS = (
    *("worker", "searcher", "asking", "saving"),
    *("machine_json", "expression", "starters", "wall", "view", "map_words"),
)
START = "start"
SHARED = (
    *("word.js", "nodes.js", "tree.js", "parting.js", "vector.js", "player.js"),
    *(f"lesson/{name}.js" for name in ("terms", "field", "chips", "cases")),
)


def write(out: Path, machine: str | None = None) -> int:
    """Write the page; its size in bytes. StorageError if the disk refuses."""
    page = render(machine)
    write_text(out, page)
    return len(page.encode())


def render(machine: str | None = None) -> str:
    """The page as text. It begins with a machine, as JSON text; without one with an even number of a."""
    calculations = gathered(map(script, CALCULATIONS))
    panels = {name: source for name, source in gathered([script(START)]).items() if name not in calculations}
    pure = "\n".join(["const modules = {};", *calculations.values()])
    assert "</script" not in pure, "nothing in it ends its element"
    page = document(
        title="Draw it, train it, break it, prove it",
        heading="Right on every word?",
        skip=("draw", "To the first caption"),
        body=body() + f'<script id="calculations">\n{pure}\n</script>',
        data={"machine": machine},
        styles=("page.css", "states.css", "lesson/lesson.css", *styles()),
        scripts=SHARED,
        after="\n".join(panels.values()),
        has_workers=True,
        has_figures=False,
    )
    return lean(page)


def script(name: str) -> PageScript:
    """A script of the workbench."""
    return PageScript(*resolved(f"{HERE}/{name}.js", "", Path()), name)


def styles() -> list[str]:
    """What stands beside the panels: how they look."""
    beside = resources.files("regulargpt.classroom.workbench").iterdir()
    return sorted(f"workbench/{place.name}" for place in beside if place.name.endswith(".css"))


def body() -> str:
    """The opening, the way through the captions, each with its panel, and the words."""
    wording, shown = captions(), set[str]()
    opening = tag("p", " ".join(map(said, wording.opening)), class_="opening")
    without = tag("noscript", tag("p", "The workbench needs JavaScript: everything in it is calculated in the page."))
    parts = list[str]()
    for i, step in enumerate(wording.steps, 1):
        parts.append(caption(i, step))
        if step.panel not in shown:
            shown.add(step.panel)
            parts.append(panel(step.panel))
    used = terms([sentence for step in wording.steps for sentence in (*step.sentences, step.do, step.take)])
    lead = tag("section", opening, without, class_="lead", aria_label="Opening")
    return lead + way(wording.steps) + tag("main", *parts, class_="bench") + tag("aside", words(used), class_="lead")


def way(steps: tuple[LessonStep, ...]) -> str:
    """The way through the captions."""
    links = [
        tag("li", tag("a", tag("b", str(i)), tag("span", text(f" {step.label}")), href=f"#step={i}"))
        for i, step in enumerate(steps, 1)
    ]
    return tag("nav", tag("ol", *links), class_="way", aria_label="The seven captions")


def caption(i: int, step: LessonStep) -> str:
    """What is said of a panel, the thing to do with it, and the sentence to take away."""
    heading = tag(
        "h2", tag("span", str(i), class_="number"), text(step.heading), id=f"{step.name}-heading", tabindex=-1
    )
    take = tag("p", tag("b", "To take away: "), said(step.take), class_="takeaway")
    says = tag("div", " ".join([*(tag("p", said(sentence)) for sentence in step.sentences), take]), class_="says")
    do = tag("p", tag("b", "To do: "), said(step.do), class_="do")
    return tag(
        "section",
        tag("div", heading, says, class_="text"),
        tag("div", do, class_="act"),
        id=step.name,
        class_="guide",
        data_panel=step.panel,
        aria_labelledby=f"{step.name}-heading",
    )


def panel(name: str) -> str:
    """The place of a panel, which its script fills."""
    heading = tag("h2", text(PANELS[name]), id=f"panel-{name}")
    return tag("section", heading, tag("div", class_="place"), class_=f"{name} panel", aria_labelledby=f"panel-{name}")
