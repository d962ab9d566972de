"""A pushdown machine from a function: states and stack symbols are whatever the function says they are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast

from languages.automata.pushdown import Move, PushdownTransducer
from languages.budget import check

MAX_STEPS = 2**21  # calls of the function

Step = Callable[[Any, str, Any], "tuple[Any, Any] | None"]


def explored(
    alphabet: Sequence[str],
    start: Hashable,
    step: Step,
    answer: Callable[[Any], str | None],
    output_names: Sequence[str],
    calls: str | Sequence[str],
    returns: str | Sequence[str],
) -> PushdownTransducer:
    """The machine whose moves are `step(state, symbol, top)`: the next state, or None where there is no move.

    `top` is the bottom, None, or what a call pushed. At a call `step` gives the next state and what is pushed, at
    another symbol the next state and None. States and stack symbols are of any kind; `name` says how they are written.

    >>> def step(depth, symbol, top):
    ...     return ("open", "(") if symbol == "(" else None if top is None else ("open", None)
    >>> explored("()", "start", step, str, ("start", "open"), "(", ")").states
    ('start', 'open')
    """
    names: dict[Hashable, str] = {start: name(start)}
    stack: dict[Hashable, str] = {}
    moves: dict[tuple[Hashable, str, Any], tuple[Any, Any]] = {}
    tried: dict[tuple[Hashable, str], int] = {}  # how many tops
    finished: dict[Hashable, int] = {}  # of a state, how many stack symbols it has been tried with, or more
    calling, returning, count, goes_on = frozenset(calls), frozenset(returns), 0, True
    # Each new stack symbol is another top for every return in every state, so it is gone round until nothing is new.
    while goes_on:
        goes_on = False
        for state in list(names):
            if finished.get(state) == len(stack):
                continue
            goes_on, finished[state] = True, len(stack)
            for symbol in alphabet:
                tops: list[Any] = [None, *stack] if symbol in returning else [None]
                new = tops[tried.get((state, symbol), 0) :]
                tried[state, symbol] = len(tops)
                count += len(new)
                check(count, MAX_STEPS, f"a machine of {len(names):,} states and {len(stack):,} stack symbols")
                for top in new:
                    if (result := step(state, symbol, top)) is None:
                        continue
                    moves[state, symbol, top] = result
                    if symbol in calling:
                        stack.setdefault(result[1], name(result[1]))
                    if result[0] not in names:
                        names[result[0]] = name(result[0])

    def written_top(top: Any) -> str | None:
        return None if top is None else stack[top]

    written = [
        Move(names[state], symbol, names[target], push=stack[pushed])
        if symbol in calling
        else Move(names[state], symbol, names[target], (written_top(top),) if symbol in returning else (),
                  pop=symbol in returning and top is not None)
        for (state, symbol, top), (target, pushed) in moves.items()
    ]  # fmt: skip
    outputs = {text: answer(state) for state, text in names.items()}
    return PushdownTransducer.from_outputs(alphabet, names[start], written, outputs, output_names)


def name(thing: Hashable) -> str:
    """How a state or stack symbol is written.

    >>> name("open"), name(("first", 3, "+")), name(("top", ()))
    ('open', 'first 3 +', 'top')
    """
    if not isinstance(thing, tuple):
        return str(thing)
    return " ".join(filter(None, map(name, cast("tuple[Hashable, ...]", thing))))
