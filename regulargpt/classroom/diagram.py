"""What is drawn of a machine: its states, their answers, and what stands at the arrow from one to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from languages.automata import MooreMachine
from languages.automata.pushdown import PushdownTransducer
from languages.convert.pushdown import arrows

MOST_SYMBOLS = 4  # in a line of a label
MOST_LINES = 3  # in a label
MOST_LETTERS = 18  # in a line on what the stack does


@dataclass(frozen=True)
class Diagram:
    """A machine as it is drawn. `arrows` are from state to state: the symbols, each with what it does to the stack."""

    states: tuple[str, ...]
    answers: tuple[str | None, ...]
    initial: int
    arrows: Mapping[tuple[int, int], tuple[str, ...]]

    @classmethod
    def from_machine(cls, machine: MooreMachine | PushdownTransducer) -> Diagram:
        """The diagram of a machine.

        >>> import languages
        >>> from languages.context_free.brackets import brackets
        >>> Diagram.from_machine(languages.get("parity").machine).arrows
        {(0, 0): ('0',), (0, 1): ('1',), (1, 1): ('0',), (1, 0): ('1',)}
        >>> Diagram.from_machine(brackets(1).machine).arrows[1, 0]
        (') / pop 0 balanced',)
        """
        symbols = defaultdict[tuple[int, int], list[str]](list)
        if isinstance(machine, MooreMachine):
            for p, row in enumerate(machine.table.tolist()):
                for a, q in enumerate(row):
                    symbols[p, q].append(machine.alphabet[a])
        else:
            number = {state: q for q, state in enumerate(machine.states)}
            for (source, read, target), done in arrows(machine).items():
                symbols[number[source], number[target]] += [read + what for what in done]
        names = (*machine.output_names, None)
        answers = tuple(names[output] for output in machine.outputs)
        arrowed = {ends: tuple(words) for ends, words in symbols.items()}
        return cls(machine.states, answers, machine.initial_index, arrowed)

    @property
    def n_states(self) -> int:
        return len(self.states)

    @property
    def is_acceptor(self) -> bool:
        """Whether it accepts or rejects every word: then a second circle says which."""
        return set(self.answers) <= {"accept", "reject"}

    @cached_property
    def has_stack(self) -> bool:
        return any(" " in text for texts in self.arrows.values() for text in texts)

    def label(self, p: int, q: int) -> list[str]:
        """The lines at an arrow: symbols that leave the stack alone share an arrow, each other symbol has its own.

        >>> Diagram(("p",), (None,), 0, {(0, 0): ("0", "( / push g", "1", ") / pop any")}).label(0, 0)
        ['0,1', '( / push g', ') / pop any']
        """
        texts = self.arrows[p, q]
        alone = [text for text in texts if " " not in text]
        first = [",".join(alone[:MOST_SYMBOLS]) + "…" * (len(alone) > MOST_SYMBOLS)] if alone else []
        lines = [*first, *(short(text, MOST_LETTERS) for text in texts if " " in text)]
        return (
            lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], f"… {len(lines) - MOST_LINES + 1} more"]
        )


def short(name: str, most: int) -> str:
    """A name that fits.

    >>> short("accept", 6), short("acceptance", 6)
    ('accept', 'accep…')
    """
    return name if len(name) <= most else name[: most - 1] + "…"
