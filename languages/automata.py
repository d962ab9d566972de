"""The machines: semiautomata, deterministic automata and Moore machines, as values.

A machine is validated when it is made and cannot be changed afterwards; equal machines are `==`. What a
machine computes is in running.py, what is computed about machines in operations.py, on integer tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from languages import operations
from languages.errors import AutomatonError, WordError, one_of
from languages.running import Runner, States
from languages.validation import Delta, Names, check_names, check_state, complete_with_sink, rows_of
from languages.words import Indices, Text, checked, decode, encode

Words = npt.ArrayLike  # a text, or symbol indices (length,) or (batch, length)
Start = int | npt.NDArray[np.integer[Any]] | None


@dataclass(frozen=True)
class Semiautomaton:
    """A = (Q, Sigma, delta): states, an alphabet and a transition for every state and symbol.

    `delta` is given as {state: {symbol: state}} or as an integer table (Q, Sigma); a tuple of rows is kept.
    AutomatonError: no states or symbols, a repeated one, a missing transition, an unknown state or symbol.
    Source: thesis, section 6.6.1.

    >>> parity = Semiautomaton(("even", "odd"), ("0", "1"),
    ...     {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}})
    >>> parity.delta
    ((0, 1), (1, 0))
    >>> parity.run([[0, 1, 1], [1, 1, 1]], every=True).tolist()
    [[0, 1, 0], [1, 0, 1]]
    >>> parity.transition("0111").tolist()
    [1, 0]
    """

    states: tuple[str, ...]
    alphabet: tuple[str, ...]
    delta: Delta

    def __post_init__(self) -> None:
        states, alphabet = check_names(self.states, self.alphabet)
        self._set(states=states, alphabet=alphabet, delta=rows_of(self.delta, states, alphabet))

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def n_states(self) -> int:
        return len(self.states)

    @property
    def n_symbols(self) -> int:
        return len(self.alphabet)

    @cached_property
    def table(self) -> npt.NDArray[np.int32]:
        """delta as a read-only array (Q, Sigma) of state indices."""
        table = np.array(self.delta, dtype=np.int32)
        table.setflags(write=False)
        return table

    @property
    def transitions(self) -> dict[str, dict[str, str]]:
        """delta by names, {state: {symbol: state}}."""
        rows = cast("tuple[tuple[int, ...], ...]", self.delta)
        named = ((self.states[target] for target in row) for row in rows)
        return {q: dict(zip(self.alphabet, row, strict=True)) for q, row in zip(self.states, named, strict=True)}

    @cached_property
    def _runner(self) -> Runner:
        return Runner(self.table)

    def encode(self, text: Text) -> Indices:
        """Symbol indices (length,) of a text or a list of symbols.

        A text is read by characters, or split at spaces if a symbol has several characters.

        WordError: a symbol that is not in the alphabet.
        """
        return encode(text, self.alphabet)

    def decode(self, word: npt.ArrayLike) -> str:
        """The text of one word of symbol indices (length,)."""
        return decode(word, self.alphabet)

    def run(self, words: Words, start: Start = None, every: bool = False) -> States:
        """The last states (batch,), or with `every` the states after each symbol (batch, length).

        `words`: a text, or symbol indices (length,) or (batch, length); for one word the result has no batch
        axis either. `start`: one state index, or one for each word; by default the initial state, or 0. The
        states come in the smallest unsigned type that holds them. WordError: an index outside the alphabet.
        """
        array = self._indices(words)
        batch = np.atleast_2d(array)
        states = self._runner.run(batch, self._starts(start, len(batch)), every)
        return states if array.ndim == 2 else states[0]

    def transition(self, word: Words) -> States:
        """A(sigma), the function that one word induces on the states, as an array (Q,) of state indices."""
        array = self._indices(word)
        if array.ndim != 1:
            raise WordError(f"transition takes one word, an array (length,); this has shape {array.shape}")
        return self._runner.run(array[None], np.arange(self.n_states, dtype=np.intp))

    def _indices(self, words: Words) -> Indices:
        if isinstance(words, str):
            return self.encode(words)
        return checked(words, self.n_symbols)

    def _default_start(self) -> int:
        return 0

    def _starts(self, start: Start, batch: int) -> npt.NDArray[np.intp]:
        starts = np.asarray(self._default_start() if start is None else start, dtype=np.intp)
        if starts.ndim > 1 or (starts.ndim == 1 and len(starts) != batch):
            raise WordError(
                f"start has shape {starts.shape}; give one state index, or one for each of {batch} words"
            )
        if starts.size and (starts.min() < 0 or starts.max() >= self.n_states):
            raise WordError(f"a start is not a state; the machine's state indices are 0..{self.n_states - 1}")
        return np.broadcast_to(starts, (batch,))

    @classmethod
    def from_partial(
        cls,
        states: Names,
        alphabet: Names,
        delta: Mapping[str, Mapping[str, str]],
        *rest: Any,
        sink: str = "sink",
    ) -> Self:
        """The machine with every missing transition led to a new state `sink`; `rest` as in the constructor.

        No sink is added where nothing is missing; a Moore machine's `outputs` end with the sink's.

        >>> ab = Dfa.from_partial(("p", "q"), "ab", {"p": {"a": "q"}, "q": {"b": "p"}}, "p", {"p"})
        >>> ab.states, ab.accepts("abab").item(), ab.accepts("aab").item()
        (('p', 'q', 'sink'), True, False)
        """
        all_states, complete = complete_with_sink(tuple(states), tuple(alphabet), delta, sink)
        return cls(all_states, tuple(alphabet), complete, *rest)


@dataclass(frozen=True)
class Dfa(Semiautomaton):
    """A semiautomaton with an initial state q_0 and accepting states F: a regular language.

    `~`, `&`, `|`, `-` and `^` are complement, intersection, union, difference and symmetric difference; both
    languages must have the same symbols. `==` compares the machines, `equivalent` the languages.

    >>> even = Dfa(("even", "odd"), ("0", "1"), ((0, 1), (1, 0)), "even", {"even"})
    >>> even.accepts([[0, 1, 1], [1, 1, 1]]).tolist(), "0110" in even
    ([True, False], True)
    >>> (even & ~even).is_empty(), even.difference(~even)
    (True, '')
    """

    initial: str
    accepting: AbstractSet[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_state(self.initial, self.states, "the initial state is")
        if isinstance(self.accepting, str):
            raise AutomatonError(f"accepting states are a set of names; give {{{self.accepting!r}}}")
        for name in self.accepting:
            check_state(name, self.states, "the accepting states include")
        self._set(accepting=frozenset(self.accepting))

    @cached_property
    def initial_index(self) -> int:
        return self.states.index(self.initial)

    @cached_property
    def is_accepting(self) -> npt.NDArray[np.bool_]:
        """Whether each state accepts (Q,), read-only."""
        flags = np.array([state in self.accepting for state in self.states])
        flags.setflags(write=False)
        return flags

    def _default_start(self) -> int:
        return self.initial_index

    def accepts(self, words: Words, every: bool = False) -> npt.NDArray[np.bool_]:
        """Whether each word is in the language (batch,), or with `every` each prefix (batch, length)."""
        return np.asarray(self.is_accepting[self.run(words, every=every)])

    def __contains__(self, word: str) -> bool:
        return bool(self.accepts(word))

    @classmethod
    def from_regex(cls, pattern: str, alphabet: Names | None = None) -> Dfa:
        """The minimal automaton of a regular expression; languages/convert/regex.py says what it may contain.

        >>> Dfa.from_regex("(ab)*").accepts("abab").item()
        True
        """
        from languages.convert.regex import from_regex

        return from_regex(pattern, alphabet)

    def as_moore(self, output_names: tuple[str, str] = ("reject", "accept")) -> MooreMachine:
        """The transducer that answers 1 where this accepts and 0 elsewhere."""
        outputs = tuple(int(flag) for flag in self.is_accepting)
        return MooreMachine(self.states, self.alphabet, self.delta, self.initial, outputs, output_names)

    def __invert__(self) -> Dfa:
        return replace(self, accepting=frozenset(self.states) - self.accepting)

    def __and__(self, other: Dfa) -> Dfa:
        return self._product(other, np.logical_and)

    def __or__(self, other: Dfa) -> Dfa:
        return self._product(other, np.logical_or)

    def __sub__(self, other: Dfa) -> Dfa:
        return self._product(other, np.greater)

    def __xor__(self, other: Dfa) -> Dfa:
        return self._product(other, np.not_equal)

    def _product(self, other: Dfa, rule: np.ufunc) -> Dfa:
        """The accessible part of the product automaton; a pair of states accepts where `rule` says so."""
        right_table = _aligned(self, other)
        found = operations.search_product(self.table, self.initial_index, right_table, other.initial_index)
        left, right = operations.pairs(found, other.n_states)
        accepting = rule(self.is_accepting[left], other.is_accepting[right])
        names = [f"({self.states[p]}, {other.states[q]})" for p, q in zip(left, right, strict=True)]
        return _dfa(found.table, accepting, self.alphabet, names)

    def is_empty(self) -> bool:
        """Whether no word is accepted."""
        return not self.is_accepting[operations.search(self.table, self.initial_index).nodes].any()

    def minimise(self) -> Dfa:
        """The minimal complete automaton, states named q0, q1, ... in breadth-first order.

        Two automata with one alphabet have equal (`==`) minimal ones exactly if their languages are equal.
        """
        table, flags = operations.minimise(self.table, self.initial_index, self.is_accepting.astype(np.intp))
        return _dfa(table, flags.astype(np.bool_), self.alphabet)

    def reverse(self) -> Dfa:
        """The automaton of the words read backwards, by the subset construction; it can have 2**Q states."""
        table, flags = operations.reverse(self.table, self.initial_index, self.is_accepting)
        return _dfa(table, flags, self.alphabet)

    def difference(self, other: Dfa) -> str | None:
        """The shortest word in one language only, the first of them in the alphabet's order; None if equal.

        >>> Dfa.from_regex("(ab)*").difference(Dfa.from_regex("(ab)*|ba"))
        'ba'
        """
        word = operations.counter_example(
            (self.table, self.initial_index, self.is_accepting.astype(np.intp)),
            (_aligned(self, other), other.initial_index, other.is_accepting.astype(np.intp)),
        )
        return None if word is None else self.decode(word)

    def equivalent(self, other: Dfa) -> bool:
        """Whether both accept the same language."""
        return self.difference(other) is None


@dataclass(frozen=True)
class MooreMachine(Semiautomaton):
    """A semiautomaton with an initial state and an output for every state: a transducer.

    `outputs[q]` is an index into `output_names`, or -1 where no answer is defined. After each symbol the
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
            raise AutomatonError(f"the output names are {self.output_names}; give one or more, each once")
        for state, output in zip(self.states, self.outputs, strict=True):
            if not -1 <= output < len(self.output_names):
                known = f"an index 0..{len(self.output_names) - 1} into output_names, or -1 for no answer"
                raise AutomatonError(f"state {state!r} has output {output}; an output is {known}")

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
        for state in outputs:
            check_state(state, states, "outputs has a key")
        for state in states:
            if state not in outputs:
                raise AutomatonError(f"state {state!r} has no output; give one, or None for no answer")
            if outputs[state] not in (None, *output_names):
                raise AutomatonError(f"state {state!r} has output {outputs[state]!r}; give {one_of(output_names)}")
        index = {None: -1} | {name: i for i, name in enumerate(output_names)}
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
            _numbered(len(table)), self.alphabet, table, "q0", tuple(outputs.tolist()), self.output_names
        )

    def difference(self, other: MooreMachine) -> str | None:
        """The shortest word that the two answer differently, first in the alphabet's order; None if none is.

        Answers are compared by name; having none (-1) is an answer too.
        """
        word = operations.counter_example(
            (self.table, self.initial_index, self.output_table),
            (_aligned(self, other), other.initial_index, _outputs_as_in(self, other)),
        )
        return None if word is None else self.decode(word)

    def equivalent(self, other: MooreMachine) -> bool:
        """Whether both give the same answer to every word."""
        return self.difference(other) is None


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"q{i}" for i in range(count))


def _dfa(
    table: operations.Table,
    accepting: npt.NDArray[np.bool_],
    alphabet: tuple[str, ...],
    names: Sequence[str] | None = None,
) -> Dfa:
    """The Dfa of a table whose first state is initial; numbered where `names` repeats one or is not given."""
    states = tuple(names) if names and len(set(names)) == len(names) else _numbered(len(table))
    return Dfa(states, alphabet, table, states[0], {states[i] for i in np.flatnonzero(accepting)})


def _aligned(self: Semiautomaton, other: Semiautomaton) -> operations.Table:
    """The other machine's table with its symbols in the order of this one's alphabet."""
    if set(self.alphabet) != set(other.alphabet):
        raise AutomatonError(
            f"the alphabets {list(self.alphabet)} and {list(other.alphabet)} differ; "
            "both machines must have the same symbols"
        )
    return other.table[:, [other.alphabet.index(symbol) for symbol in self.alphabet]]


def _outputs_as_in(self: MooreMachine, other: MooreMachine) -> npt.NDArray[np.int64]:
    """The other machine's outputs as indices into this one's output names, new names after them."""
    names = [*self.output_names, *(name for name in other.output_names if name not in self.output_names)]
    translation = np.array([*(names.index(name) for name in other.output_names), -1])
    return translation[other.output_table]
