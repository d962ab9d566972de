"""What the cells of a table mean: commas in words, spellings of one answer, and a row of answers, one a symbol."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from languages.budget import check
from languages.errors import AutomatonError

PARTED = re.compile(r"[^\s,]+(?:, [^\s,]+)*")
BARE = re.compile(r"\w+(?:,\w+)*")
MAX_SPELLED = 2**27  # symbols of all beginnings of words
TRUTHS = ("false", "true")
WHOLE = re.compile(r"(-?\d+)\.0+")


class WordRow(NamedTuple):
    """A word with its answer, and where they stand; `split` is train, test, or empty without such a column."""

    line: int
    word: str
    answer: str
    split: str = ""


def symbols_of(words: Sequence[str]) -> list[Sequence[str]]:
    """The symbols of each word: between blanks, where any word has one, else the characters.

    >>> symbols_of(["ab", "b"]), symbols_of(["push pop", "push"])
    (['ab', 'b'], [['push', 'pop'], ['push']])
    """
    return [word.split() for word in words] if any(" " in word for word in words) else list(words)


def meant(rows: Sequence[WordRow]) -> list[WordRow]:
    """The rows as their author means them. AutomatonError, with the line: what may mean two things.

    >>> rows = meant([WordRow(2, "a, b", "True"), WordRow(3, "b", "true")])
    >>> [(row.word, row.answer) for row in rows]
    [('a b', 'true'), ('b', 'true')]
    """
    return _spelled(_unrolled(_parted(rows)))


def _parted(rows: Sequence[WordRow]) -> Sequence[WordRow]:
    """Words without the commas that part their symbols."""
    if not any("," in row.word for row in rows):
        return rows
    has_blank = any(" " in row.word for row in rows)
    if has_blank and all(PARTED.fullmatch(row.word) for row in rows):
        return [row._replace(word=row.word.replace(",", "")) for row in rows]
    first = next(row for row in rows if "," in row.word)
    if not has_blank and all(BARE.fullmatch(row.word) for row in rows):
        parts = first.word.replace(",", " ")
        comma = first.word.replace(",", " , ")
        raise _error(first, f"in the word {first.word!r:.80} a comma may be a symbol; write {parts!r:.80} if it parts "
                            f"symbols, {comma!r:.80} if it is one")  # fmt: skip
    symbols = {symbol for row in rows for symbol in row.word.split()} if has_blank else set[str]()
    for row in rows:
        for symbol in row.word.split():
            if symbol[:-1] in symbols and symbol[-1] == ",":
                both = f"the symbols {symbol!r:.40} and {symbol[:-1]!r:.40}"
                raise _error(row, f"the file has {both}; write blanks between symbols, without commas")
    return rows


def _unrolled(rows: Sequence[WordRow]) -> Sequence[WordRow]:
    """Where each answer is a row, one a symbol: a row for each beginning of each word, with its answer."""
    words = symbols_of([row.word for row in rows])
    answers = [row.answer.split() for row in rows]
    several = {row.answer for row, parts in zip(rows, answers, strict=True) if len(parts) > 1}
    if not several:
        return rows
    fits = [len(word) == len(parts) for word, parts in zip(words, answers, strict=True)]
    if all(fits):
        size = sum(len(word) * (len(word) + 1) // 2 for word in words)
        check(size, MAX_SPELLED, f"written out the rows of answers are of {size:,} symbols")
        return list(_beginnings(rows, words, answers))
    # One answer of two words, such as "too short", may fit a word by chance.
    if len(several) > 1 and any(fit and row.answer in several for row, fit in zip(rows, fits, strict=True)):
        at = fits.index(False)
        counts = f"has {len(answers[at])} parts, and the word {len(words[at])} symbols"
        raise _error(rows[at], f"the answer {rows[at].answer!r:.80} {counts}, while other answers have one for each; "
                               "give one for each, or write _ for the blanks in an answer's name")  # fmt: skip
    return rows


def _beginnings(
    rows: Sequence[WordRow], words: Sequence[Sequence[str]], answers: Sequence[Sequence[str]]
) -> Iterator[WordRow]:
    given: dict[str, WordRow] = {}
    trained: set[str] = set()
    for row, word, parts in zip(rows, words, answers, strict=True):
        apart = "" if isinstance(word, str) else " "
        for end, answer in enumerate(parts, 1):
            beginning = apart.join(word[:end])
            first = given.setdefault(beginning, row._replace(word=beginning, answer=answer))
            if first.answer != answer:
                both = f"the answer {answer!r:.40}, and {first.answer!r:.40} on line {first.line}"
                raise _error(row, f"the beginning {beginning!r:.80} has {both}; give each symbol one answer, "
                                  "whatever comes behind it")  # fmt: skip
            if row.split == "train":
                trained.add(beginning)
    # What a word of the training begins with is trained on, also where a word of the test begins so.
    for beginning, row in given.items():
        yield row._replace(split="train") if beginning in trained else row


def _spelled(rows: Sequence[WordRow]) -> list[WordRow]:
    """`True`, `true` and `TRUE` are one answer, and so are `1` and `1.0`; other spellings are asked about."""
    spellings: dict[str, dict[str, WordRow]] = {}
    for row in rows:
        spellings.setdefault(_folded(row.answer), {}).setdefault(row.answer, row)
    for truth, number in zip(TRUTHS, "01", strict=True):
        if truth in spellings and number in spellings:
            raise _two(*(next(iter(spellings[answer].values())) for answer in (truth, number)))
    written: dict[str, str] = {}
    for folded, every in spellings.items():
        if len(every) > 1 and folded not in TRUTHS and not folded.lstrip("-").isdigit():
            raise _two(*list(every.values())[:2])
        written |= dict.fromkeys(every, folded if len(every) > 1 else next(iter(every)))
    if any(len(spellings.get(truth, ())) > 1 for truth in TRUTHS):
        written |= {answer: truth for truth in TRUTHS for answer in spellings.get(truth, ())}
    return [row._replace(answer=written[row.answer]) for row in rows]


def _folded(answer: str) -> str:
    """The same for spellings of one answer; a and A may be two."""
    if match := WHOLE.fullmatch(answer):
        return match[1]
    return answer.casefold() if len(answer) > 1 and answer.isalpha() else answer


def _two(row: WordRow, other: WordRow) -> AutomatonError:
    first, second = sorted((row, other))
    both = f"the answer {second.answer!r:.80}, and {first.answer!r:.80} on line {first.line}"
    return _error(second, f"{both}, may be one; write it in one way, or give the two other names")


def _error(row: WordRow, what: str) -> AutomatonError:
    return AutomatonError(f"line {row.line}: {what}")
