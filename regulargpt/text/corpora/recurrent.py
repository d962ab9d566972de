"""`text:recurrent`: made text in which names come back, so that "uses far context" has a right answer.

Lines of a small program. `new NAME` brings a name of six random letters, and later lines `use NAME` bring it back, each
10 to 2000 bytes after the time before: a distance is drawn log-uniformly, and the next line after it is the name's.
Around them stand fillers and nested blocks. The first two letters of a name belong to no other name of its document:
the other four follow from them by a look at the time before, and from nothing nearer.

    new qkdwmo
    for 3
     put red
     use qkdwmo
    end for 3
"""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from languages.budget import check
from languages.errors import CorpusError
from languages.randomness import rng
from regulargpt.text.corpora.assemble import Document
from regulargpt.text.corpora.split import tested
from regulargpt.text.corpora.stored import Symbols

SIZE = 2**22
DOCUMENT = 2**15  # bytes: a document is a pure function of (seed, its number)
MAX_SIZE = 2**30
NEAREST, FARTHEST = 10, 2000  # bytes between the beginnings of a name and the time before
LETTERS = "abcdefghijklmnopqrstuvwxyz"
KNOWN, LENGTH = 2, 6  # letters of a name: those that tell which name it is, and all
P_NEW, P_AGAIN, P_OPEN, P_CLOSE = 0.15, 0.6, 0.1, 0.12
DEPTH = 4
SUMS = [f"{left} = {right} + 1" for left in "xyz" for right in "xyz"]
FILLERS = [*(f"put {word}" for word in ("red", "green", "blue", "white")), *SUMS]
BLOCKS = [f"{word} {number}" for word in ("for", "if", "do") for number in range(5)]
NAMED = re.compile(rb"(new|use) ([a-z]{6})\n")


@dataclass(frozen=True)
class RecurrentDocuments:
    size: int = SIZE
    seed: int = 0

    def __post_init__(self):
        if self.size < 2 * DOCUMENT or self.seed < 0:
            raise CorpusError(f"text:recurrent: size is a whole number from {2 * DOCUMENT:,}, seed one from 0")
        check(self.size, MAX_SIZE, f"text:recurrent: {self.size:,} bytes")

    @property
    def place(self) -> str:
        return f"text:recurrent:size={self.size},seed={self.seed}"

    state = ""

    @property
    def files(self) -> int:
        """How many documents there are; the last may be shorter."""
        return -(-self.size // DOCUMENT)

    def documents(self, part: str) -> Iterator[Document]:
        sizes = [min(DOCUMENT, self.size - start) for start in range(0, self.size, DOCUMENT)]
        test = tested([str(index) for index in range(self.files)], sizes)
        for index, size in enumerate(sizes):
            if test[index] == (part == "test"):
                yield Document(str(index), [document(self.seed, index)[:size]])


def document(seed: int, index: int) -> bytes:
    """A document: DOCUMENT bytes, a pure function of its arguments.

    >>> document(0, 0) == document(0, 0) != document(0, 1)
    True
    """
    stream = rng(seed, "text:recurrent", index)
    writer = _LineWriter(names(stream))
    # No line is shorter than 5 bytes, so the draws suffice.
    for choice, detail, distance in stream.random((DOCUMENT // 5 + 1, 3)).tolist():
        writer.line(choice, detail, distance)
        if writer.at >= DOCUMENT:
            break
    return "".join(writer.lines).encode()[:DOCUMENT]


def names(stream: np.random.Generator) -> Iterator[str]:
    """All two-letter beginnings in a random order, each with four random letters."""
    count = len(LETTERS) ** KNOWN
    order = np.argsort(stream.random(count)).tolist()
    ends = (stream.random((count, LENGTH - KNOWN)) * len(LETTERS)).astype(np.int64).tolist()
    for at, end in zip(order, ends, strict=True):
        yield "".join(LETTERS[letter] for letter in (*divmod(at, len(LETTERS)), *end))


@dataclass
class _LineWriter:
    """Writes a document line by line, the next due name before anything new."""

    fresh: Iterator[str]
    at: int = 0  # bytes written
    lines: list[str] = field(default_factory=list[str])
    due: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])  # when, its last time, name
    blocks: list[str] = field(default_factory=list[str])

    def line(self, choice: float, detail: float, distance: float) -> None:
        """One line; the three numbers in [0, 1) choose it."""
        if self.due and self.due[0][0] <= self.at:
            _, last, name = heappop(self.due)
            # Where many are due a name may come too late: that name does not come back.
            if self.at + len(self.blocks) + len("use ") - last <= FARTHEST:
                return self.named("use", name, choice < P_AGAIN, distance)
        if choice < P_NEW and (name := next(self.fresh, "")):
            return self.named("new", name, True, distance)
        if choice < P_NEW + P_OPEN and len(self.blocks) < DEPTH:
            block = BLOCKS[int(detail * len(BLOCKS))]
            self.write(block)
            self.blocks.append(block)
        elif choice > 1 - P_CLOSE and self.blocks:
            block = self.blocks.pop()
            self.write(f"end {block}")
        else:
            self.write(FILLERS[int(detail * len(FILLERS))])

    def named(self, verb: str, name: str, again: bool, distance: float) -> None:
        """A line with a name, which comes back after a log-uniform distance if it does so `again`."""
        start = self.at + len(self.blocks) + len(verb) + 1
        self.write(f"{verb} {name}")
        if again:
            apart = int(NEAREST * (FARTHEST / NEAREST) ** distance)
            # The line that brings it back begins before the name does.
            heappush(self.due, (start + apart - len("use "), start, name))

    def write(self, text: str) -> None:
        self.lines.append(f"{' ' * len(self.blocks)}{text}\n")
        self.at += len(self.lines[-1])


def recurrences(symbols: Symbols) -> NDArray[np.int64]:
    """(count, 2): each letter of a name come back that its beginning tells, and how far back the same letter stands.

    >>> text = np.frombuffer(b"new qkdwmo\\nput red\\nuse qkdwmo\\n", np.uint8)
    >>> recurrences(text).tolist()
    [[25, 19], [26, 19], [27, 19], [28, 19]]
    """
    last: dict[bytes, tuple[bytes, int]] = {}  # by the beginning, of which a document has one name: at most 676
    starts = array("q")
    for match in NAMED.finditer(symbols.data):
        verb, name = match.groups()
        before, at = last.get(name[:KNOWN], (b"", 0))
        if verb == b"use" and before == name:
            starts.extend((match.start(2), match.start(2) - at))
        last[name[:KNOWN]] = (name, match.start(2))
    pairs = np.frombuffer(starts, dtype=np.int64).reshape(-1, 2)  # (names, 2): where it begins, how far back it did
    letters = np.stack([np.arange(KNOWN, LENGTH), np.zeros(LENGTH - KNOWN, dtype=np.int64)], axis=1)  # (letters, 2)
    return (pairs[:, None] + letters).reshape(-1, 2)  # (names * letters, 2)
