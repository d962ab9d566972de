"""Words of a user's, each with its answer: `words:FILE`. What the answer to any other word is, nobody says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from languages.answers import CLASSES
from languages.automata.moore import UNDEFINED
from languages.automata.oracle import Oracle
from languages.automata.validation import check_names, check_text
from languages.automata.words import Indices, encode, single_characters
from languages.budget import check
from languages.drawn import DrawnTask
from languages.errors import AutomatonError, shown
from languages.kept import place_of
from languages.unknown.cells import symbols_of

MAX_ANSWERS = 2**16
SHOWN = 6  # words from the top of the file


@dataclass(frozen=True, eq=False)
class GivenWords:
    """Words over an alphabet, and the numbers of their answers; `of_length[T]` are words (n, T).

    >>> given = GivenWords.from_table({"ab": "yes", "ba": "no", "a": "no"})
    >>> given.alphabet, given.answers, given.of_length[2].tolist()
    (('a', 'b'), ('no', 'yes'), [[0, 1], [1, 0]])
    >>> given.labels(np.array([[0, 1], [1, 1]])).tolist()
    [1, -1]
    """

    alphabet: tuple[str, ...]
    answers: tuple[str, ...]
    of_length: Mapping[int, Indices]
    known: Mapping[bytes, int]
    tested: Mapping[bytes, bool] = field(
        default_factory=dict[bytes, bool]
    )  # as the file marks them; empty: it does not

    @classmethod
    def from_table(cls, table: Mapping[str, str], tested: Mapping[str, bool] | None = None) -> GivenWords:
        """From the answer to each word. A space in any word parts symbols in all, else they are characters.

        `tested` says of each word whether it is for the test. AutomatonError: a symbol or answer that is no name, or
        too many of them.
        """
        split = symbols_of(list(table))
        _, alphabet = check_names(("word",), in_order({symbol for word in split for symbol in word}))
        answers = in_order(set(table.values()))
        check(len(answers), MAX_ANSWERS, f"{len(answers):,} different answers")
        check_text(answers, "answer")
        words = [encode(word, alphabet) for word in split]
        numbers = {answer: number for number, answer in enumerate(answers)}
        labels = [numbers[answer] for answer in table.values()]
        by_length: dict[int, list[Indices]] = {}
        for word in words:
            by_length.setdefault(len(word), []).append(word)
        return cls(
            alphabet,
            answers,
            {length: np.stack(by_length[length]) for length in sorted(by_length)},
            {word.tobytes(): label for word, label in zip(words, labels, strict=True)},
            {word.tobytes(): tested[text] for word, text in zip(words, table, strict=True)} if tested else {},
        )

    def labels(self, words: Indices) -> npt.NDArray[np.int64]:
        """(batch,) the answers to words (batch, length), -1 to those that are not given."""
        # Symbols come in the smallest type of the alphabet, so equal bytes are equal words.
        alike = words.astype(encode("", self.alphabet).dtype, copy=False)
        return np.array([self.known.get(word.tobytes(), UNDEFINED) for word in alike], dtype=np.int64)

    def at_the_end(self, words: Indices) -> npt.NDArray[np.int64]:
        """(batch, length) the same at the last symbol; before it nothing is asked, also where that is another word."""
        labels = np.full(words.shape, UNDEFINED, dtype=np.int64)
        labels[:, -1:] = self.labels(words)[:, None] if words.shape[1] else 0
        return labels

    @staticmethod
    def drawn(random: np.random.Generator, words: Indices, count: int) -> Indices:
        """`count` of these words (n, length), each once unless there are fewer."""
        n = len(words)
        return words[random.permutation(n)[:count] if count <= n else random.integers(n, size=count)]

    def kept_back(self, length: int, share: float) -> npt.NDArray[np.bool_]:
        """(n,) which words of a length are kept for the test: those that are marked, or this share, by a hash.

        A word's hash is its own: it stays where it is when others are added to the file, on every machine.
        """
        if self.tested:
            return np.array([self.tested[word.tobytes()] for word in self.of_length[length]], dtype=np.bool_)
        rows: list[list[int]] = self.of_length[length].tolist()
        return np.array([share_of_hash(" ".join(self.alphabet[i] for i in row)) for row in rows]) < share

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the words and answers, whatever their order."""
        lines = (word.hex() + f" {label}\n" for word, label in self.known.items())
        names = repr((self.alphabet, self.answers))
        tests = sorted(word.hex() + " test\n" for word, is_tested in self.tested.items() if is_tested)
        return hashlib.sha256("".join([names, *sorted(lines), *tests]).encode()).hexdigest()


def share_of_hash(word: str) -> float:
    """A number from 0 to 1 that is as good as drawn, the same for the same word.

    >>> round(share_of_hash("0 1 1"), 3)
    0.205
    """
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") / 2**64


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names as people order them: numbers by size, reject before accept, others by the alphabet.

    >>> in_order({"10", "9"}), in_order({"accept", "reject"}), in_order({"b", "a", "1"})
    (('9', '10'), ('reject', 'accept'), ('1', 'a', 'b'))
    """
    ordered = sorted(names)
    if ordered == sorted(CLASSES):
        return CLASSES
    are_numbers = all(name.isascii() and name.isdigit() and len(name) < 20 for name in ordered)
    return tuple(sorted(ordered, key=int)) if are_numbers else tuple(ordered)


@dataclass(frozen=True, eq=False)
class GivenTask(DrawnTask):
    """The task of given words: drawn from them, and answered as they say."""

    given: GivenWords = field(kw_only=True)
    answers_prefixes = False


def words(file: str) -> GivenTask:
    """The words and answers of a CSV or TSV file, as `languages.unknown.table` reads it.

    AutomatonError: no such file, or no words in it; the message names the file, and the line where it is about a line.

    >>> words("no-such-file.csv")
    Traceback (most recent call last):
    ...
    languages.errors.AutomatonError: no-such-file.csv: cannot be read (No such file or directory)
    """
    from languages.convert.reading import named
    from languages.unknown.table import read_table

    if not file:
        raise AutomatonError("words: needs a file of words and answers, as in words:mine.csv")
    path = place_of(file, file)
    rows = read_table(path)
    table = {word: row.answer for word, row in rows.items()}
    tested = {word: row.split == "test" for word, row in rows.items() if row.split}
    with named(shown(path)):
        return given_task_of(table, f"words:{file}", f"the words and answers in {file}", tested)


def given_task_of(
    table: Mapping[str, str],
    name: str,
    summary: str = "words and their answers",
    tested: Mapping[str, bool] | None = None,
) -> GivenTask:
    """The task of words with their answers; `tested` says of each whether it is for the test, if that is settled.

    >>> given_task_of({"ab": "yes", "ba": "no"}, "mine").machine.answers("ba").item()
    0
    """
    if not table:
        raise AutomatonError("no word is given; give at least one, with its answer")
    given = GivenWords.from_table(table, tested)

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        return given.drawn(random, given.of_length[length], count)

    apart = "" if single_characters(given.alphabet) else " "
    some = [apart.join(word.split()) for word in list(table)[:SHOWN]]
    return GivenTask(
        name=name,
        machine=Oracle(given.alphabet, given.answers, given.at_the_end, given.labels),
        summary=summary,
        source="the user's",
        examples=tuple(zip(some, list(table.values())[:SHOWN], strict=True)),
        draw=draw,
        has=lambda length: length in given.of_length,
        level="unknown",
        given=given,
    )
