"""Words and answers in a table: a CSV or TSV file with the columns `word` and `answer`."""

import csv
from collections.abc import Iterator
from pathlib import Path

from languages.budget import check
from languages.convert.files import read_text
from languages.errors import AutomatonError, one_of, shown

DELIMITERS = {".csv": ",", ".tsv": "\t"}
COLUMNS = ("word", "answer")
MAX_WORDS = 2**20

Pair = tuple[str, str]


def read_table(path: Path) -> dict[str, str]:
    """The answer to each word of a file, in the file's order; other columns are left alone.

    AutomatonError with the file's name, and the line where it is about one: no such file or another ending, no such
    columns, a line without a word or an answer, a word with two answers, no word at all. TooLarge: beyond 16 MiB or
    1,048,576 words.

    >>> read_table(Path("no-such-file.csv"))
    Traceback (most recent call last):
    ...
    languages.errors.AutomatonError: no-such-file.csv: cannot be read (No such file or directory)
    """
    name = shown(path)
    if (delimiter := DELIMITERS.get(path.suffix.lower())) is None:
        raise AutomatonError(f"{name}: unknown ending {path.suffix!r}; words are in {', '.join(DELIMITERS)} files")
    answers: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, (word, answer) in pairs(read_text(path), name, delimiter):
        if answers.setdefault(word, answer) != answer:
            both = f"the answer {answer!r:.80}, and {answers[word]!r:.80} on line {lines[word]}"
            raise AutomatonError(f"{name}, line {line}: the word {word!r:.80} has {both}; give each word one answer")
        lines.setdefault(word, line)
        check(len(answers), MAX_WORDS, f"{name}: {len(answers):,} words")
    if not answers:
        raise AutomatonError(f"{name}: no word in it; give a line of a word and its answer for each")
    return answers


def pairs(text: str, name: str, delimiter: str) -> Iterator[tuple[int, Pair]]:
    """The line, word and answer of each row that is not empty.

    >>> list(pairs("answer,word,note\\nodd,0 1,first\\n", "it.csv", ","))
    [(2, ('0 1', 'odd'))]
    """
    rows = csv.reader(text.split("\n"), delimiter=delimiter, strict=True)
    try:
        at = columns(next(rows, list[str]()), name, delimiter)
        for row in rows:
            if row:
                yield rows.line_num, pair(row, at, f"{name}, line {rows.line_num}")
    except csv.Error as error:
        raise AutomatonError(f"{name}, line {rows.line_num}: no row of a table ({error})") from None


def columns(header: list[str], name: str, delimiter: str) -> list[int]:
    """Which columns hold the word and the answer."""
    header = [cell.strip() for cell in header]
    for column in COLUMNS:
        if (count := header.count(column)) != 1:
            form = f"the first line names the columns, as in word{'TAB' if delimiter != ',' else ','}answer"
            found = f"{count or 'no'} column{'s' * (count > 1)} {column!r} among {one_of(header) or 'none'}"
            raise AutomatonError(f"{name}: {found}; {form}")
    return [header.index(column) for column in COLUMNS]


def pair(row: list[str], at: list[int], where: str) -> Pair:
    """The word and the answer of a row."""
    if len(row) <= max(at):
        raise AutomatonError(f"{where}: {len(row)} cells, and a word and its answer stand in cells {at[0] + 1} "
                             f"and {at[1] + 1}; fill both")  # fmt: skip
    word, answer = row[at[0]].strip(), row[at[1]].strip()
    if not word or not answer:
        missing = "word" if not word else "answer"
        raise AutomatonError(f"{where}: the {missing} is empty; a word has at least 1 symbol, and an answer a name")
    return " ".join(word.split()), answer
