"""Which states a pushdown machine may be in, and with which symbol on top of the stack."""

from __future__ import annotations

from collections.abc import Iterable

from languages.automata.pushdown import NO_MOVE, POP, STAY, PushdownTransducer
from languages.budget import check

MAX_REACHED = 2**20  # states above a level of the stack

Level = tuple[int, int]  # the state right behind a push, and the top it leaves: 0 is the bottom, 1 + g stack symbol g


def reached(machine: PushdownTransducer, symbols: Iterable[int]) -> set[tuple[int, int]]:
    """The pairs (state, top) behind the non-empty words over `symbols`; exactly those.

    Top 0 is the bottom, 1 + g the stack symbol g. TooLarge where there are too many to go through.

    >>> from languages.context_free.reverse_string import reverse_string
    >>> sorted(reached(reverse_string().machine, (0, 1)))  # in 0 above 0, in 1 above 1
    [(1, 1), (2, 2)]

    Source: the summaries of Alur and Madhusudan 2004, for pushdown machines of any kind.
    """
    letters, start = tuple(symbols), (machine.initial_index, 0)
    seen, todo, pairs = {(start, start[0])}, [(start, start[0])], set[tuple[int, int]]()
    # Of a level: the levels it was pushed above, and the states in which its top is popped.
    below, left = dict[Level, set[Level]](), dict[Level, set[int]]()

    def reach(level: Level, state: int) -> None:
        pairs.add((state, level[1]))
        if (level, state) not in seen:
            seen.add((level, state))
            todo.append((level, state))
            check(len(seen), MAX_REACHED, f"what a machine of {machine.n_states:,} states may have on its stack")

    while todo:
        level, state = todo.pop()
        for symbol in letters:
            target, action = (int(of[state, symbol, level[1]]) for of in (machine.table, machine.actions))
            if target == NO_MOVE:
                continue
            if action == STAY:
                reach(level, target)
            elif action == POP:
                left.setdefault(level, set()).add(target)
                for under in tuple(below.get(level, ())):
                    reach(under, target)
            else:
                above = (target, 1 + action)
                below.setdefault(above, set()).add(level)
                reach(above, target)
                for back in tuple(left.get(above, ())):
                    reach(level, back)
    return pairs
