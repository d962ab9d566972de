"""Balanced brackets of K kinds, nested as deep as one likes; XML's tags; a word and its mirror image."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from languages.automata.explore import explored
from languages.context_free.nested import CLASSES, NestedTask
from languages.errors import LanguageError
from languages.sampling.grammar import Variable
from languages.specification import spec

PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"))
MOST_KINDS = 32
WRONG = "wrong"


def names_of_pairs(kinds: int) -> tuple[tuple[str, str], ...]:
    """The brackets of K kinds: ( [ { <, or numbered ones where there are more.

    >>> names_of_pairs(2)
    (('(', ')'), ('[', ']'))
    """
    return PAIRS[:kinds] if kinds <= len(PAIRS) else tuple((f"({i}", f"{i})") for i in range(1, kinds + 1))


def check_kinds(family: str, kinds: int, what: str) -> None:
    if not 1 <= kinds <= MOST_KINDS:
        raise LanguageError(f"{family}-{kinds}: {what}, 1 to {MOST_KINDS}")


def brackets(kinds: int, bound: int = 0, depth: str = "any") -> NestedTask:
    """Is the word balanced, each bracket closed by its own kind? 1 is "accept".

    `bound` is the greatest depth allowed, 0 for none; with one kind it is D_bound of `dyck-N`. Members of a length are
    all equally likely, or with `depth="every"` drawn by depth.

    LanguageError: K outside 1..32, a bound that is negative or above 1,000.

    >>> brackets(2).labels([[0, 2, 3, 1], [0, 2, 1, 3]]).tolist()  # ( [ ] ) and ( [ ) ]
    [1, 0]

    Source: the Dyck language over K pairs, Chomsky and Schützenberger 1963.
    """
    check_kinds("brackets", kinds, "the number of kinds")
    if not 0 <= bound <= 1000:
        raise LanguageError(f"brackets-{kinds}: bound is {bound}; it is a depth from 1 to 1000, or 0 for none")
    pairs = names_of_pairs(kinds)
    kind = {symbol: i for i, pair in enumerate(pairs) for symbol in pair}
    opening = [pair[0] for pair in pairs]
    # The state is the depth, if it is bounded; else only whether a bracket is open, and the stack says where its end
    # leads back to.
    depths = [str(d) for d in range(bound + 1)] if bound else ["balanced", "open"]
    deeper = dict(pairwise(depths)) if bound else dict.fromkeys(depths, "open")
    outer = {after: before for before, after in deeper.items()}

    def step(state: str, symbol: str, top: Any) -> tuple[Any, Any] | None:
        if symbol in opening:
            return deeper.get(state, WRONG), (kind[symbol] if bound else (kind[symbol], state))
        if top is None or state == WRONG or kind[symbol] != (top if bound else top[0]):
            return WRONG, None
        return (outer.get(state, WRONG) if bound else top[1]), None

    machine = explored(
        [symbol for pair in pairs for symbol in pair],
        depths[0],
        step,
        lambda state: CLASSES[bool(state == depths[0])],
        CLASSES,
        opening,
        [pair[1] for pair in pairs],
    )
    S = [Variable(f"S{i}") for i in range(bound + 1)]
    rules = {
        S[i].name: ((), *((a, S[max(i - 1, 0)], b, S[i]) for a, b in pairs)) if i or not bound else ((),)
        for i in reversed(range(bound + 1))
    }
    first, last = pairs[0], pairs[-1]
    both = first[0] + last[0] + last[1] + first[1] if kinds <= len(PAIRS) else " ".join((*first, *last))
    return NestedTask(
        name=spec(f"brackets-{kinds}", {"bound": (bound, 0), "depth": (depth, "any")}),
        machine=machine,
        summary=f"membership: balanced brackets of {kinds} kinds, "
        + (f"at most {bound} deep" if bound else "of any depth"),
        source="Chomsky and Schützenberger 1963; Suzgun et al. 2019",
        examples=((both, "accept"), (first[0], "reject"), (first[1], "reject")) if bound != 1 else (),
        rules=rules,
        sampling="balanced",
        depth=depth,
    )


def xml(kinds: int, depth: str = "any") -> NestedTask:
    """Is the word one element, its tags of K names closed by their own name, with text `t` inside elements only?

    LanguageError: K outside 1..32.

    >>> task = xml(2)
    >>> task.machine.answers("<a> t <b> </b> </a>").item(), task.machine.answers("<a> </a> <b> </b>").item()
    (1, 0)

    Source: Extensible Markup Language 1.0, well-formedness; over tokens.
    """
    check_kinds("xml", kinds, "the number of names of tags")
    names = [chr(ord("a") + i) if i < 26 else f"a{i}" for i in range(kinds)]
    kind = {f"<{name}>": name for name in names} | {f"</{name}>": name for name in names}
    opening = [f"<{name}>" for name in names]

    def step(state: str, symbol: str, top: Any) -> tuple[Any, Any] | None:
        if symbol in opening:
            inside = "inside" if state in ("start", "inside") else WRONG
            return inside, (kind[symbol], "end" if state == "start" else state)
        if symbol == "t":
            return (state if state == "inside" else WRONG), None
        if top is None or state == WRONG or top[0] != kind[symbol]:
            return WRONG, None
        return top[1], None

    alphabet = [tag for name in names for tag in (f"<{name}>", f"</{name}>")] + ["t"]
    machine = explored(
        alphabet, "start", step, lambda state: CLASSES[bool(state == "end")], CLASSES, opening,
        [f"</{name}>" for name in names],
    )  # fmt: skip
    content = Variable("content")
    tags = tuple((f"<{name}>", f"</{name}>") for name in names)
    rules = {
        "element": tuple((a, content, b) for a, b in tags),
        "content": ((), ("t", content), *((a, content, b, content) for a, b in tags)),
    }
    return NestedTask(
        name=spec(f"xml-{kinds}", {"depth": (depth, "any")}),
        machine=machine,
        summary=f"membership: one element, tags of {kinds} names matched, text inside elements",
        source="Extensible Markup Language 1.0, over tokens",
        examples=(("<a> t </a>", "accept"), ("<a> </a> t", "reject"), ("<a>", "reject")),
        rules=rules,
        sampling="balanced",
        depth=depth,
    )


def reversal(kinds: int) -> NestedTask:
    """Is the word w over K symbols a, b, ... and then its mirror image over A, B, ...?

    LanguageError: K outside 1..26.

    >>> reversal(2).machine.answers("abBA").item(), reversal(2).machine.answers("abAB").item()
    (1, 0)

    Source: the visible form of the language w w^R, Alur and Madhusudan 2004.
    """
    if not 1 <= kinds <= 26:
        raise LanguageError(f"reversal-{kinds}: the number of symbols, 1 to 26")
    first = [chr(ord("a") + i) for i in range(kinds)]
    second = [letter.upper() for letter in first]

    def step(state: str, symbol: str, top: Any) -> tuple[Any, Any] | None:
        if symbol in first:
            grows = state in ("empty", "word")
            return ("word" if grows else WRONG), (symbol, state == "empty")
        if top is None or state in (WRONG, "empty", "done") or top[0] != symbol.lower():
            return WRONG, None
        return ("done" if top[1] else "mirror"), None

    machine = explored(
        [*first, *second], "empty", step, lambda state: CLASSES[state in ("empty", "done")], CLASSES, first, second
    )
    S = Variable("S")
    return NestedTask(
        name=f"reversal-{kinds}",
        machine=machine,
        summary=f"membership: a word over {kinds} small letters, then its mirror image in capitals",
        source="the language w w^R with visible halves, Alur and Madhusudan 2004",
        examples=(("aaAA", "accept"), ("aAaA", "reject"), ("aaA", "reject")),
        rules={"S": ((), *((a, S, b) for a, b in zip(first, second, strict=True)))},
        sampling="balanced",
    )
