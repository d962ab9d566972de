"""Three visibly pushdown languages of our own and twenty drawn at random, as files that `pushdown:FILE` reads.

    python -m experiments.nested.machines

writes `experiments/nested/machines/`. They were fixed before any of them was learned.

document   a document type: what a `ul`, `dl` and `li` may contain, in which order, is a regular language of siblings
counted    brackets of two kinds, matched; directly inside ( ) an even number of x, inside [ ] one that 3 divides
kleene     the value of a formula of three-valued logic, (and F U ...), (or ...), (not ...): true, false or unknown

A random machine is a function of its number: 2 to 4 states, 2 stack symbols, calls ( and [, returns ) and ], internal
symbols a and b. Where each move leads is uniform, also where a return closes nothing; so is what calls push, drawn
again until both symbols are; each state accepts with probability 1/2. Of the numbers from 0 on the first twenty are
kept of which `why_skipped` says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, product
from pathlib import Path
from typing import Any

from languages.answers import CLASSES
from languages.automata.algebra import NestedAlgebra
from languages.automata.explore import explored
from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.convert.pushdown import to_json
from languages.randomness import rng
from languages.sampling.sampler import uniform_words
from regulargpt.storage.atomic import make_folder, write_text

COUNT = 20
CALLS, RETURNS, INTERNALS, STACK = "([", ")]", "ab", ("g", "h")
LARGEST = 300
"""Elements of the largest minimal algebra."""
LENGTHS, WORDS, LEAST = range(10, 41), 32, 0.2
"""Lengths at which uniform words are answered, how many of each, and the least share of either answer."""
FOLDER = "experiments/nested/machines"
"""As seen from the clone: a run's name and config have it, and should be the same on every machine."""


def document() -> PushdownTransducer:
    """A document: one `ul` or `dl`.

    A `ul` contains one `li` or more; a `dl` pairs of a term `dt` and one `dd` or more. An `li` contains text, then
    perhaps one `ul` or `dl`. Terms and their descriptions are single symbols.

    >>> machine = document()
    >>> machine.answers("<ul> <li> t </li> <li> t <dl> dt dd dd </dl> </li> </ul>").item()
    1
    >>> machine.answers("<ul> </ul>").item(), machine.answers("<dl> dt dt dd </dl>").item()
    (0, 0)
    """
    # The state says what has been read of the siblings; a call pushes the state that its element leads to.
    moves = {
        ("<li>", "t"): "text",
        ("<dl>", "dt"): "term",
        ("term", "dd"): "described",
        ("described", "dd"): "described",
        ("described", "dt"): "term",
    }
    opens = {
        **{("start", tag): "end" for tag in ("<ul>", "<dl>")},
        **{("text", tag): "listed" for tag in ("<ul>", "<dl>")},
        **{(state, "<li>"): "items" for state in ("<ul>", "items")},
    }
    closes = {"</ul>": ("items",), "</dl>": ("described",), "</li>": ("text", "listed")}
    tags = ("<ul>", "<dl>", "<li>")

    def step(state: str, symbol: str, top: Any) -> tuple[Any, Any] | None:
        if symbol in tags:
            after = opens.get((state, symbol), "wrong")
            return ("wrong" if after == "wrong" else symbol), after
        if symbol in closes:
            return (top if top is not None and state in closes[symbol] else "wrong"), None
        return moves.get((state, symbol), "wrong"), None

    return explored(
        [*tags, *closes, "t", "dt", "dd"],
        "start",
        step,
        lambda state: CLASSES[bool(state == "end")],
        CLASSES,
        tags,
        list(closes),
    )


def counted() -> PushdownTransducer:
    """Matched brackets; directly inside ( ) the number of x is even, directly inside [ ] a multiple of 3; y is free.

    >>> machine = counted()
    >>> machine.answers("x(x[xxx]x)y").item(), machine.answers("(x[x])").item(), machine.answers("(]").item()
    (1, 0, 0)
    """
    modulus = {"(": 2, "[": 3, "": 1}

    def step(state: Any, symbol: str, top: Any) -> tuple[Any, Any] | None:
        if state == "wrong":
            return "wrong", ("wrong" if symbol in CALLS else None)
        kind, x = state
        if symbol in CALLS:
            return (symbol, 0), state
        if symbol in RETURNS:
            closes = kind == CALLS[RETURNS.index(symbol)] and x == 0 and top not in (None, "wrong")
            return (top if closes else "wrong"), None
        return (kind, (x + (symbol == "x")) % modulus[kind]), None

    return explored(
        [*CALLS, *RETURNS, "x", "y"],
        ("", 0),
        step,
        lambda state: CLASSES[bool(state == ("", 0))],
        CLASSES,
        list(CALLS),
        list(RETURNS),
    )


def kleene() -> PushdownTransducer:
    """The value of a formula of Kleene's three-valued logic, as SQL has it: F, U (unknown) or T.

    >>> machine = kleene()
    >>> [machine.output_names[machine.answers(word)] for word in ("(and T (not U ) )", "(or F U T )")]
    ['U', 'T']

    Source: Kleene 1938, On notation for ordinal numbers; ISO/IEC 9075 (SQL).
    """
    values = "FUT"
    calls = ("(and", "(or", "(not")

    def there(expecting: tuple[Any, ...], value: int) -> Any:
        operation, *rest = expecting
        if operation == "value":
            return "answer", value
        if operation == "(not":
            return None if rest else (operation, 2 - value)
        return operation, (min if operation == "(and" else max)([value, *rest])

    def step(state: Any, symbol: str, top: Any) -> tuple[Any, Any] | None:
        if state[0] == "answer":
            return None
        if symbol in calls:
            return (symbol,), state
        if symbol == ")":
            then = there(top, state[1]) if top is not None and len(state) == 2 else None
        else:
            then = there(state, values.index(symbol))
        return None if then is None else (then, None)

    return explored(
        [*values, *calls, ")"],
        ("value",),
        step,
        lambda state: values[state[1]] if state[0] == "answer" else None,
        values,
        calls,
        ")",
    )


OWN = {"document": document, "counted": counted, "kleene": kleene}


def random_machine(number: int) -> PushdownTransducer:
    """The machine with this number.

    >>> machine = random_machine(3)
    >>> machine == random_machine(3), sorted(machine.stack)
    (True, ['g', 'h'])
    """
    random = rng(number, "nested machine")
    states = [f"q{i}" for i in range(int(random.integers(2, 5)))]

    def drawn(names: Any) -> str:
        return str(names[int(random.integers(len(names)))])

    moves = [Move(q, a, drawn(states)) for q, a in product(states, INTERNALS)]
    pushed: list[str] = []
    while set(pushed) != set(STACK):
        pushed = [drawn(STACK) for _ in product(states, CALLS)]
    moves += [Move(q, a, drawn(states), push=g) for (q, a), g in zip(product(states, CALLS), pushed, strict=True)]
    for q, b, top in product(states, RETURNS, (None, *STACK)):
        moves.append(Move(q, b, drawn(states), (top,), pop=top is not None))
    outputs = {q: CLASSES[int(random.integers(2))] for q in states}
    return PushdownTransducer.from_outputs((*CALLS, *RETURNS, *INTERNALS), states[0], moves, outputs, CLASSES)


def why_skipped(number: int) -> str:
    """Why the machine with this number is no task; nothing if it is a task."""
    machine = random_machine(number)
    words = (uniform_words(rng(number, "shares", T), machine.n_symbols, T, WORDS) for T in LENGTHS)
    accepted = [int(machine.answers(some).sum()) for some in words]
    share = sum(accepted) / (WORDS * len(LENGTHS))
    if not LEAST <= share <= 1 - LEAST:
        return f"it accepts {100 * share:.0f} % of the words of {LENGTHS[0]} to {LENGTHS[-1]} symbols"
    if not is_deep(machine):
        return "no answer changes if returns take one stack symbol for the other"
    size = NestedAlgebra.from_machine(VisiblyPushdown.from_machine(machine)).minimal().size
    return f"its algebra has {size} elements" if size > LARGEST else ""


def is_deep(machine: PushdownTransducer) -> bool:
    """Whether some answer changes if returns take one stack symbol for the other: else a bracket needs no partner."""
    other = {"g": "h", "h": "g"}
    swapped = [
        Move(m.source, m.read, m.target, tuple(other.get(t, t) if t else t for t in m.tops), m.push, m.pop)
        for m in machine.moves
    ]
    outputs = {q: machine.output_names[i] for q, i in zip(machine.states, machine.outputs, strict=True)}
    blind = PushdownTransducer.from_outputs(machine.alphabet, machine.initial, swapped, outputs, CLASSES)
    return VisiblyPushdown.from_machine(machine).counterexample(VisiblyPushdown.from_machine(blind)) is not None


def random_numbers() -> list[int]:
    """The numbers of the machines in the table."""
    return [number for number, why in tried() if not why]


def tried() -> Iterator[tuple[int, str]]:
    """The numbers from 0 on until twenty are kept, and why a machine is skipped."""
    kept = 0
    for number in count():
        why = why_skipped(number)
        yield number, why
        if (kept := kept + (not why)) == COUNT:
            return


def language(name: str) -> str:
    """The name of the language of a file.

    >>> language("kleene")
    'pushdown:experiments/nested/machines/kleene.json'
    """
    return f"pushdown:{FOLDER}/{name}.json"


def write(folder: Path) -> None:
    """Write all machines, and which numbers were skipped."""
    make_folder(folder)
    for name, made in OWN.items():
        write_text(folder / f"{name}.json", to_json(made()))
    lines = ["number,kept,why not"]
    for number, why in tried():
        lines.append(f"{number},{'no' if why else 'yes'},{why}")
        if not why:
            write_text(folder / f"random-{number}.json", to_json(random_machine(number)))
    write_text(folder / "tried.csv", "\n".join(lines) + "\n")


if __name__ == "__main__":
    write(Path(__file__).parent / "machines")
