"""How much of a network a page shows: which lengths, layers and questions, so that it stays small."""

from __future__ import annotations

from dataclasses import dataclass

from regulargpt.data.base import Data

# Symbols of the longer word, and bytes of all rows together: a third more as base64.
LONGEST, MOST_BYTES = 512, 300_000
# From here on a word is no picture any more, and a row for every temperature would be too many.
LONGEST_TRAINED = 2048


@dataclass(frozen=True)
class Extent:
    """The lengths of both words, how many of the last layers are shown head by head, and how many questions."""

    lengths: tuple[int, int]
    layers: int
    questions: int


def shown_lengths(source: Data, train_len: int, length: int) -> tuple[int, int] | None:
    """The training length, and the longest up to `LONGEST` (or twice the first) and `length` that there are words of.

    None where there is none, or the training length is too long to be looked at.

    >>> from regulargpt.data import read_data
    >>> shown_lengths(read_data("parity"), 40, 320), shown_lengths(read_data("parity"), 64, 1024)
    ((40, 320), (64, 512))
    >>> shown_lengths(read_data("parity"), 500, 4000), shown_lengths(read_data("parity"), 4000, 8000)
    ((500, 1000), None)
    """
    if train_len > LONGEST_TRAINED:
        return None
    wanted = min(length, max(LONGEST, 2 * train_len))
    longer = next((T for T in range(wanted, train_len, -1) if source.is_tested(T)), None)
    return None if longer is None else (train_len, longer)


def extent(lengths: tuple[int, int], shape: tuple[int, int], stops: int, questions: int) -> Extent:
    """As many of the last layers as fit, and as many of the questions as fit with them: one at least.

    The short word has one row a head and question, the long word a row a temperature too.

    >>> extent((64, 512), (2, 4), stops=15, questions=16)
    Extent(lengths=(64, 512), layers=2, questions=4)
    >>> extent((64, 512), (12, 12), stops=15, questions=1).layers
    3
    """
    n_layers, n_heads = shape
    rows = MOST_BYTES // (lengths[0] + stops * lengths[1])
    # The mean over the heads of the last layer is shown in any case.
    layers = min(n_layers, max(0, rows - 1) // n_heads)
    return Extent(lengths, layers, max(1, min(questions, rows // (1 + layers * n_heads))))
