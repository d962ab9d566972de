"""Symbols in a file: mapped, not read, and known by their SHA-256."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from languages.errors import CorpusError, shown
from regulargpt.text.corpora.files import BLOCK, open_regular, refused

Symbols = NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class Layout:
    """What the symbols of a file are: the training part, then the test part."""

    dtype: str  # as numpy writes it
    vocabulary_size: int
    n_train: int
    n_test: int
    files: int
    listing: str  # SHA-256 of the tokenizer, and of the files' names, parts and sizes
    bytes_per_symbol: float = 1.0
    # Where each document of the test part ends in it; empty where they are too many to be noted.
    ends: Sequence[int] = ()

    def digest(self, symbols: str) -> str:
        """SHA-256 of the SHA-256 of the symbols and of all that matters here."""
        parts = [self.dtype, self.vocabulary_size, self.n_train, self.n_test, self.listing, symbols]
        return sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Stored:
    """The symbols at the beginning of a file, and the state in which the file was found."""

    path: Path
    layout: Layout
    symbols: Symbols  # (n_train + n_test,) read-only
    state: os.stat_result
    is_snapshot: bool  # our own copy: never written again, only replaced

    @cached_property
    def digest(self) -> str:
        """The layout's digest of these symbols. Reads the file once, block by block."""
        # Read, not mapped: the pages of a mapping would count as memory of this process.
        hashed, rest = sha256(), self.symbols.nbytes
        with refused(self.path), open_regular(self.path) as file:
            while rest and (block := file.read(min(rest, BLOCK))):
                hashed.update(block)
                rest -= len(block)
        self.check()
        return self.layout.digest(hashed.hexdigest())

    def check(self) -> None:
        """CorpusError if the mapped bytes may be others than those found when the file was opened."""
        try:
            now, then = os.stat(self.path), self.state
        except OSError:
            same = self.is_snapshot  # what is mapped stays, even if the file has no name any more
        else:
            same = (now.st_size, now.st_mtime_ns, now.st_ino) == (then.st_size, then.st_mtime_ns, then.st_ino)
            same = same or (self.is_snapshot and now.st_ino != then.st_ino)
        if not same:
            raise CorpusError(f"{shown(self.path)} changed while it was in use; start again with a file that stays")


def mapped(path: Path, layout: Layout, is_snapshot: bool) -> Stored:
    """The symbols in a file, none of them read yet."""
    with refused(path), open_regular(path) as file:
        symbols = np.memmap(file, layout.dtype, mode="r", shape=(layout.n_train + layout.n_test,))
        return Stored(path, layout, symbols.view(np.ndarray), os.fstat(file.fileno()), is_snapshot)
