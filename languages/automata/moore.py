"""Moore machines: transducers that answer after every symbol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from languages.automata import operations
from languages.automata.semiautomaton import Semiautomaton, Words, aligned, numbered
from languages.automata.validation import Delta, Names, check_state, check_states, check_text
from languages.errors import AutomatonError, one_of

UNDEFINED = -1  # the output of a state that has no answer


@dataclass(frozen=True)
class MooreMachine(Semiautomaton):
    """A semiautomaton with an initial state and an output for every state: a transducer.

    `outputs[q]` is an index into `output_names`, or -1 (UNDEFINED) where no answer is defined. After each symbol the
    machine gives the output of the state it has come to.

    >>> parity = MooreMachine(("even", "odd"), ("0", "1"), ((0, 1), (1, 0)), "even", (0, 1), ("even", "odd"))
    >>> parity.answers("0111", every=True).tolist()
    [0, 1, 0, 1]
    """

    initial: str
    outputs: tuple[int, ...]
    output_names: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_state(self.initial, self.states, "the initial state is")
        self._set(outputs=tuple(int(i) for i in self.outputs), output_names=tuple(self.output_names))
        if len(self.outputs) != self.n_states:
            raise AutomatonError(f"{len(self.outputs)} outputs for {self.n_states} states; give one for each")
        if len(set(self.output_names)) != len(self.output_names) or not self.output_names:
            raise AutomatonError(f"the output names are {self.output_names!r:.80}; give one or more, each once")
        check_text(self.output_names, "name of an output")
        for state, output in zip(self.states, self.outputs, strict=True):
            if not -1 <= output < len(self.output_names):
                known = f"an index 0..{len(self.output_names) - 1} into output_names, or -1 for no answer"
                raise AutomatonError(f"state {state!r:.80} has output {output}; an output is {known}")

    @classmethod
    def from_outputs(
        cls,
        states: Names,
        alphabet: Names,
        delta: Delta,
        initial: str,
        outputs: Mapping[str, str | None],
        output_names: Names,
    ) -> MooreMachine:
        """The machine with outputs given by names, {state: output name, or None for no answer}."""
        check_states(outputs, states, "outputs has a key")
        index = {None: -1} | {name: i for i, name in enumerate(output_names)}
        for state in states:
            if state not in outputs:
                raise AutomatonError(f"state {state!r:.80} has no output; give one, or None for no answer")
            if outputs[state] not in index:
                wrong = f"state {state!r:.80} has output {outputs[state]!r:.80}"
                raise AutomatonError(f"{wrong}; give {one_of(output_names)}")
        indices = tuple(index[outputs[state]] for state in states)
        return cls(tuple(states), tuple(alphabet), delta, initial, indices, tuple(output_names))

    @property
    def named_outputs(self) -> dict[str, str | None]:
        """The outputs by names, {state: output name, or None for no answer}."""
        names = (self.output_names[i] if i >= 0 else None for i in self.outputs)
        return dict(zip(self.states, names, strict=True))

    @cached_property
    def initial_index(self) -> int:
        return self.states.index(self.initial)

    @cached_property
    def output_table(self) -> npt.NDArray[np.int64]:
        """The output of each state (Q,), read-only."""
        table = np.array(self.outputs, dtype=np.int64)
        table.setflags(write=False)
        return table

    def _default_start(self) -> int:
        return self.initial_index

    def answers(self, words: Words, every: bool = False) -> npt.NDArray[np.int64]:
        """The output after each word (batch,), or with `every` after each symbol (batch, length)."""
        return np.asarray(self.output_table[self.run(words, every=every)])

    def minimise(self) -> MooreMachine:
        """The minimal machine with the same answers, states named q0, q1, ... in breadth-first order."""
        table, outputs = operations.minimise(self.table, self.initial_index, self.output_table)
        return MooreMachine(
            numbered(len(table)), self.alphabet, table, "q0", tuple(outputs.tolist()), self.output_names
        )

    def counterexample(self, other: MooreMachine) -> str | None:
        """The shortest word that the two answer differently, first in the alphabet's order; None if none is.

        Answers are compared by name; having none (-1) is an answer too.
        """
        word = operations.counter_example(
            (self.table, self.initial_index, self.output_table),
            (aligned(self, other), other.initial_index, _outputs_as_in(self, other)),
        )
        return None if word is None else self.decode(word)

    def equivalent(self, other: MooreMachine) -> bool:
        return self.counterexample(other) is None


def _outputs_as_in(self: MooreMachine, other: MooreMachine) -> npt.NDArray[np.int64]:
    """The other machine's outputs as indices into this machine's output names, new names after them."""
    # Index -1, no answer, takes the last entry, which is -1 again.
    names = [*self.output_names, *(name for name in other.output_names if name not in self.output_names)]
    translation = np.array([*(names.index(name) for name in other.output_names), -1])
    return translation[other.output_table]
