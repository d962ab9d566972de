"""Two machines with stacks side by side, which read the same words: what both of them come to.

Their stacks are kept aligned by level. The lower part of both is one stack of pairs, a symbol of the first machine and
one of the second. What the higher stack has more, its *excess*, is kept in the control, oldest symbol first; the other
machine has none. While an excess has at most `lag` symbols, there are finitely many controls, (p, q, a, b): the states
of both machines and the excess of both, of which either is empty. They and the stack of pairs say exactly what both
machines hold, so that runs of the product are pairs of runs.

Height-synchronised automata (Caucal 2006) are the case where nothing is ever ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.heads import PUSH, Step
from regulargpt.certificate.checker.moves import POP, STAY
from regulargpt.certificate.checker.stack_machine import StackMachine, Top

Excess = tuple[int, ...]
Control = tuple[int, int, Excess, Excess]
Pair = tuple[int, int]


class FirstMachine(Protocol):
    """The first machine of the two."""

    initial: int

    def move(self, state: int, symbol: int, top: Top) -> tuple[int, int]:
        """The state that a symbol leads to, and POP, STAY or the stack symbol pushed. A pop at the bottom does
        nothing."""
        ...

    def check(self, state: int, right: StackMachine, its_state: int) -> None:
        """Raise Rejected unless the answer in a state is the one that the second machine has in its own."""
        ...

    def check_questions(self, state: int, top: Top, right: StackMachine, its_state: int, its_top: Top) -> None:
        """Raise Rejected unless this machine has moves at the symbols at which the second has, and no others."""
        ...


class CheckedStackProduct:
    """What happens to both machines, for each symbol that the second has a move for."""

    def __init__(self, first: FirstMachine, right: StackMachine, lag: int):
        self.first, self.right, self.lag = first, right, lag
        self.initial: Control = (first.initial, right.initial, (), ())

    def steps(self, control: Control, pair: Pair | None) -> Iterator[Step]:
        """All steps from a control with this pair on top, None at the bottom. Raises Rejected at a wrong answer, and
        where a stack gets too far ahead."""
        p, q, *excess = control
        tops = [own[-1] if own else pair and pair[i] for i, own in enumerate(excess)]
        self.first.check_questions(p, tops[0], self.right, q, tops[1])
        for a, to_q, action in self.right.moves(q, tops[1]):
            to_p, of_first = self.first.move(p, a, tops[0])
            self.first.check(to_p, self.right, to_q)
            after, done, pushed = acted(excess[0], excess[1], pair, (of_first, action))
            if (ahead := max(map(len, after))) > self.lag:
                raise Rejected(
                    f"one stack gets {ahead} symbols ahead of the other, in the automaton's state "
                    f"{self.right.states[to_q]!r:.40}; the certificate says at most {self.lag}"
                )
            yield (to_p, to_q, *after), done, pushed


def acted(first: Excess, second: Excess, pair: Pair | None, actions: Pair) -> tuple[tuple[Excess, Excess], int, object]:
    """What each machine has ahead after its action; what becomes of the stack of pairs; and the pair pushed.

    First they pop: the last of the machine's own excess. Without one the pair on top goes, and the other's half of it
    to the front of the other's excess. Without a pair it is at its bottom, and nothing happens. Then they push: if the
    other has an excess, the symbol is paired with the first of it, and the pair is pushed; else it goes to the end of
    the machine's own excess. Which machine comes first makes no difference.
    """
    excess, done, pushed = [list(first), list(second)], STAY, None
    for i in (0, 1):
        if actions[i] == POP:
            if excess[i]:
                excess[i].pop()
            elif pair is not None:
                # The other machine keeps its half of the pair, as the lowest symbol that it has ahead.
                excess[1 - i].insert(0, pair[1 - i])
                done = POP
    for i in (0, 1):
        if actions[i] >= 0:
            if excess[1 - i]:
                other = excess[1 - i].pop(0)
                pushed, done = ((actions[i], other), (other, actions[i]))[i], PUSH
            else:
                excess[i].append(actions[i])
    return (tuple(excess[0]), tuple(excess[1])), done, pushed
