"""JFLAP's files: finite automata, Moore and Mealy machines. What else JFLAP draws is refused by its name."""

from typing import Any
from xml.etree import ElementTree

from languages.automata import Dfa, MooreMachine
from languages.budget import MAX_TRANSITIONS, check
from languages.convert.reading import AS_WRITTEN, EMPTY_WORDS, LabelledArrow, Reading, Said, machine_of, named
from languages.errors import AutomatonError

Element = ElementTree.Element
READ = ("fa", "moore", "mealy")
OTHER_KINDS = {
    "pda": "a pushdown automaton",
    "turing": "a Turing machine",
    "grammar": "a grammar",
    "re": "a regular expression, which regex:EXPRESSION reads",
    "lsystem": "an L-system",
}
MAX_TAGS = 2**21


def from_jflap(text: str, name: str = "<text>", how: Reading = AS_WRITTEN) -> Dfa | MooreMachine:
    """The machine of a .jff file; `name` says in errors where it comes from.

    AutomatonError: not XML, a document type, another kind of machine, a transition that reads several symbols.
    """
    with named(name):
        return machine_of(_said(_root(text)), how)


def _root(text: str) -> Element:
    # Entities, which may multiply what they stand for, need a document type; JFLAP writes none.
    if "<!DOCTYPE" in text:
        raise AutomatonError("the file has a document type, which JFLAP does not write; take the line out")
    check(text.count("<"), MAX_TAGS, f"the file has {text.count('<'):,} tags")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise AutomatonError(f"not XML ({error})") from None


def _said(root: Element) -> Said:
    kind = (root.findtext("type") or "").strip()
    if root.tag != "structure" or kind not in READ:
        what = OTHER_KINDS.get(kind, f"no machine of JFLAP's (type {kind!r:.40})")
        raise AutomatonError(f"{what}; of JFLAP's files finite automata, Moore and Mealy machines are read")
    states = list(root.iter("state"))
    names = _names(states)
    arrows = [_arrow(element, kind, names) for element in root.iter("transition")]
    check(len(arrows), MAX_TRANSITIONS, f"there are {len(arrows):,} transitions")
    by_name = dict(zip(names.values(), states, strict=True))
    return Said(
        states=tuple(by_name),
        initial=[name for name, state in by_name.items() if state.find("initial") is not None],
        arrows=arrows,
        accepting={name for name, state in by_name.items() if kind == "fa" and state.find("final") is not None},
        outputs={name: _text(state, "output") or None for name, state in by_name.items()} if kind == "moore" else None,
    )


def _names(states: list[Element]) -> dict[str, str]:
    """The names of the states by their numbers; the numbers themselves where two are called the same."""
    numbers = [state.get("id", "") for state in states]
    if len(set(numbers)) < len(numbers) or "" in numbers:
        raise AutomatonError("two states have one id, or a state has none; save the file with JFLAP again")
    names = [(state.get("name") or "").strip() for state in states]
    are_distinct = len(set(names)) == len(names) and all(names)
    return dict(zip(numbers, names if are_distinct else numbers, strict=True))


def _text(element: Element, tag: str) -> str:
    """What stands in a tag; JFLAP ends lines with a return character, and a blank may be a symbol."""
    return (element.findtext(tag) or "").strip("\r\n\t")


def _arrow(element: Element, kind: str, names: dict[str, str]) -> LabelledArrow:
    ends = [_text(element, tag).strip() for tag in ("from", "to")]
    for end in ends:
        if end not in names:
            raise AutomatonError(f"a transition leads from or to state {end!r:.40}, which is not there")
    symbol = _text(element, "read")
    if len(symbol) > 1:
        raise AutomatonError(
            f"a transition reads {symbol!r:.80}, which to JFLAP is one symbol after the other; "
            "draw one transition for each symbol, of one character"
        )
    output: Any = None
    if kind == "mealy" and not (output := _text(element, "transout")):
        raise AutomatonError(
            f"a transition that reads {symbol!r} writes nothing; a Mealy machine writes an output for each"
        )
    return LabelledArrow(names[ends[0]], names[ends[1]], None if symbol in EMPTY_WORDS else symbol, output)
