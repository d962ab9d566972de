"""Words and answers in a table: a CSV or TSV file with the columns `word` and `answer`, and perhaps `split`."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from languages.budget import check
from languages.convert.files import read_text, refuse_folder
from languages.convert.reading import named
from languages.errors import AutomatonError, one_of, shown
from languages.unknown.cells import WordRow, meant

DELIMITERS = {".csv": ",", ".tsv": "\t"}
COLUMNS = ("word", "answer")
SPLIT = "split"
PARTS = ("train", "test")
MAX_WORDS = 2**20


def read_table(path: Path) -> dict[str, WordRow]:
    """The row of each word of a file, in the file's order, its cells as `languages.unknown.cells` reads them.

    AutomatonError with the file's name, and the line where it is about a line: no such file or another ending, no such
    columns, a line without a word or an answer, a word with two answers or in two parts of the split, cells that may
    mean two things, no word at all. TooLarge: beyond 16 MiB or 1,048,576 words.

    >>> read_table(Path("no-such-file.csv"))
    Traceback (most recent call last):
    ...
    languages.errors.AutomatonError: no-such-file.csv: cannot be read (No such file or directory)
    """
    name = shown(path)
    refuse_folder(path)
    if (delimiter := DELIMITERS.get(path.suffix.lower())) is None:
        raise AutomatonError(f"{name}: unknown ending {path.suffix!r}; words are in {', '.join(DELIMITERS)} files")
    text = read_text(path)
    with named(name):
        given = one_each(meant(list(rows_of(text, delimiter))))
        if not given:
            raise AutomatonError("no word in it; give a line of a word and its answer for each")
    return given


def one_each(rows: Iterable[WordRow]) -> dict[str, WordRow]:
    """The row of each word. AutomatonError: a word with two answers, or for the training and the test."""
    given: dict[str, WordRow] = {}
    for row in rows:
        first = given.setdefault(row.word, row)
        if (row.answer, row.split) != (first.answer, first.split):
            what, mine, other = ("answer", row.answer, first.answer)
            if mine == other:
                what, mine, other = ("split", row.split, first.split)
            both = f"the {what} {mine!r:.80}, and {other!r:.80} on line {first.line}"
            raise AutomatonError(f"line {row.line}: the word {row.word!r:.80} has {both}; give each word one {what}")
        check(len(given), MAX_WORDS, f"{len(given):,} words")
    return given


def rows_of(text: str, delimiter: str) -> Iterator[WordRow]:
    """Each row that is not empty.

    >>> list(rows_of("answer,word,note\\nodd,0 1,first\\n", ","))
    [WordRow(line=2, word='0 1', answer='odd', split='')]
    """
    rows = csv.reader(text.split("\n"), delimiter=delimiter, strict=True)
    try:
        at = columns(next(rows, list[str]()), delimiter)
        for row in rows:
            if row:
                yield WordRow(rows.line_num, *pair(row, at[:2], rows.line_num), split(row, at[2:], rows.line_num))
    except csv.Error as error:
        raise AutomatonError(f"line {rows.line_num}: no row of a table ({error})") from None


def columns(header: list[str], delimiter: str) -> list[int]:
    """Which columns hold the word and the answer, and the split if any."""
    header = [cell.strip() for cell in header]
    for column in COLUMNS:
        if (count := header.count(column)) != 1:
            form = f"the first line names the columns, as in word{'TAB' if delimiter != ',' else ','}answer"
            said = f"{count or 'no'} column{'s' * (count > 1)} {column!r} among {one_of(header) or 'none'}"
            raise AutomatonError(f"{said}; {form}")
    return [header.index(column) for column in (*COLUMNS, SPLIT) if column in header]


def split(row: list[str], at: list[int], line: int) -> str:
    """Whether a row is for the training or the test; empty where no column says so."""
    if not at:
        return ""
    mark = row[at[0]].strip() if len(row) > at[0] else ""
    if mark.lower() not in PARTS:
        raise AutomatonError(f"line {line}: the split is {mark!r:.80}; write train or test, or rename the column")
    return mark.lower()


def pair(row: list[str], at: list[int], line: int) -> tuple[str, str]:
    """The word and the answer of a row."""
    if len(row) <= max(at):
        raise AutomatonError(f"line {line}: {len(row)} cells, and a word and its answer stand in cells {at[0] + 1} "
                             f"and {at[1] + 1}; fill both")  # fmt: skip
    word, answer = row[at[0]].strip(), row[at[1]].strip()
    if not word or not answer:
        missing = "word" if not word else "answer"
        raise AutomatonError(f"line {line}: the {missing} is empty; a word has at least 1 symbol, and an answer a name")
    return " ".join(word.split()), answer
