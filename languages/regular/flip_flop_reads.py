"""Flip-flop language modeling: instructions that write, ignore and read, each with a bit."""

from languages.automata import Dfa, MooreMachine
from languages.errors import LanguageError
from languages.specification import spec
from languages.task import Task

SYMBOLS = ("w", "i", "r", "0", "1")


def flip_flop_reads(p_ignore: float = 0.8) -> Task:
    """The bit written last, asked at each read: words of instructions w, i, r, each with a bit behind it.

    A word begins with w and ends with r, whose bit is the answer; so lengths are odd, and a word of 511 symbols is one
    of 512 in the paper. The bit behind any other r is the right bit. Instructions between are i with probability
    `p_ignore`, else w or r; bits behind w and i are fair. LanguageError: p_ignore outside [0, 1).

    >>> task = flip_flop_reads()
    >>> task.machine.answers("w1i0r1w0r", every=True).tolist()
    [-1, -1, -1, -1, 1, -1, -1, -1, 0]
    >>> from languages.randomness import rng
    >>> words = flip_flop_reads(p_ignore=0.1).sample(rng(0, "example"), length=101, count=2000)[:, 2:-1:2]
    >>> [float((words == symbol).mean().round(2)) for symbol in range(3)]  # w, i, r
    [0.45, 0.1, 0.45]

    Source: Liu et al. 2023, "Exposing attention glitches with flip-flop language modeling": trained with p_ignore 0.8,
    tested also sparse with 0.98 and dense with 0.1; there a language model predicts the bit that is requested here.
    """
    if not 0.0 <= p_ignore < 1.0:
        raise LanguageError(f"flip-flop-reads: p_ignore is {p_ignore}; it is a probability from 0.0, less than 1.0")
    table = moves()
    answers = [("0", "1").index(state[-1]) if state.startswith("read") else -1 for state in table]
    p_other = (1.0 - p_ignore) / 2
    return Task(
        name=spec("flip-flop-reads", {"p_ignore": (p_ignore, 0.8)}),
        machine=MooreMachine(tuple(table), SYMBOLS, table, "start", tuple(answers), ("0", "1")),
        summary="the bit written last, at each read: w writes, i ignores, r reads",
        source="Liu et al. 2023 (flip-flop language modeling)",
        examples=(("w1r", "1"), ("w0i1r", "0"), ("w1w0r0i1r", "0")),
        domain=Dfa(tuple(table), SYMBOLS, table, "start", {"read 0", "read 1"}),
        # One bit may follow a read where two may follow others, each half as likely: so a read weighs twice.
        weights=(p_other, p_ignore, 2 * p_other, 0.5, 0.5),
    )


WRONG = "no word"


def moves() -> dict[str, dict[str, str]]:
    """The machine: what is held, and what instruction stands before the bit that comes.

    >>> moves()["read 1"]["1"], moves()["read 1"]["0"], moves()["ignore 0"]["1"]
    ('holds 1', 'no word', 'holds 0')
    """
    table = {"start": {"w": "write"}, "write": {"0": "holds 0", "1": "holds 1"}}
    for held in "01":
        table[f"holds {held}"] = {"w": "write", "i": f"ignore {held}", "r": f"read {held}"}
        table[f"ignore {held}"] = {"0": f"holds {held}", "1": f"holds {held}"}
        table[f"read {held}"] = {held: f"holds {held}"}
    table[WRONG] = {}
    return {state: {symbol: row.get(symbol, WRONG) for symbol in SYMBOLS} for state, row in table.items()}
