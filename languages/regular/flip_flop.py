"""Flip-flop: a memory of one bit that is written and kept."""

from languages.automata import Dfa, MooreMachine
from languages.errors import LanguageError
from languages.specification import spec
from languages.task import Task


def flip_flop(p_ignore: float = 0.8) -> Task:
    """The bit written last, after symbols 0 = write 0, 1 = write 1, - = ignore.

    Words begin with a write, so that every position has an answer; before any write there is none (-1).
    Each further symbol is - with probability `p_ignore` and otherwise a fair bit: the more is ignored, the
    further back is what counts. LanguageError: p_ignore outside [0, 1).

    >>> flip_flop().machine.answers("-1-0-", every=True).tolist()
    [-1, 1, 1, 0, 0]
    >>> from languages.randomness import rng
    >>> words = flip_flop(p_ignore=0.98).sample(rng(0, "example"), length=101, count=2000)
    >>> float((words[:, 1:] == 2).mean().round(2)), bool((words[:, 0] < 2).all())
    (0.98, True)

    Source: Liu et al. 2023, "Exposing attention glitches with flip-flop language modeling" (there p_ignore
    is 0.8, or 0.98 and 0.1 as harder tests), with reading left to the readout; the flip-flop semiautomaton
    of Liu et al. 2023, "Transformers learn shortcuts to automata".
    """
    if not 0.0 <= p_ignore < 1.0:
        raise LanguageError(f"flip-flop: p_ignore is {p_ignore}; it is a probability from 0.0, less than 1.0")
    p_write = (1.0 - p_ignore) / 2
    states = ("empty", "holds 0", "holds 1")
    delta = {state: {"0": "holds 0", "1": "holds 1", "-": state} for state in states}
    written = {"start": {"0": "written", "1": "written"}, "written": dict.fromkeys("01-", "written")}
    return Task(
        name=spec("flip-flop", {"p_ignore": (p_ignore, 0.8)}),
        machine=MooreMachine(states, ("0", "1", "-"), delta, "empty", (-1, 0, 1), ("0", "1")),
        summary="the bit written last: 0 and 1 write, - is ignored",
        source="Liu et al. 2023 (flip-flop language modeling)",
        examples=(("0", "0"), ("1--", "1"), ("1-0-", "0"), ("01-1", "1")),
        domain=Dfa.from_partial(tuple(written), "01-", written, "start", {"written"}),
        weights=(p_write, p_write, p_ignore),
    )
