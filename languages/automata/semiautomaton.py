"""Semiautomata: states, an alphabet, transitions, and the runs they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from languages.automata.running import Runner, States, Table
from languages.automata.validation import Delta, Names, check_names, complete_with_sink, rows_of
from languages.automata.words import Indices, Text, checked, decode, encode
from languages.errors import AutomatonError, WordError

Words = npt.ArrayLike  # a text, or symbol indices (length,) or (batch, length)
Start = int | npt.NDArray[np.integer[Any]] | None


@dataclass(frozen=True)
class Semiautomaton:
    """A = (Q, Sigma, delta): states, an alphabet and a transition for every state and symbol.

    `delta` is given as {state: {symbol: state}} or as an integer table (Q, Sigma); a tuple of rows is kept.
    AutomatonError: no states or symbols, a repeated name, a missing transition, an unknown state or symbol; TooLarge,
    which is one: more states times symbols than 2**19.
    Source: thesis, section 6.6.1.

    >>> parity = Semiautomaton(("even", "odd"), ("0", "1"),
    ...     {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}})
    >>> parity.delta
    ((0, 1), (1, 0))
    >>> parity.run([[0, 1, 1], [1, 1, 1]], every=True).tolist()
    [[0, 1, 0], [1, 0, 1]]
    >>> parity.element("0111").tolist()
    [1, 0]
    """

    states: tuple[str, ...]
    alphabet: tuple[str, ...]
    delta: Delta

    def __post_init__(self) -> None:
        states, alphabet = check_names(self.states, self.alphabet)
        self._set(states=states, alphabet=alphabet, delta=rows_of(self.delta, states, alphabet))

    def _set(self, **values: object) -> None:
        # Values are frozen for everyone but their own constructor, which brings them to one form.
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
        # Cached and shared, so nobody may write to it.
        table = np.array(self.delta, dtype=np.int32)
        table.setflags(write=False)
        return table

    @property
    def is_permutation(self) -> bool:
        """Whether every symbol permutes the states; exactly then the transition monoid is a group."""
        return bool((np.sort(self.table, axis=0) == np.arange(self.n_states)[:, None]).all())  # (Q, Sigma) and (Q, 1)

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
        """The text of a word of symbol indices (length,)."""
        return decode(word, self.alphabet)

    def run(self, words: Words, start: Start = None, every: bool = False) -> States:
        """The last states (batch,), or with `every` the states after each symbol (batch, length).

        `words`: a text, or symbol indices (length,) or (batch, length); for a word the result has no batch
        axis either. `start`: one state index, or one for each word; by default the initial state, or 0. The
        states come in the smallest unsigned type that holds them. WordError: an index outside the alphabet.
        """
        array = self._indices(words)
        batch = np.atleast_2d(array)  # (batch, length), one word is a batch of one
        states = self._runner.run(batch, self._starts(start, len(batch)), every)
        return states if array.ndim == 2 else states[0]

    def element(self, word: Words) -> States:
        """A(sigma), the monoid element of a word: a function on the states, an array (Q,) of state indices."""
        array = self._indices(word)
        if array.ndim != 1:
            raise WordError(f"element takes one word, an array (length,); this has shape {array.shape}")
        # One word from all states at once.
        return self._runner.run(array[None], np.arange(self.n_states, dtype=np.intp))  # words (1, length)

    def _indices(self, words: Words) -> Indices:
        if isinstance(words, str):
            return self.encode(words)
        return checked(words, self.n_symbols)

    def _default_start(self) -> int:
        return 0

    def _starts(self, start: Start, batch: int) -> npt.NDArray[np.intp]:
        starts = np.asarray(self._default_start() if start is None else start, dtype=np.intp)
        if starts.ndim > 1 or (starts.ndim == 1 and len(starts) != batch):
            raise WordError(f"start has shape {starts.shape}; give one state index, or one for each of {batch} words")
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

        >>> ab = Semiautomaton.from_partial(("p", "q"), "ab", {"p": {"a": "q"}, "q": {"b": "p"}})
        >>> ab.states, ab.run("aab", every=True).tolist()
        (('p', 'q', 'sink'), [1, 2, 2])
        """
        all_states, complete = complete_with_sink(tuple(states), tuple(alphabet), delta, sink)
        return cls(all_states, tuple(alphabet), complete, *rest)


def numbered(count: int) -> tuple[str, ...]:
    """The state names of machines that are computed."""
    return tuple(f"q{i}" for i in range(count))


def aligned(self: Semiautomaton, other: Semiautomaton) -> Table:
    """The other machine's table with its symbols in the order of this one's alphabet."""
    if set(self.alphabet) != set(other.alphabet):
        raise AutomatonError(
            f"the alphabets {list(self.alphabet)} and {list(other.alphabet)} differ; "
            "both machines must have the same symbols"
        )
    return other.table[:, [other.alphabet.index(symbol) for symbol in self.alphabet]]
