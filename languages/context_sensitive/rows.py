"""A machine that answers with a row behind a word, from a function of whole words."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.automata.oracle import Oracle
from languages.automata.words import Indices
from languages.drawn import EMPTY
from languages.errors import LanguageError

Rows = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]
"""Of words (batch, length >= 1) without empty symbols the rows of answers (batch, asked), -1 where there is none."""

VERSIONS = ("code", "paper")


def row_machine(symbols: Sequence[str], outputs: Sequence[str], rows: Rows) -> Oracle:
    """The machine over `symbols` and the empty symbol, the last, that gives the answers of `rows` at empty symbols.

    Each answer depends on what was read before it alone. Where a word goes on behind an empty symbol, and behind the
    last answer of a row, there is no answer.

    >>> machine = row_machine("ab", "ab", lambda words: words[:, ::-1])
    >>> machine.answers("aab___", every=True).tolist(), machine.answers("a_b__", every=True).tolist()
    ([-1, -1, -1, 1, 0, 0], [-1, 0, -1, -1, -1])
    """

    def answers(words: Indices) -> npt.NDArray[np.int64]:
        empty: npt.NDArray[np.bool_] = words == len(symbols)
        labels = np.full(words.shape, UNDEFINED)
        # (batch,) 0 where there is no question.
        lengths: npt.NDArray[np.intp] = np.where(empty.any(1), empty.argmax(1), 0)
        for n in np.unique(lengths[lengths > 0]):
            these = np.flatnonzero(lengths == n)
            row = rows(words[these, :n].astype(np.int64))[:, : words.shape[1] - n]
            labels[these, n : n + row.shape[1]] = row
        places: npt.NDArray[np.intp] = np.arange(int(words.shape[1]))
        goes_on = np.logical_and(~empty, places >= lengths[:, None])
        labels[np.cumsum(goes_on, axis=1) > 0] = UNDEFINED
        return labels

    return Oracle((*symbols, EMPTY), tuple(outputs), answers)


def letters_of(name: str, letters: int) -> list[str]:
    """The symbols 0, 1, ...; LanguageError for other numbers of them than 2 to 10."""
    if not 2 <= letters <= 10:
        raise LanguageError(f"{name}: letters is {letters}; it is a whole number, 2 to 10")
    return [str(i) for i in range(letters)]


def check_choice(name: str, key: str, value: str, choices: Sequence[str] = VERSIONS) -> None:
    """Raise LanguageError for a value that is not among the choices."""
    if value not in choices:
        raise LanguageError(f"{name}: {key} is {value!r:.80}; it is {' or '.join(map(repr, choices))}")
