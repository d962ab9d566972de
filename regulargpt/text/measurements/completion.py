"""Code completion: the next line of a text, continued greedily from a context of a given length (thesis, 5.5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray

from languages.errors import UserError
from languages.randomness import rng
from regulargpt.models.base import Model
from regulargpt.text.data.segments import TextData

NEWLINE = ord("\n")
# Symbols of a line that is requested, at least (indentation aside) and at most.
LEAST, MOST = 8, 80
# Lines that are continued at once.
AT_ONCE = 32


@dataclass(frozen=True)
class CompletedLine:
    """A line of the text, and what the network wrote instead.

    >>> line = CompletedLine("    return x", "    return  x")
    >>> line.is_exact, round(line.similarity, 1)
    (True, 96.0)
    """

    wanted: str
    written: str

    @property
    def is_exact(self) -> bool:
        """Whether both are the same but for spaces."""
        return self.wanted.split() == self.written.split()

    @property
    def similarity(self) -> float:
        """Edit similarity in percent: 200 times the matching characters over all characters of both."""
        return 100 * SequenceMatcher(None, self.wanted, self.written, autojunk=False).ratio()


def places(data: TextData, farthest: int, count: int, seed: int) -> Int[ndarray, "lines"]:
    """Where `count` lines of the test part begin that have so much text before them: the same at every length.

    Raises UserError where there are too few, or where symbols are no bytes.
    """
    if data.options.tokenizer:
        raise UserError(f"{data.name} is read in word pieces, which have no lines; choose a run on bytes")
    text = np.asarray(data.corpus.test)
    ends = np.flatnonzero(text == NEWLINE)
    begins, sizes = ends[:-1] + 1, np.diff(ends) - 1
    # Spaces at the beginning of a line are not requested alone.
    is_space = np.concatenate([[0], np.cumsum(np.isin(text, (ord(" "), ord("\t"))))])
    inked = sizes - (is_space[begins + sizes] - is_space[begins])
    fit = begins[(begins >= farthest) & (sizes <= MOST) & (inked >= LEAST)]
    if len(fit) < count:
        raise UserError(f"{data.name} has {len(fit)} lines to complete after {farthest:,} symbols; ask for fewer")
    return np.sort(rng(seed, "completion").choice(fit, count, replace=False))


def completed(model: Model, data: TextData, length: int, at: Int[ndarray, "lines"]) -> list[CompletedLine]:
    """Each line, continued from the `length` symbols before it up to its end, or for `MOST` symbols."""
    lines: list[CompletedLine] = []
    for some in np.array_split(at, max(1, len(at) // AT_ONCE)):
        contexts = data.corpus.segments("test", length, some - length)
        written = continued(model, contexts)
        lines += [
            CompletedLine(line_of(data.corpus.test[place : place + MOST + 1]), line_of(row))
            for place, row in zip(some, written, strict=True)
        ]
    return lines


@torch.no_grad()
def continued(model: Model, contexts: Int[ndarray, "lines length"]) -> Int[ndarray, "lines symbols"]:
    """The likeliest symbol behind each context, again and again, until every line has ended."""
    decoder, read = model.eval().decoder(), torch.from_numpy(contexts.astype(np.int64))
    written: list[torch.Tensor] = []
    has_ended = torch.zeros(len(contexts), dtype=torch.bool)
    while len(written) < MOST and not bool(has_ended.all()):
        read = decoder.feed(read).argmax(-1, keepdim=True)  # (lines, 1)
        has_ended |= read[:, 0] == NEWLINE
        written.append(read)
    return torch.cat(written, 1).numpy()


def line_of(symbols: Sequence[int] | ndarray) -> str:
    """The bytes up to the end of the line, as text.

    >>> line_of(np.frombuffer(b"x = 1\\ny", np.uint8))
    'x = 1'
    """
    return bytes(np.asarray(symbols, dtype=np.uint8)).partition(b"\n")[0].decode(errors="replace")
