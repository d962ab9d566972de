"""Many documents become one file of symbols, in the cache and found there again."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np

from languages.cache_folder import cache_folder
from languages.errors import CorpusError
from regulargpt.text.corpora import cache
from regulargpt.text.corpora.stored import Layout, Stored, mapped

if TYPE_CHECKING:
    from regulargpt.text.corpora.tokens import Tokens

FORMAT = 1  # of the cached file and of all that makes its symbols: another number is another text


# More documents than these are not noted: hardly two test segments lie in any of them.
MOST_NOTED = 4_096


@dataclass(frozen=True)
class Document:
    """A file, or a row of a data set: nothing crosses into the next document."""

    name: str
    blocks: Iterable[bytes]


class Source(Protocol):
    """What a text is assembled from: so many files or rows, whose documents are of the train or the test part.

    `place` names the text in the cache, one text a place. `state` changes when the text does; no text is read for it.
    """

    @property
    def place(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def files(self) -> int: ...
    def documents(self, part: str) -> Iterator[Document]: ...


def assembled(source: Source, tokens: "Tokens | None" = None) -> Stored:
    """The symbols of a source: those in the cache if they are whole and of this state of the source, else new ones."""
    place = [source.place, tokens.place if tokens else ""]
    key = _hash([FORMAT, *place, source.state, tokens.digest if tokens else ""])
    path = cache_folder() / f"{_hash(place)[:32]}.symbols"
    if (stored := _find(path, key)) is None:
        _write(path, key, source, tokens)
        stored = _find(path, key)
    if stored is None:
        raise CorpusError(f"{source.place} changed while it was assembled; try again")
    return stored


def _hash(value: list[Any]) -> str:
    return sha256(json.dumps(value).encode()).hexdigest()


def _find(path: Path, key: str) -> Stored | None:
    """The symbols in the cache, with their digest verified; None if they are not there."""
    record = cache.record(path)
    if record is None or record.get("key") != key:
        return None
    try:
        stored = mapped(path, Layout(**{field.name: record[field.name] for field in fields(Layout)}), is_snapshot=True)
        return stored if stored.digest == record.get("digest") else None
    except (KeyError, TypeError, ValueError, CorpusError):
        return None


def _write(path: Path, key: str, source: Source, tokens: "Tokens | None") -> None:
    with cache.replacing(path) as file:
        writer = _Writer(file, tokens)
        for part in ("train", "test"):
            for document in source.documents(part):
                writer.add(part, document)
        layout = writer.layout(source.files)
        for part, count in (("train", layout.n_train), ("test", layout.n_test)):
            if not count:
                raise CorpusError(f"{source.place}: the {part} part is empty; give more text")
        record = {**asdict(layout), "key": key, "digest": layout.digest(writer.symbols.hexdigest())}
        file.write(cache.trailer(record))


class _Writer:
    def __init__(self, file: BinaryIO, tokens: "Tokens | None"):
        self.file, self.tokens = file, tokens
        self.dtype = np.dtype(tokens.dtype if tokens else np.uint8).newbyteorder("<")
        self.listing, self.symbols = sha256(tokens.digest.encode() if tokens else b""), sha256()
        self.n_symbols, self.n_bytes = {"train": 0, "test": 0}, {"train": 0, "test": 0}
        self.ends: list[int] = []  # of the documents of the test part

    def add(self, part: str, document: Document) -> None:
        size = 0
        for block in self.encoded(self.counted(part, document.blocks)):
            self.file.write(block)
            self.symbols.update(block)
            size += len(block) // self.dtype.itemsize
        self.n_symbols[part] += size
        if part == "test" and len(self.ends) <= MOST_NOTED:
            self.ends.append(self.n_symbols[part])
        self.listing.update(json.dumps([part, document.name, size]).encode())

    def counted(self, part: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The same blocks; the bytes are counted as they pass."""
        for block in blocks:
            self.n_bytes[part] += len(block)
            yield block

    def encoded(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The blocks as symbols of the file: bytes as they are, or the numbers of their tokens."""
        if self.tokens is None:
            return blocks
        return (ids.astype(self.dtype).tobytes() for ids in self.tokens.encode_blocks(blocks))

    def layout(self, files: int) -> Layout:
        """What was written, of so many files: sizes, and the digest of the list of documents."""
        train, test = self.n_symbols["train"], self.n_symbols["test"]
        vocabulary = self.tokens.vocabulary_size if self.tokens else 256
        each = self.n_bytes["train"] / train if self.tokens and train else 1.0
        ends = self.ends if len(self.ends) <= MOST_NOTED else []
        return Layout(self.dtype.str, vocabulary, train, test, files, self.listing.hexdigest(), each, ends)
