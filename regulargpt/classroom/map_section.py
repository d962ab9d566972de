"""The section with the map of states, which the script draws."""

from __future__ import annotations

from string import Template

from regulargpt.classroom.document import file
from regulargpt.classroom.live.gathering import Live
from regulargpt.findings.markup import section, tag, text

WHAT = {
    "nodes": (
        "Each point is the state of a node of the typed word. Its colour is the true {element} of its sub-word. "
        "A ring is what the states are compared with. ✗ marks a point that is nearest to another element's ring. "
        "Both axes have one unit."
    ),
    "prefixes": (
        "Each point is the state from which the network answers to a prefix of the typed word. Its colour is the state "
        "of the automaton there. A ring is the mean over words of up to the training length. ✗ marks a wrong answer. "
        "Both axes have one unit."
    ),
}
NONE = "There is no map: this network has no state of a prefix that the page could show."


def map_section(live: Live, element: str) -> str:
    """The map of states, or why there is none; `element` is what elements are called."""
    heading = "The map of states"
    if live.map is None:
        return section("map", heading, tag("p", text(NONE)))
    picture = tag("div", class_="picture", data_part="map")
    where = tag("p", class_="detail", data_part="where")
    numbers = [vector_part()] if live.map.kind == "prefixes" else []
    what = tag("p", text(WHAT[live.map.kind].format(element=element)))
    return section("map", heading, what, *training(live), picture, where, *numbers)


def training(live: Live) -> list[str]:
    """The slider over the steps whose weights were kept, or why there is none; nothing of a run that kept none."""
    if not live.snapshots.saved:
        return []
    sentence = text(live.snapshots.sentence())
    if not live.snapshots.steps:
        return [tag("p", sentence)]
    return [Template(file("training.html")).substitute(sentence=sentence)]


def vector_part() -> str:
    """Where the script shows the numbers of the chosen state, if they are asked for."""
    return tag("details", tag("summary", "The state's numbers"), tag("div"), data_part="vector")
