"""All that a machine with a stack comes to: its heads, pairs of what its control holds and what lies on top.

Levels stand for stacks. A level is opened by a push: it is of all that happens while the symbol pushed lies on top, or
below what is pushed later. What happens on a level depends on the control and the symbol at its opening alone, so that
levels with the same are one, an *entry*, and there are finitely many if controls are. A pop leaves the level; the
control that it leaves with, an *exit*, goes on at every level where the entry was opened.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import Any

from regulargpt.certificate.checker.files import Rejected
from regulargpt.certificate.checker.moves import POP, STAY

PUSH = 0
Step = tuple[Any, int, Any]  # the new control; POP, STAY or PUSH; and the symbol pushed
Steps = Callable[[Any, Any], Iterable[Step]]  # what may happen, by control and the symbol on top, None at the bottom
MAX_HEADS = 1 << 22
MAX_LINKS = 1 << 22  # exits and callers of entries
MAX_FOLLOWED = 1 << 26  # steps, and times that an exit comes to a caller
MAX_WAYS = 1 << 20


class StackHeads:
    """The heads that are reached from a control at the bottom. Entry 0 is the bottom's level, which nothing leaves.

    `levels[e]` are the controls on the level of entry e, `symbols[e]` what lies on top there, `exits[e]` the controls
    it is left with. Raises Rejected for more than `most`.
    """

    def __init__(self, initial: Hashable, steps: Steps, most: int = MAX_HEADS):
        self.initial, self.steps, self.most = initial, steps, most
        self.count = self.followed = self.links = 0
        self.symbols: list[Any] = []
        self.levels: list[set[Any]] = []
        self.exits: list[set[Any]] = []
        self._callers: list[set[int]] = []
        self._entries: dict[Any, int] = {}
        self._work: list[tuple[int, Any]] = []
        self.entry(initial, None)
        while self._work:
            self._go_on(*self._work.pop())

    def entry(self, control: Any, symbol: Any) -> int:
        """The number of the entry that a symbol opens when it is pushed, with the control behind that step."""
        number = self._entries.setdefault((control, symbol), len(self.symbols))
        if number == len(self.symbols):
            self.symbols.append(symbol)
            for of_entries in (self.levels, self.exits, self._callers):
                of_entries.append(set())
            self._add(number, control)
        return number

    def _add(self, e: int, control: Any) -> None:
        """A control comes to a level, perhaps once more."""
        self._follow()
        if control not in self.levels[e]:
            self.levels[e].add(control)
            self.count += 1
            if self.count > self.most:
                raise Rejected(f"more than {self.most:,} pairs of what the machines hold and what lies on top")
            self._work.append((e, control))

    def _follow(self) -> None:
        self.followed += 1
        if self.followed > MAX_FOLLOWED:
            raise Rejected(f"more than {MAX_FOLLOWED:,} steps of the machines: too many to follow")

    def _is_new(self, link: Any, links: set[Any]) -> bool:
        """Whether an entry had no such exit or caller; it has from now on."""
        if link in links:
            return False
        links.add(link)
        self.links += 1
        if self.links > MAX_LINKS:
            raise Rejected(f"the levels of the stack have more than {MAX_LINKS:,} exits and callers")
        return True

    def _go_on(self, e: int, control: Any) -> None:
        """All steps of a control on a level."""
        for to, action, symbol in self.steps(control, self.symbols[e]):
            self._follow()
            if action == STAY:
                self._add(e, to)
            elif action == PUSH:
                inner = self.entry(to, symbol)
                if self._is_new(e, self._callers[inner]):
                    for left in self.exits[inner]:
                        self._add(e, left)
            elif self._is_new(to, self.exits[e]):
                for caller in self._callers[e]:
                    self._add(caller, to)


Goal = tuple[int, Any, Any]  # an entry, a control on its level, and the exit that is to come; ANSWER: an answer instead
ANSWER = "an answer"


def is_endless(heads: StackHeads, answered: Callable[[Any], bool]) -> bool:
    """Whether infinitely many words lead to a control with an answer. No control is the text ANSWER.

    A goal (e, c, x) stands for the words that lead from c on the level of e to the exit x, or to an answer on this
    level or above it. A way to it is a step and the goals that remain. Each step reads a symbol. So words to a goal
    are as long as one likes if and only if some goal that counts comes back among those that remain of it.
    """
    ways: dict[Goal, list[list[Goal]]] = {}
    root: Goal = (0, heads.initial, ANSWER)
    work: list[Goal] = [root]
    n_ways = 0
    while work:
        if (goal := work.pop()) not in ways:
            ways[goal] = list(islice(ways_to(heads, goal, answered), MAX_WAYS + 1 - n_ways))
            n_ways += 1 + len(ways[goal])
            if n_ways > MAX_WAYS:
                raise Rejected("whether infinitely many words have an answer takes too long to tell")
            work += [part for way in ways[goal] for part in way]
    possible = possible_goals(ways)
    graph: dict[Goal, set[Goal]] = {}
    work = [root] if root in possible else []
    while work:
        if (goal := work.pop()) not in graph:
            graph[goal] = {part for way in ways[goal] if possible.issuperset(way) for part in way}
            work.extend(graph[goal])
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return True
    return False


def ways_to(heads: StackHeads, goal: Goal, answered: Callable[[Any], bool]) -> Iterator[list[Goal]]:
    """The ways to a goal: of each, the goals that remain."""
    e, control, wanted = goal
    if wanted == ANSWER and answered(control):
        yield []
    for to, action, symbol in heads.steps(control, heads.symbols[e]):
        if action == STAY:
            yield [(e, to, wanted)]
        elif action == POP:
            if to == wanted:
                yield []
        else:
            inner = heads.entry(to, symbol)
            if wanted == ANSWER:
                yield [(inner, to, ANSWER)]
            for left in heads.exits[inner]:
                yield [(inner, to, left), (e, left, wanted)]


def possible_goals(ways: dict[Goal, list[list[Goal]]]) -> set[Goal]:
    """The goals that some word leads to: those with a way of which all goals are such."""
    missing = [[goal, len(set(way)), way] for goal, of_goal in ways.items() for way in of_goal]
    users: dict[Goal, list[list[Any]]] = {}
    for use in missing:
        for part in set(use[2]):
            users.setdefault(part, []).append(use)
    possible: set[Goal] = set()
    work = [goal for goal, count, _ in missing if not count]
    while work:
        if (goal := work.pop()) in possible:
            continue
        possible.add(goal)
        for use in users.get(goal, ()):
            use[1] -= 1
            if not use[1]:
                work.append(use[0])
    return possible
