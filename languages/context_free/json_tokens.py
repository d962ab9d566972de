"""JSON over tokens: is the word a value, as the grammar of JSON has it?"""

from __future__ import annotations

from languages.automata.explore import explored
from languages.context_free.nested import CLASSES, NestedTask
from languages.sampling.grammar import Variable
from languages.specification import spec

# What may come next in each state: inside an object (after {, a key, a colon, a value, a comma), a list, or outside.
AFTER_VALUE = {"colon": "member", "[": "element", "next element": "element", "outside": "done"}
MOVES = {
    ("{", "s"): "key",
    ("next key", "s"): "key",
    ("key", ":"): "colon",
    ("member", ","): "next key",
    ("element", ","): "next element",
}
CLOSES = {"}": ("{", "member"), "]": ("[", "element")}
WRONG = "wrong"


def json(depth: str = "any") -> NestedTask:
    """Is the word one JSON value? Tokens: { } [ ] , : and s, a string, n, any other value without brackets.

    >>> task = json()
    >>> task.machine.answers("{s:[n,s],s:{}}").item(), task.machine.answers("[n,]").item()
    (1, 0)

    Source: RFC 8259, section 2, over tokens.
    """

    def step(state: str, symbol: str, top: str | None) -> tuple[str, str | None] | None:
        after = AFTER_VALUE.get(state, WRONG)
        if symbol in "{[":
            # After a bracket that closes, its value stands where it was opened.
            return (symbol if after != WRONG else WRONG), after
        if symbol in "}]":
            return (top if top is not None and state in CLOSES[symbol] else WRONG), None
        return MOVES.get((state, symbol), after if symbol in "sn" else WRONG), None

    value, member, element = Variable("value"), Variable("member"), Variable("element")
    atoms = ("s", "n")
    return NestedTask(
        name=spec("json", {"depth": (depth, "any")}),
        machine=explored(
            "{}[],:sn", "outside", step, lambda state: CLASSES[bool(state == "done")], CLASSES, "{[", "}]"
        ),
        summary="membership: one JSON value, over tokens",
        source="RFC 8259, section 2",
        examples=(("{s:[n,s]}", "accept"), ("[n,]", "reject"), ("[s", "reject")),
        rules={
            "value": ((atoms,), ("{", "}"), ("[", "]"), ("{", member, "}"), ("[", element, "]")),
            "member": (("s", ":", value), ("s", ":", value, ",", member)),
            "element": ((value,), (value, ",", element)),
        },
        sampling="balanced",
        depth=depth,
    )
