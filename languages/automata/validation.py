"""The checks a machine passes when it is made, with messages that name the state and the symbol."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from languages.budget import check_transitions as check_size
from languages.errors import AutomatonError, nearest, one_of

Names = Sequence[str]
Rows = tuple[tuple[int, ...], ...]
Delta = Mapping[str, Mapping[str, str]] | Sequence[Sequence[int]] | npt.NDArray[np.integer[Any]]


def check_names(states: Names, alphabet: Names) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """States and symbols as tuples of distinct, non-empty strings."""
    states, alphabet = tuple(states), tuple(alphabet)
    _check_distinct(states, "state", "states")
    _check_distinct(alphabet, "symbol", "alphabet")
    if len(alphabet) > 2**16:
        raise AutomatonError(f"the alphabet has {len(alphabet)} symbols; at most {2**16} are supported")
    # Words are written as text: with symbols of several characters, blanks must be free to separate them.
    for symbol in alphabet:
        if symbol.split() != [symbol] and max(map(len, alphabet)) > 1:
            raise AutomatonError(
                f"symbol {symbol!r:.80} contains a space; in an alphabet with symbols of several characters "
                "spaces separate the symbols of a text"
            )
    return states, alphabet


def _check_distinct(names: tuple[str, ...], what: str, whole: str) -> None:
    if not names:
        raise AutomatonError(f"the {whole} may not be empty; give at least one {what}")
    for name in cast("tuple[object, ...]", names):
        if not isinstance(name, str) or not name:
            raise AutomatonError(f"{what} {name!r:.80} is not a name; a {what} is a non-empty string")
    check_text(names, what)
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise AutomatonError(f"{what} {name!r:.80} is given {count} times; give each {what} once")


def check_text(names: Names, what: str) -> None:
    """Raise AutomatonError for a name that no file can hold: half of a surrogate pair is no character."""
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        wrong = error.object[error.start : error.end]
        raise AutomatonError(f"a {what} contains {wrong!r:.80}, half a character; rename it") from None


def check_states(names: Iterable[str], states: Names, role: str) -> None:
    """Raise AutomatonError, naming the role, for the first name that no state has."""
    known = set(states)  # a tuple would make this quadratic
    for name in names:
        if name not in known:
            check_state(name, states, role)


def check_state(name: str, states: Names, role: str) -> None:
    """Raise AutomatonError, naming the role, for a name that no state has."""
    if name not in states:
        hint = nearest(str(name), states) or f" the states are {one_of(states)}"
        raise AutomatonError(f"{role} {name!r:.80}, which is not a state;{hint}")


def rows_of(delta: Delta, states: tuple[str, ...], alphabet: tuple[str, ...]) -> Rows:
    """delta as a tuple of rows of state indices, whichever way it was given."""
    check_size(len(states), len(alphabet))
    if isinstance(delta, Mapping):
        return _rows_of_mapping(delta, states, alphabet)
    # As tuples of Python integers, so that equal machines are equal however they were given.
    table = _as_array(delta)
    if table.shape != (len(states), len(alphabet)) or not np.issubdtype(table.dtype, np.integer):
        raise AutomatonError(
            f"a transition table is integers of shape (states, symbols) = ({len(states)}, {len(alphabet)}); "
            f"this one is {table.dtype} of shape {table.shape}"
        )
    outside = np.argwhere((table < 0) | (table >= len(states)))
    if len(outside):
        q, a = outside[0]
        raise AutomatonError(
            f"state {states[q]!r} goes to state index {table[q, a]} on {alphabet[a]!r}; "
            f"indices are 0..{len(states) - 1}"
        )
    return tuple(tuple(int(q) for q in row) for row in table)


def _as_array(delta: Sequence[Sequence[int]] | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.integer[Any]]:
    """An array; of shape () if the rows differ in length."""
    try:
        return np.array(delta)
    except ValueError:
        return np.zeros((), np.intp)


def _rows_of_mapping(
    delta: Mapping[str, Mapping[str, str]], states: tuple[str, ...], alphabet: tuple[str, ...]
) -> Rows:
    index = {state: i for i, state in enumerate(states)}
    check_transitions(delta, states, alphabet)
    for state in states:
        for symbol in alphabet:
            if symbol not in delta.get(state, {}):
                raise AutomatonError(
                    f"state {state!r:.80} has no transition for {symbol!r:.80}; "
                    "add one or complete the automaton with a sink (from_partial)"
                )
    return tuple(tuple(index[delta[state][symbol]] for symbol in alphabet) for state in states)


def check_transitions(delta: Mapping[str, Mapping[str, str]], states: Names, alphabet: Names) -> None:
    """Every state and symbol that the transitions mention exists; some may be missing."""
    known_states, known_symbols = set(states), set(alphabet)
    for state, row in delta.items():
        if state not in known_states:
            check_state(state, states, "a transition starts in")
        for symbol, target in row.items():
            if symbol not in known_symbols:
                raise AutomatonError(
                    f"state {state!r:.80} has a transition for {symbol!r:.80}, which is not in the alphabet; "
                    f"its symbols are {one_of(alphabet)}"
                )
            if target not in known_states:
                check_state(target, states, f"on {symbol!r:.80} state {state!r:.80} goes to")


def complete_with_sink(
    states: tuple[str, ...], alphabet: tuple[str, ...], delta: Mapping[str, Mapping[str, str]], sink: str
) -> tuple[tuple[str, ...], dict[str, dict[str, str]]]:
    """The states and transitions with every missing transition led to `sink`, if any is missing."""
    check_size(len(states) + 1, len(alphabet))
    check_transitions(delta, states, alphabet)
    if all(symbol in delta.get(state, {}) for state in states for symbol in alphabet):
        return states, {state: dict(row) for state, row in delta.items()}
    if sink in states:
        raise AutomatonError(f"the sink {sink!r} is already a state; give it another name")
    every_state = (*states, sink)
    rows = {q: {a: delta.get(q, {}).get(a, sink) for a in alphabet} for q in every_state}
    return every_state, rows
