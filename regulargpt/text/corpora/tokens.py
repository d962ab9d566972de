"""Words and pieces of words as symbols: a tokenizer of the user's, in a tokenizer.json. The extra `hf`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from languages.budget import check
from languages.errors import CorpusError, shown
from regulargpt.text.corpora.extra import needed
from regulargpt.text.corpora.files import open_regular, refused
from regulargpt.text.corpora.stored import Symbols

PIECE = 2**20  # bytes that are encoded at a time: a long document is cut there, after a newline if it has any
MAX_BYTES = 2**28  # of a tokenizer.json


@dataclass(frozen=True, eq=False)
class Tokens:
    """A tokenizer: text in UTF-8 to numbers and back. It adds no special tokens, pads nothing and cuts nothing off.

    One that loses something, such as capital letters or unknown words, makes bits per byte smaller than they are.
    """

    path: Path
    digest: str  # SHA-256 of the file
    vocabulary_size: int  # more than the largest number
    tokenizer: Any  # tokenizers.Tokenizer

    @property
    def place(self) -> str:
        return str(self.path)

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        return np.uint16 if self.vocabulary_size <= 2**16 else np.uint32

    def encode(self, text: str | bytes) -> Symbols:
        """(tokens,) of a text. Bytes that are no UTF-8 become the replacement character first."""
        text = text.decode(errors="replace") if isinstance(text, bytes) else text
        return np.array(self.tokenizer.encode(text, add_special_tokens=False).ids, dtype=self.dtype)

    def prompt(self, text: str) -> Symbols:
        """(tokens,) of a text that goes on: behind what the tokenizer puts before every text, without what ends it."""
        encoding = self.tokenizer.encode(text)
        kept = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
        end = kept[-1] + 1 if len(kept) else 0
        return np.array(encoding.ids[:end], dtype=self.dtype)

    def encode_blocks(self, blocks: Iterable[bytes]) -> Iterator[Symbols]:
        for piece in pieces(blocks):
            yield self.encode(piece)

    def decode(self, symbols: ArrayLike) -> str:
        """The text of some tokens, special ones included."""
        return self.tokenizer.decode(np.asarray(symbols).tolist(), skip_special_tokens=False)


def pieces(blocks: Iterable[bytes], size: int = PIECE) -> Iterator[bytes]:
    """The same bytes in pieces of about `size`: cut after a newline, or else between two characters.

    >>> list(pieces([b"ab", b"\\nc", b"def"], 4))
    [b'ab\\n', b'cdef']
    """
    rest = b""
    for block in blocks:
        rest += block
        while len(rest) > size:
            cut = rest.rfind(b"\n", 0, size) + 1 or _between(rest, size)
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def _between(text: bytes, at: int) -> int:
    """The last place up to `at` between two characters of UTF-8, which are 4 bytes long at most."""
    # A byte 10xxxxxx goes on with a character that began before.
    return next((cut for cut in range(at, max(at - 4, 0), -1) if text[cut] & 0xC0 != 0x80), at)


def read_tokens(file: str | Path) -> Tokens:
    """The tokenizer in a file. CorpusError: the extra is missing, no such file, or no tokenizer in it."""
    path = Path(file).expanduser().absolute()
    tokenizers = needed("tokenizers", "a tokenizer")
    with refused(path), open_regular(path) as opened:
        content = opened.read(MAX_BYTES + 1)
    check(len(content), MAX_BYTES, f"{shown(path)}: {len(content):,} bytes or more")
    try:
        tokenizer = tokenizers.Tokenizer.from_str(content.decode())
    except Exception as error:  # the library raises Exception itself
        reason = " ".join(str(error).split())
        raise CorpusError(f"{shown(path)}: no tokenizer.json of `tokenizers` ({reason:.200})") from None
    # The file may say to cut or pad what is encoded: that is for batches of sentences.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    numbers = tokenizer.get_vocab(with_added_tokens=True).values()
    if not numbers:
        raise CorpusError(f"{shown(path)}: the tokenizer has no tokens; train it first")
    return Tokens(path, sha256(content).hexdigest(), max(numbers) + 1, tokenizer)
