"""The section with the map of states, which the script draws."""

from __future__ import annotations

from string import Template

from regulargpt.classroom.document import file
from regulargpt.classroom.facts import code
from regulargpt.classroom.live.crowd import Crowd
from regulargpt.classroom.live.gathering import Live
from regulargpt.classroom.live.state_map import StateMap
from regulargpt.findings.markup import section, tag, text

WHAT = {
    "nodes": (
        "Each point is the state of a node of the typed word. Its colour is the true {element} of its sub-word. "
        "A wide ring is what the states are compared with. ✗ marks a point that is nearest to another element's ring. "
        "Both axes have one unit."
    ),
    "prefixes": (
        "Each point is the state from which the network answers to a prefix of the typed word. Its colour is the state "
        "of the automaton there. A wide ring is the mean over words of up to the training length. ✗ marks a wrong "
        "answer. Both axes have one unit."
    ),
}
CROWD = (
    "Points have a dark rim. The small pale dots behind them are states of other words, those that `regulargpt verify` "
    "clusters, coloured in the same way. An outline is a cluster that was found without colours; its line is broken "
    "where it does not match one class, all of it and nothing else."
)
LIT = " Play the word, or move the slider: the outline of {where} lights up where it matches"
MOVES = (
    ", and so does the arrow of the symbol read last. An arrow goes where a symbol moves a cluster that matches; ↺ "
    "names the symbols that leave it where it is"
)
READ = {"nodes": "the {element} of all that was read", "prefixes": "the automaton's state"}
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
    scored, legend = ([], []) if live.map.crowd is None else crowd(live.map, live.map.crowd, element)
    return section("map", heading, what, *scored, *training(live), picture, where, *legend, *numbers)


def crowd(drawn: StateMap, outlined: Crowd, element: str) -> tuple[list[str], list[str]]:
    """How well the clusters behind the points match, and what is drawn of them."""
    lit = LIT.format(where=READ[drawn.kind].format(element=element)) + MOVES * bool(outlined.kept) + "."
    what = CROWD + lit * any(outline.is_sure for outline in outlined.outlines)
    scored = tag("p", tag("strong", text(f"{outlined.sentence}.")), " ", text(outlined.said), data_part="match")
    return [scored], [tag("p", code(what))]


def training(live: Live) -> list[str]:
    """The slider over the steps whose weights were kept, or why there is none; nothing of a run that kept none."""
    if not live.snapshots.saved:
        return []
    sentence = text(live.snapshots.sentence())
    if not live.snapshots.steps:
        return [tag("p", sentence)]
    return [Template(file("training.html")).substitute(sentence=sentence)]


def vector_part() -> str:
    """Where the script shows the numbers of the chosen state, if they are requested."""
    return tag("details", tag("summary", "The state's numbers"), tag("div"), data_part="vector")
