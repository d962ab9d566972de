"""Pushdown transducers: a finite control, a stack, one move for each symbol read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.automata.semiautomaton import Words
from languages.automata.validation import Names, check_names, check_state, check_states, check_text
from languages.automata.words import Indices, Text, checked, decode, encode
from languages.budget import check
from languages.errors import AutomatonError, nearest, one_of

POP, STAY = -2, -1  # actions; g >= 0 pushes the stack symbol g
NO_MOVE = -1
MAX_MOVES = 2**22  # states times symbols times tops
MAX_PUSHED = 2**27  # words times length: what the stacks of a batch hold
FEW = 32  # words of a batch that are run one by one

Ints = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Move:
    """In state `source`, at the symbol `read` with one of `tops` on the stack, go to `target`; push, pop or neither.

    `tops` are stack symbols, None the bottom; without any every top will do (of a pop: every stack symbol).
    """

    source: str
    read: str
    target: str
    tops: tuple[str | None, ...] = ()
    push: str | None = None
    pop: bool = False


@dataclass(frozen=True)
class PushdownTransducer:
    """R = (Q, Sigma, Delta, delta, q0, o): a real-time deterministic pushdown transducer.

    A move depends on the state, the symbol read and the top of the stack. It leads to a state, and pushes a symbol,
    pops the top, or leaves the stack as it is. Where there is no move, a word is no question. `outputs[q]` is an index
    into `output_names`, or -1 where a state has no answer, as in a Moore machine.

    AutomatonError: an unknown state or symbol, two moves for one case, a pop at the bottom, a stack symbol that is
    never pushed. Source: real-time deterministic pushdown automata, Ginsburg and Greibach 1966, with outputs.

    >>> brackets = PushdownTransducer(
    ...     ("balanced", "open"), ("(", ")"), ("first", "other"), "balanced", (
    ...         Move("balanced", "(", "open", push="first"), Move("open", "(", "open", push="other"),
    ...         Move("open", ")", "open", ("other",), pop=True), Move("open", ")", "balanced", ("first",), pop=True),
    ...     ), (1, 0), ("reject", "accept"))
    >>> brackets.answers("(())()", every=True).tolist()
    [0, 0, 0, 1, 0, 1]
    >>> brackets.answers("())").item()  # no move: -1
    -1
    """

    states: tuple[str, ...]
    alphabet: tuple[str, ...]
    stack: tuple[str, ...]
    initial: str
    moves: tuple[Move, ...]
    outputs: tuple[int, ...]
    output_names: tuple[str, ...]

    def __post_init__(self) -> None:
        states, alphabet = check_names(self.states, self.alphabet)
        stack = check_names(self.stack, alphabet)[0] if self.stack else ()
        names, outputs = tuple(self.output_names), tuple(int(i) for i in self.outputs)
        self._set(states=states, alphabet=alphabet, stack=stack, output_names=names, outputs=outputs)
        check_state(self.initial, states, "the initial state is")
        if not names or len(set(names)) != len(names):
            raise AutomatonError(f"the output names are {names!r:.80}; give one or more, each once")
        check_text(names, "name of an output")
        if len(outputs) != len(states) or not all(-1 <= i < len(names) for i in outputs):
            raise AutomatonError(
                f"give an output for each of {len(states)} states: 0..{len(names) - 1}, or -1 for none"
            )
        count = len(states) * len(alphabet) * (1 + len(stack))
        check(count, MAX_MOVES, f"{len(states):,} states, {len(alphabet):,} symbols and {len(stack):,} of the stack")
        self._set(moves=tuple(self.moves))
        self._tables  # noqa: B018  # whatever is wrong with a move is said now
        pushed = {move.push for move in self.moves}
        if never := [symbol for symbol in stack if symbol not in pushed]:
            raise AutomatonError(f"stack symbol {never[0]!r:.80} is never pushed; leave it out")

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_outputs(
        cls,
        alphabet: Names,
        initial: str,
        moves: Iterable[Move],
        outputs: Mapping[str, str | None],
        output_names: Names,
    ) -> PushdownTransducer:
        """The machine with outputs by names; its states are the keys, its stack symbols those that moves push."""
        moves = tuple(moves)
        index = {None: UNDEFINED} | {name: i for i, name in enumerate(output_names)}
        for state, output in outputs.items():
            if output not in index:
                raise AutomatonError(f"state {state!r:.80} has output {output!r:.80}; give {one_of(output_names)}")
        stack = dict.fromkeys(move.push for move in moves if move.push is not None)
        chosen = tuple(index[output] for output in outputs.values())
        return cls(tuple(outputs), tuple(alphabet), tuple(stack), initial, moves, chosen, tuple(output_names))

    @property
    def n_states(self) -> int:
        return len(self.states)

    @property
    def n_symbols(self) -> int:
        return len(self.alphabet)

    @cached_property
    def initial_index(self) -> int:
        return self.states.index(self.initial)

    @cached_property
    def output_table(self) -> npt.NDArray[np.int64]:
        """(Q + 1,) the output of each state, -1 for none; the last row is where no move led."""
        return np.array([*self.outputs, UNDEFINED], dtype=np.int64)

    @property
    def table(self) -> Ints:
        """delta (Q + 1, Sigma, 1 + Delta): the next state, -1 where there is no move.

        Top 0 is the bottom, 1 + g the stack symbol g. The last row, which the index -1 finds, stays where it is.
        """
        return self._tables[0]

    @property
    def actions(self) -> Ints:
        """(Q + 1, Sigma, 1 + Delta): -2 pops, -1 leaves the stack as it is, g >= 0 pushes the stack symbol g."""
        return self._tables[1]

    @cached_property
    def _tables(self) -> tuple[Ints, Ints]:
        check_states((move.source for move in self.moves), self.states, "a move starts in")
        check_states((move.target for move in self.moves), self.states, "a move leads to")
        state = {name: i for i, name in enumerate(self.states)}
        symbol = {name: i for i, name in enumerate(self.alphabet)}
        top: dict[str | None, int] = {None: 0} | {name: 1 + i for i, name in enumerate(self.stack)}
        shape = (self.n_states + 1, self.n_symbols, 1 + len(self.stack))
        table, actions = np.full(shape, NO_MOVE, dtype=np.intp), np.full(shape, STAY, dtype=np.intp)
        for move in self.moves:
            said = f"the move from {move.source!r:.80} at {move.read!r:.80}"
            _check(move.read, symbol, f"{said} reads", "symbol")
            for name in (*move.tops, *([] if move.push is None else [move.push])):
                _check(name, top, f"{said} names", "stack symbol")
            if move.pop and (move.push is not None or None in move.tops):
                raise AutomatonError(f"{said} pops and pushes, or pops at the bottom; give a move one of them")
            tops = [top[name] for name in move.tops] or list(range(int(move.pop), len(top)))
            place = (state[move.source], symbol[move.read], tops)
            if (table[place] != NO_MOVE).any():
                raise AutomatonError(f"{said} is not the only one with this top; give one move for each case")
            table[place] = state[move.target]
            actions[place] = POP if move.pop else STAY if move.push is None else top[move.push] - 1
        for array in (table, actions):
            array.setflags(write=False)
        return table, actions

    def encode(self, text: Text) -> Indices:
        """Symbol indices (length,) of a text or a list of symbols; WordError for a symbol that there is not."""
        return encode(text, self.alphabet)

    def decode(self, word: npt.ArrayLike) -> str:
        """The text of a word of symbol indices (length,)."""
        return decode(word, self.alphabet)

    def run(self, words: Words, every: bool = False) -> Ints:
        """The last states (batch,), or with `every` those after each symbol (batch, length); -1 where no move led.

        `words`: a text, or symbol indices (length,) or (batch, length), as for `Semiautomaton.run`.
        """
        array = self.encode(words) if isinstance(words, str) else checked(words, self.n_symbols)
        batch = np.atleast_2d(array)
        check(batch.size, MAX_PUSHED, f"a batch of {batch.shape[0]:,} words of {batch.shape[1]:,} symbols")
        states = self._one_by_one(batch) if len(batch) <= FEW else self._together(batch)
        if not every:
            states = states[:, -1] if batch.shape[1] else np.full(len(batch), self.initial_index)
        return states if array.ndim == 2 else states[0]

    def answers(self, words: Words, every: bool = False) -> npt.NDArray[np.int64]:
        """The output after each word (batch,), or with `every` after each symbol (batch, length); -1 for none."""
        return self.output_table[self.run(words, every)]

    def _one_by_one(self, words: Indices) -> Ints:
        """(batch, length) as the definition has it: the readable way, and the quick way for a few long words."""
        table, actions, traces = self.table.tolist(), self.actions.tolist(), list[list[int]]()
        for word in words.tolist():
            state, stack, trace = self.initial_index, [0], list[int]()
            for symbol in word:
                action, state = actions[state][symbol][stack[-1]], table[state][symbol][stack[-1]]
                if action >= 0:
                    stack.append(1 + action)
                elif action == POP:
                    stack.pop()
                trace.append(state)
            traces.append(trace)
        return np.array(traces, dtype=np.intp).reshape(words.shape)  # (batch, length), also of no words

    def _together(self, words: Indices) -> Ints:
        """(batch, length): all words of a batch at once, symbol by symbol."""
        count, length = words.shape
        n_tops = 1 + len(self.stack)
        table, actions = self.table.ravel(), self.actions.ravel()  # of the place (state, symbol, top)
        change = np.array([-1, 0, *[1] * len(self.stack)], dtype=np.intp)  # of the height, by action; -2 pops
        # Row by row the stacks, each with a cell more than it needs: what is pushed is written above the top, and
        # lies there unseen where nothing is.
        stack = np.zeros(count * (length + 2), dtype=np.int32)
        at: Ints = np.arange(count, dtype=np.intp) * (length + 2)  # where the tops are
        state = np.full(count, self.initial_index, dtype=np.intp)
        trace = np.empty((count, length), dtype=np.intp)
        for t in range(length):
            # The state -1, of the last row, has places before the first.
            place: Ints = (state * self.n_symbols + words[:, t]) * n_tops + stack.take(at)
            action, state = actions.take(place, mode="wrap"), table.take(place, mode="wrap")
            stack[at + 1] = action + 1
            at += change.take(action + 2)
            trace[:, t] = state
        return trace


def _check(name: str | None, names: Mapping[Any, int], role: str, what: str) -> None:
    if name not in names:
        known: Sequence[str] = [str(other) for other in names if other is not None]
        hint = nearest(str(name), known) or f" there are {one_of(known)}"
        raise AutomatonError(f"{role} {name!r:.80}, which is no {what};{hint}")
