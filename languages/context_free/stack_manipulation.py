"""Stack Manipulation: a stack, then commands; the stack that is left is requested, top first."""

from __future__ import annotations

import numpy as np

from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.words import Indices
from languages.drawn import EMPTY, DrawnTask
from languages.errors import LanguageError
from languages.sampling.walks import walks
from languages.specification import spec

BITS, POP, PUSH, END = ("0", "1"), "POP", ("PUSH0", "PUSH1"), "END"
SAMPLERS = ("published", "walks")


def stack_manipulation(sampler: str = "published") -> DrawnTask:
    """The stack that is left: bits, bottom first, then POP, PUSH0 and PUSH1; answered top first, then END.

    POP of the empty stack does nothing. There may be no command at all, a little more than the published words, of
    which only those of one symbol have none. `sampler`: "published", which pushes twice as often as it pops, or
    "walks", whose words favour commands of their own.

    LanguageError: another sampler.

    >>> task = stack_manipulation()
    >>> task.machine.answers("0 1 1 0 PUSH1 POP POP _ _ _ _", every=True).tolist()
    [-1, -1, -1, -1, -1, -1, -1, 1, 1, 0, 2]

    Source: Deletang et al. 2023, "Stack Manipulation".
    """
    if sampler not in SAMPLERS:
        raise LanguageError(f"stack-manipulation: sampler is {sampler!r:.80}; it is 'published' or 'walks'")
    machine = stack_machine()
    skip = (machine.n_symbols - 1,)

    def walked(random: np.random.Generator, length: int, count: int) -> Indices:
        return walks(machine, random, length, count, skip)

    return DrawnTask(
        name=spec("stack-manipulation", {"sampler": (sampler, "published")}),
        machine=machine,
        summary="the stack that is left after pushes and pops, top first",
        source="Deletang et al. 2023",
        examples=(("0 1 1 0 PUSH1 POP POP", "1 1 0 END"), ("1 1 0 POP POP POP", "END")),
        draw=published if sampler == "published" else walked,
        asked=lambda length: length + 1,
    )


def stack_machine() -> PushdownTransducer:
    """Of 10 states: before the word, behind a bit, behind a command, and behind an answer."""
    reading = ("start", "bit 0", "bit 1", "pushed 0", "pushed 1", "popped", "nothing popped")
    behind_bits, commanded = reading[:3], reading[1:]
    moves = [Move(q, a, f"bit {a}", push=a) for q in behind_bits for a in BITS]
    for q in commanded:
        moves += [Move(q, command, f"pushed {a}", push=a) for command, a in zip(PUSH, BITS, strict=True)]
        moves += [Move(q, POP, "popped", pop=True), Move(q, POP, "nothing popped", (None,))]
    for q in (*commanded, "out 0", "out 1"):
        moves += [Move(q, EMPTY, f"out {a}", (a,), pop=True) for a in BITS] + [Move(q, EMPTY, "end", (None,))]
    outputs: dict[str, str | None] = dict.fromkeys(reading) | {"out 0": "0", "out 1": "1", "end": END}
    return PushdownTransducer.from_outputs((*BITS, POP, *PUSH, EMPTY), "start", moves, outputs, (*BITS, END))


def published(random: np.random.Generator, length: int, count: int) -> Indices:
    """Words (count, length): 1..length-1 bits, then commands, all equally likely; a word of one symbol is one bit."""
    bits = random.integers(1, max(2, length), size=count)  # (count,) how many
    words = random.integers(len(BITS), size=(count, length), dtype=np.uint8)
    commands = random.integers(len(BITS), len(BITS) + 3, size=(count, length), dtype=np.uint8)
    return np.where(np.arange(length) < bits[:, None], words, commands)
