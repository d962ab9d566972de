"""What trivial rules see of the words of equal length: numbers for which no automaton is needed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from languages.errors import UserError
from languages.tasks import AnyTask
from regulargpt.config.schema import RunConfig
from regulargpt.data.language import Words

Columns = npt.NDArray[np.float64]  # (batch, columns), the same columns at every length

MAX_COLUMNS = 512  # of one kind: pairs of 22 symbols, 3-grams of 8
LONGEST_GRAM = 3
MAX_SIZE = 128  # the most symbols, and the most answers, that rules are fitted for

RULES = {
    "majority": "the most frequent answer",
    "ends": "first and last symbol",
    "counts": "number of each symbol, and which are equally many",
    "count-shares": "share of each symbol, and which are equally many",
    "runs": "longest run of each symbol, and number of runs",
    "run-shares": "the same over the length",
    "n-grams": "bag of 1-, 2- and 3-grams",
    "n-gram-shares": "the same over the length",
}


def features(words: Words, n_symbols: int) -> dict[str, Columns]:
    """What each of RULES sees of words (batch, length) over so many symbols.

    >>> seen = features(np.array([[0, 1, 1, 0]]), 2)
    >>> seen["ends"].tolist()  # 0..0, 0..1, 1..0, 1..1
    [[1.0, 0.0, 0.0, 0.0]]
    >>> seen["counts"].tolist()  # 0s, 1s, as many 0s as 1s
    [[2.0, 2.0, 1.0]]
    >>> seen["runs"].tolist(), seen["run-shares"].tolist()
    ([[1.0, 2.0, 3.0]], [[0.25, 0.5, 0.75]])
    >>> seen["n-grams"][0, :6].tolist()  # 0, 1, 00, 01, 10, 11
    [2.0, 2.0, 0.0, 1.0, 1.0, 1.0]
    """
    T = words.shape[1]
    orders = [n for n in range(1, LONGEST_GRAM + 1) if n == 1 or n_symbols**n <= MAX_COLUMNS]
    grams = {n: bag(words, n_symbols, n) for n in orders}
    run_numbers = runs(words, n_symbols)
    return {
        "majority": np.zeros((len(words), 0)),
        "ends": ends(words, n_symbols),
        "counts": np.concatenate([grams[1], equal(grams[1])], axis=1),
        "count-shares": np.concatenate([grams[1] / T, equal(grams[1])], axis=1),
        "runs": run_numbers,
        "run-shares": run_numbers / T,
        "n-grams": np.concatenate(list(grams.values()), axis=1),
        "n-gram-shares": np.concatenate([counts / max(1, T - n + 1) for n, counts in grams.items()], axis=1),
    }


def check(task: AnyTask, config: RunConfig) -> None:
    """Raise UserError if the rules do not fit this task and its supervision."""
    if config.objective.answers_prefixes and not config.objective.asks_for_rows:
        raise UserError(
            f"objective.name = '{config.objective.name}': shortcuts answer the word at its end, not every prefix; "
            "set it to 'last'"
        )
    if not is_small(task):
        raise UserError(
            f"{task.name} has {task.n_symbols} symbols and {task.n_outputs} answers; "
            f"shortcuts are fitted for at most {MAX_SIZE} of each"
        )


def is_small(task: AnyTask) -> bool:
    """Whether a task has few enough symbols and answers for the rules."""
    return max(task.n_symbols, task.n_outputs) <= MAX_SIZE


def ends(words: Words, n_symbols: int) -> Columns:
    """A column for each pair of first and last symbol; where they are too many, one for each first and each last."""
    first, last = words[:, 0].astype(np.intp), words[:, -1].astype(np.intp)
    if n_symbols**2 <= MAX_COLUMNS:
        return one_hot(first * n_symbols + last, n_symbols**2)
    return np.concatenate([one_hot(first, n_symbols), one_hot(last, n_symbols)], axis=1)


def one_hot(index: npt.NDArray[np.intp], size: int) -> Columns:
    return (index[:, None] == np.arange(size)).astype(np.float64)


def equal(counts: Columns) -> Columns:
    """Whether each two of the numbers are equal (batch, pairs); no column where the pairs are too many."""
    a, b = np.triu_indices(counts.shape[1], 1)
    return (counts[:, a] == counts[:, b]).astype(np.float64)[:, : len(a) if len(a) <= MAX_COLUMNS else 0]


def runs(words: Words, n_symbols: int) -> Columns:
    """The longest run of each symbol, and the number of runs (batch, n_symbols + 1)."""
    n, T = words.shape
    begins = np.ones((n, T), dtype=np.bool_)
    begins[:, 1:] = words[:, 1:] != words[:, :-1]
    at = np.flatnonzero(begins)  # in all words, in turn; no run goes on into the next word
    longest = np.zeros(n * n_symbols, dtype=np.intp)
    symbols = words.ravel()[at]  # (runs,): the symbol of each run of the batch
    np.maximum.at(longest, at // T * n_symbols + symbols, np.diff(at, append=n * T))
    by_symbol = longest.reshape(n, n_symbols)  # (batch, n_symbols)
    return np.concatenate([by_symbol, begins.sum(axis=1, keepdims=True)], axis=1, dtype=np.float64)


def bag(words: Words, n_symbols: int, n: int) -> Columns:
    """How often each n-gram occurs (batch, n_symbols ** n), in the order of its symbols."""
    T, size = words.shape[1], n_symbols**n
    code = np.zeros((len(words), max(0, T - n + 1)), dtype=np.intp)
    for i in range(n):
        code *= n_symbols
        code += words[:, i : T - n + 1 + i]
    # Every word counts in bins of its own, so that one call counts all of them.
    code += size * np.arange(len(words))[:, None]
    counts = np.bincount(code.ravel(), minlength=size * len(words))  # (batch * size,)
    return counts.reshape(len(words), size).astype(np.float64)  # (batch, n_symbols ** n)
