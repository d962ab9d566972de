"""Sections that the pages of several kinds of run share: the automaton, and words that the network answers wrongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regulargpt.classroom import automaton
from regulargpt.classroom.live.wrong_words import WrongWords, span
from regulargpt.classroom.nested import Machine
from regulargpt.findings.markup import scrolling, section, tag, text

MOST_BUTTONS = 6  # wrong words that are offered at once


def machine_section(machine: Machine) -> str:
    """The automaton: drawn, the states it passes, and as a table."""
    table = scrolling("Transitions", automaton.table(machine))
    opened = "" if machine.n_states > automaton.MOST_LABELLED else None
    return section(
        "automaton",
        "The automaton",
        tag("div", automaton.drawing(machine), class_="scroll picture"),
        tag("ol", class_="path", tabindex=0, aria_label="States passed"),
        tag("details", tag("summary", "Transitions as a table"), table, open=opened),
    )


def wrong_words(errors: WrongWords | None, written: Callable[[Sequence[int]], str], proven: str) -> str:
    """A button for each wrong word that was found, or what was tried; `proven` is said where none was looked for."""
    if errors is None:
        return tag("p", text(proven), class_="wrong-words")
    if not errors.words:
        return tag("p", text(errors.none_found()), class_="wrong-words")
    buttons = [wrong_word(written(word), len(word)) for word in errors.words]
    first, rest = buttons[:MOST_BUTTONS], buttons[MOST_BUTTONS:]
    more = [tag("details", tag("summary", f"{len(rest)} more"), tag("div", *rest, class_="tools"))] if rest else []
    lead = tag("p", "The network is wrong on these words. Try one:")
    return tag("div", lead, tag("div", *first, class_="tools"), *more, class_="wrong-words")


def wrong_word(word: str, length: int) -> str:
    """A button that types a word."""
    shown = word if len(word) <= 10 else f"{word[:6]}…{word[-3:]}"
    return tag("button", tag("code", text(shown)), text(f" {span([length])}"), type="button", data_word=word)
