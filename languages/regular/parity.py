"""Parity: is the number of ones even or odd?"""

from languages.automata import MooreMachine
from languages.errors import LanguageError
from languages.specification import spec
from languages.task import Task


def parity(p_one: float = 0.5) -> Task:
    """The number of ones in a word of bits, mod 2: class 0 is even, class 1 is odd.

    Every bit is 1 with probability `p_one`, independently (Table 6.2 of the thesis varies it); all words of
    the length are possible. LanguageError: p_one outside [0, 1].

    >>> parity().machine.answers("1101", every=True).tolist()
    [1, 0, 0, 1]
    >>> from languages.randomness import rng
    >>> float(parity(p_one=0.1).sample(rng(0, "example"), 500, 1000).mean().round(2))
    0.1

    Source: thesis, sections 6.1.1 and 6.4; Deletang et al. 2023, Parity Check.
    """
    if not 0.0 <= p_one <= 1.0:
        raise LanguageError(f"parity: p_one is {p_one}; it is a probability, 0.0 to 1.0")
    return Task(
        name=spec("parity", {"p_one": (p_one, 0.5)}),
        machine=MooreMachine(("even", "odd"), ("0", "1"), ((0, 1), (1, 0)), "even", (0, 1), ("even", "odd")),
        summary="the number of ones mod 2",
        source="thesis 6.4.1; Deletang et al. 2023 (Parity Check)",
        examples=(("0", "even"), ("1", "odd"), ("1101", "odd"), ("1010", "even")),
        weights=None if p_one == 0.5 else (1.0 - p_one, p_one),
    )
