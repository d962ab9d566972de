"""Reverse String: the word backwards, a symbol at each empty symbol."""

from languages.automata.pushdown import Move, PushdownTransducer
from languages.drawn import EMPTY, DrawnTask
from languages.errors import LanguageError
from languages.sampling.sampler import uniform_words
from languages.specification import spec


def reverse_string(letters: int = 2) -> DrawnTask:
    """The word backwards, over `letters` symbols 0, 1, ...: each symbol is pushed, and popped at an empty symbol.

    LanguageError: letters outside 2..10.

    >>> reverse_string().machine.answers("0010____", every=True).tolist()
    [-1, -1, -1, -1, 0, 1, 0, 0]

    Source: Deletang et al. 2023, "Reverse String".
    """
    if not 2 <= letters <= 10:
        raise LanguageError(f"reverse-string: letters is {letters}; it is a whole number, 2 to 10")
    symbols = [str(i) for i in range(letters)]
    states: dict[str, str | None] = (
        {"start": None} | {f"in {a}": None for a in symbols} | {f"out {a}": a for a in symbols}
    )
    moves = [Move(q, a, f"in {a}", push=a) for q in ("start", *(f"in {b}" for b in symbols)) for a in symbols]
    moves += [
        Move(q, EMPTY, f"out {a}", (a,), pop=True)
        for q in (f"{way} {b}" for way in ("in", "out") for b in symbols)
        for a in symbols
    ]
    return DrawnTask(
        name=spec("reverse-string", {"letters": (letters, 2)}),
        machine=PushdownTransducer.from_outputs((*symbols, EMPTY), "start", moves, states, symbols),
        summary="the word backwards, a symbol at a time",
        source="Deletang et al. 2023",
        examples=(("00110", "01100"), ("1", "1")),
        draw=lambda random, length, count: uniform_words(random, letters, length, count),
        asked=int,
    )
