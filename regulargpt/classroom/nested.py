"""A language with brackets as the page's script reads it: its machine, its algebra, and words to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine
from languages.automata.algebra import PENDING_CALL, PENDING_RETURN, Closure, NestedAlgebra
from languages.automata.pushdown import NO_MOVE, PushdownTransducer
from languages.automata.visibly import CALL, VisiblyPushdown
from languages.automata.words import decode
from languages.budget import TooLarge
from languages.context_free.nested import NestedTask
from languages.randomness import rng

if TYPE_CHECKING:
    from regulargpt.models.tree.nodes import Node

Machine = MooreMachine | PushdownTransducer
# Words that a page holds: lengths, and how many of each.
LENGTHS = {**dict.fromkeys(range(1, 41), 4), 60: 4, 100: 4, 200: 4, 400: 4}
MANY = {**dict.fromkeys(range(1, 41), 16), 100: 100, 200: 40, 400: 20}
MOST_ELEMENTS = 2000
NOUN = "element"


@dataclass(frozen=True)
class Elements:
    """The elements of the minimal algebra, and behind them those of nodes that are open.

    An open node holds a call and an inside that do something only with the return beside them: of these it has one for
    each call and element.
    """

    algebra: NestedAlgebra = field(repr=False)

    @classmethod
    def from_machine(cls, machine: PushdownTransducer) -> Elements | None:
        """Those of a machine; None where there are more than a page can name.

        >>> import languages
        >>> Elements.from_machine(languages.find("brackets-1").machine).words
        ('', ')', '(', ')(', '(', '()', '((', '()(')
        """
        try:
            minimal = NestedAlgebra.from_machine(VisiblyPushdown.from_machine(machine)).minimal()
        except TooLarge:
            return None
        return cls(minimal) if minimal.size <= MOST_ELEMENTS else None

    @property
    def size(self) -> int:
        """How many there are, without those of open nodes."""
        return self.algebra.size

    @cached_property
    def calls(self) -> list[int]:
        return np.flatnonzero(self.algebra.direction == CALL).tolist()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """A shortest word of each."""
        words = [*self.algebra.least, *((a, *word) for a in self.calls for word in self.algebra.least)]
        return tuple(decode(np.array(word, dtype=np.intp), self.algebra.alphabet) for word in words)

    def of_node(self, word: npt.NDArray[np.integer[Any]], node: Node) -> int:
        """The element of a node of the tree of a word (length,)."""
        if not node.is_open:
            return self.algebra.of_word(word[node.start : node.end])
        inside = self.algebra.of_word(word[node.start + 1 : node.end])
        return (1 + self.calls.index(int(word[node.start]))) * self.algebra.size + inside

    def data(self) -> dict[str, Any]:
        """JSON values for the script: `right` is the product with a single item, whose column `column` says."""
        algebra = self.algebra
        return {
            "noun": NOUN,
            "words": list(self.words),
            "right": algebra.product[:, algebra.items].tolist(),
            "column": {str(item): i for i, item in enumerate(algebra.items.tolist())},
            "letter": algebra.letter.tolist(),
            "wrap": algebra.wrap.tolist(),
        }


def numbers_of_functions(
    machine: PushdownTransducer,
) -> tuple[dict[tuple[int, ...], set[int]], tuple[str, ...]] | None:
    """Which elements a function is of as the checker writes it, and the least words of all; None of too many elements.

    States of the top level are q, and q + n once a call is pending, n with the sink; 2 n is where a return would close
    it. A node that is open leads from each state to one and pushes a symbol: 2 n + 1 + state + n symbol.
    """
    visibly, elements = VisiblyPushdown.from_machine(machine), Elements.from_machine(machine)
    if elements is None:
        return None
    closure, minimal, n = Closure(visibly), elements.algebra, visibly.n_states
    by_function: dict[tuple[int, ...], set[int]] = {}
    for function, flags, word in zip(closure.functions, closure.flags, closure.least, strict=True):
        element = minimal.of_word(np.array(word, dtype=np.intp))
        pending = n * bool(flags & PENDING_CALL)
        below = [2 * n] * n if flags & PENDING_RETURN else (function + n).tolist()
        by_function.setdefault((*(function + pending).tolist(), *below, 2 * n), set()).add(element)
        for a in range(0 if flags else len(visibly.calls)):
            coded = 2 * n + 1 + function[visibly.call_to[:, a]] + n * visibly.pushed[:, a]
            by_function.setdefault(tuple(coded.tolist()), set()).add((1 + a) * minimal.size + element)
    return by_function, elements.words


def machine_data(
    machine: PushdownTransducer,
    task: NestedTask | None,
    elements: Elements | None,
    words: Mapping[int, int] = LENGTHS,
) -> dict[str, Any]:
    """A machine and its algebra, where it is known, as JSON values; where a move may lack, the last state is there."""
    visibly = VisiblyPushdown.from_machine(machine)
    kinds = (visibly.calls, visibly.returns, visibly.internals)
    place = np.zeros(machine.n_symbols, dtype=np.intp)  # of a symbol among those of its kind
    delta = np.full((visibly.n_states, machine.n_symbols), machine.n_states)
    for symbols in kinds:
        place[symbols] = np.arange(len(symbols))
    delta[:, visibly.calls], delta[:, visibly.internals] = visibly.call_to, visibly.internal_to
    close = np.concatenate([visibly.bottom_to[:, None], visibly.return_to], axis=1)  # (Q + 1, 1 + Delta, returns)
    names = (*machine.output_names, None)
    is_total = bool((machine.table[:-1] != NO_MOVE).all())
    states, outputs = machine.states, [names[output] for output in machine.outputs]
    return {
        "alphabet": list(machine.alphabet),
        "states": [*states, *([] if is_total else ["no move"])],
        "initial": machine.initial_index,
        "delta": delta.tolist(),
        "outputs": [*outputs, *([] if is_total else [None])],
        "elements": elements and elements.data(),
        "nesting": {
            "direction": visibly.direction.tolist(),
            "place": place.tolist(),
            "pushed": visibly.pushed.tolist(),
            "close": close.tolist(),
            "stack": list(machine.stack),
            "samples": [] if task is None else samples(task, words),
        },
    }


def samples(task: NestedTask, counts: Mapping[int, int]) -> list[dict[str, Any]]:
    """Words with an answer, as texts, so many of each length, each once."""
    entries = list[dict[str, Any]]()
    for length in filter(task.has_length, counts):
        words = task.sample(rng(0, "page", length), length, counts[length])
        texts = dict.fromkeys(map(task.machine.decode, words[task.labels(words) >= 0]))
        entries.append({"length": length, "words": list(texts)})
    return [entry for entry in entries if entry["words"]]
