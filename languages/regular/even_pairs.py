"""Even Pairs: is the number of unequal neighbours even, that is, are the first and the last symbol equal?"""

from languages.automata import MooreMachine
from languages.task import Task

STATES = ("start", "0..0", "0..1", "1..0", "1..1")  # the first and the last symbol read


def even_pairs() -> Task:
    """The number of 01 and 10 in a word of bits, mod 2: class 0 is even (first = last), class 1 is odd.

    The thesis asks whether the number is even; class 1 here is "odd", as in the published code. A word of
    length 1 has no pairs and is in class 0. All words of a length are equally likely.

    >>> even_pairs().machine.answers("00110", every=True).tolist()
    [0, 0, 1, 1, 0]

    Source: thesis, section 6.4.1; Deletang et al. 2023, Even Pairs.
    """
    delta = {
        "start": {"0": "0..0", "1": "1..1"},
        **{f"{first}..{last}": {a: f"{first}..{a}" for a in "01"} for first in "01" for last in "01"},
    }
    return Task(
        name="even-pairs",
        machine=MooreMachine(STATES, ("0", "1"), delta, "start", (0, 0, 1, 1, 0), ("even", "odd")),
        summary="the number of unequal neighbours mod 2: whether the first and last symbols differ",
        source="thesis 6.4.1; Deletang et al. 2023 (Even Pairs)",
        examples=(("0", "even"), ("01", "odd"), ("00110", "even"), ("1000", "odd")),
    )
