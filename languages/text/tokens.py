"""A tokenizer of the user's: words and pieces of words as symbols. The extra `hf`."""

from collections.abc import Iterable, Iterator
from typing import Any

from numpy.typing import ArrayLike

from languages.text.stored import Symbols


class Tokens:
    """TODO"""

    place: str
    digest: str
    dtype: type[Any]
    vocabulary_size: int

    def encode_blocks(self, blocks: Iterable[bytes]) -> Iterator[Symbols]:
        raise NotImplementedError

    def encode(self, text: str | bytes) -> Symbols:
        raise NotImplementedError

    def decode(self, symbols: ArrayLike) -> str:
        raise NotImplementedError
