"""Words as text and as arrays of symbol indices."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.errors import WordError, one_of

Indices = npt.NDArray[np.unsignedinteger[Any]]
Text = str | Sequence[str]


def smallest_unsigned(count: int) -> type[np.uint8] | type[np.uint16] | type[np.uint32]:
    """The smallest unsigned type that holds 0 .. count - 1."""
    if count <= 2**8:
        return np.uint8
    return np.uint16 if count <= 2**16 else np.uint32


def split(text: Text, alphabet: tuple[str, ...]) -> Sequence[str]:
    """The symbols of a text: its characters if every symbol is one character, else what spaces separate."""
    if not isinstance(text, str):
        return text
    return text if single_characters(alphabet) else text.split()


def single_characters(alphabet: tuple[str, ...]) -> bool:
    """Whether words can be written without separators."""
    return all(len(symbol) == 1 for symbol in alphabet)


def encode(text: Text, alphabet: tuple[str, ...]) -> Indices:
    """Symbol indices (length,) of a text or a sequence of symbols; an unknown symbol is a WordError."""
    index = {symbol: i for i, symbol in enumerate(alphabet)}
    symbols = split(text, alphabet)
    try:
        return np.array([index[symbol] for symbol in symbols], dtype=smallest_unsigned(len(alphabet)))
    # Only where there is a symbol to blame is the place looked for.
    except KeyError:
        position = next(i for i, symbol in enumerate(symbols) if symbol not in index)
        raise WordError(
            f"symbol {symbols[position]!r} at position {position} is not in the alphabet; "
            f"the alphabet is {one_of(alphabet)}"
        ) from None


def decode(word: npt.ArrayLike, alphabet: tuple[str, ...]) -> str:
    """The text of a word of symbol indices (length,)."""
    indices = checked(word, len(alphabet))
    if indices.ndim != 1:
        raise WordError(f"decode takes one word, an array (length,); this has shape {indices.shape}")
    # Four bytes a symbol, decoded at once: a loop over a million symbols would take a second.
    if single_characters(alphabet):
        return np.array([ord(symbol) for symbol in alphabet], dtype="<u4")[indices].tobytes().decode("utf-32-le")
    return " ".join([alphabet[int(i)] for i in indices])


def checked(words: npt.ArrayLike, n_symbols: int) -> Indices:
    """`words` as an array (length,) or (batch, length) of the smallest type, or a WordError."""
    array = np.asarray(words)
    if array.ndim not in (1, 2):
        raise WordError(f"words have shape (length,) or (batch, length); this array has shape {array.shape}")
    # An empty list comes as floats, and has no largest entry.
    if array.size == 0:
        return np.zeros(array.shape, smallest_unsigned(n_symbols))
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    if not np.issubdtype(array.dtype, np.integer):
        raise WordError(f"words are arrays of integers, the symbols' indices; this array holds {array.dtype}")
    if array.max() >= n_symbols or array.min() < 0:
        _refuse_outside(array, n_symbols)
    return array.astype(smallest_unsigned(n_symbols), copy=False)


def _refuse_outside(array: npt.NDArray[Any], n_symbols: int) -> None:
    outside = (array < 0) | (array >= n_symbols)
    where = [int(i) for i in np.argwhere(outside)[0]]
    word = f"word {where[0]}, " if len(where) == 2 else ""
    raise WordError(
        f"symbol index {array[tuple(where)]} at {word}position {where[-1]} is outside the alphabet; "
        f"its indices are 0..{n_symbols - 1}"
    )
