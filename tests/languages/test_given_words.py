"""Words and answers in a file: what is read, what is refused in one line, and which words are kept for the test."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import languages
from languages import find, rng
from languages.errors import LanguageError
from languages.registry import level_of
from languages.unknown.words import GivenTask, given_task_of
from regulargpt.data import read_data
from regulargpt.data.given import GivenData
from tests.languages.refusing import is_like, outcome, refusal

TABLE = {"ab": "odd", "aa": "even", "b": "odd", "bab": "even"}


def written(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return f"words:{path}"


READ = [
    ("it.csv", "word,answer\nab,odd\naa,even\nb,odd\nbab,even\n"),
    ("it.csv", '\ufeffanswer , word, note\r\nodd,ab,"a\nb"\r\neven,aa\r\nodd,b\r\n\r\neven, bab \r\n'),
    ("it.tsv", "word\tanswer\na b\todd\na  a\teven\nb\todd\nb a b\teven\nb\todd"),
    ("IT.CSV", 'word,answer\n"ab","odd"\n"aa","even"\nb,odd\nbab,even'),
]


@pytest.mark.parametrize(("name", "text"), READ)
def test_a_file_says_what_the_answers_are(name: str, text: str, tmp_path: Path) -> None:
    """By characters, or by what spaces part; columns in any order; all kinds of line ends, quotes, repeated lines."""
    task = find(written(tmp_path / name, text))
    assert isinstance(task, GivenTask)
    assert (task.alphabet, task.output_names, task.level) == (("a", "b"), ("even", "odd"), "unknown")
    for length in range(1, 5):
        words = np.array(np.meshgrid(*[[0, 1]] * length)).reshape(length, -1).T  # (words, length), all there are
        texts = ["".join("ab"[i] for i in word) for word in words]
        expected = [task.output_names.index(TABLE[text]) if text in TABLE else -1 for text in texts]
        assert task.labels(words).tolist() == expected
        assert task.questions(words).tolist() == [text in TABLE for text in texts]
        assert task.has_length(length) == (length < 4)
        # A beginning that is another word of the file has no answer: it may be a test word.
        assert (task.labels(words, every=True)[:, :-1] == -1).all()


REFUSED = [
    ("it.txt", "word,answer\na,b", "it.txt: unknown ending '.txt'; words are in .csv, .tsv files"),
    ("it.csv", "", "it.csv: no column 'word' among none; the first line names the columns, as in word,answer"),
    ("it.csv", "Word,answer\na,b", "it.csv: no column 'word' among 'Word', 'answer'; the first line …"),
    ("it.tsv", "word,answer\na,b", "it.tsv: no column 'word' among 'word,answer'; … as in wordTABanswer"),
    ("it.csv", "word,answer,word\na,b,c", "it.csv: 2 columns 'word' among 'word', 'answer', 'word'; …"),
    ("it.csv", "word,answer\n\n", "it.csv: no word in it; give a line of a word and its answer for each"),
    ("it.csv", "word,answer\na,b\na", "it.csv, line 3: 1 cells, and a word and its answer stand in cells 1 and 2; …"),
    ("it.csv", "word,answer\n ,b", "it.csv, line 2: the word is empty; a word has at least 1 symbol, …"),
    ("it.csv", "word,answer\na,", "it.csv, line 2: the answer is empty; … and an answer a name"),
    ("it.csv", "word,answer\na,x\nb,x\na,y", "it.csv, line 4: the word 'a' has the answer 'y', and 'x' on line 2; …"),
    ("it.csv", 'word,answer\na,"b', "it.csv, line …: no row of a table (unexpected end of data)"),
    ("it.csv", "word,answer\na," + "b" * 200_000, "it.csv, line 2: no row of a table (field larger than … (131072))"),
    ("it.csv", b"word,answer\n\xff,b", "it.csv: not a text file in UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "message"), REFUSED, ids=[row[2] for row in REFUSED])
def test_refusals(name: str, text: str | bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path(name), text)
    assert is_like(refusal(find, f"words:{name}"), message)


def test_a_file_is_named() -> None:
    assert refusal(find, "words:") == "words: needs a file of words and answers, as in words:mine.csv"


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.00001")
    name = written(tmp_path / "it.csv", "word,answer\n" + "".join(f"{n},x\n" for n in range(12)))
    assert is_like(refusal(find, name), "…it.csv: 11 words; at most 10 are allowed, LANGUAGES_BUDGET=…")


@given(st.text(max_size=60) | st.lists(st.sampled_from('ab01 ,"\n\r\t\0é')).map("".join))
def test_any_file_is_read_or_refused_in_one_line(text: str) -> None:
    from languages.unknown.cells import meant
    from languages.unknown.table import one_each, rows_of

    def summary() -> str:
        rows = one_each(meant(list(rows_of("word,answer\n" + text, ","))))
        return given_task_of({word: row.answer for word, row in rows.items()}, "it").summary

    said = outcome(summary)
    assert said
    assert "\n" not in said


def test_where_a_machine_is_needed_one_line_says_that_there_is_none(tmp_path: Path) -> None:
    name = written(tmp_path / "it.csv", READ[0][1])
    assert level_of(name) == "unknown"
    said = refusal(languages.get, name, error=LanguageError)
    assert said.endswith("only words and their answers are known, no automaton, and this needs one; choose a regular "
                         "language, as in dyck-4")  # fmt: skip


def test_no_word_is_trained_on_and_tested(tmp_path: Path) -> None:
    """The share is kept, on every reading, in any order of the lines, and when other words come to the file."""
    random = rng(0, "words of a file")
    words = {"".join("abc"[i] for i in random.integers(3, size=random.integers(1, 9))) for _ in range(1500)}
    lines = sorted(f"{word},{len(word) % 2}\n" for word in words)
    first = read_data(written(tmp_path / "first.csv", "word,answer\n" + "".join(lines)))
    other = read_data(written(tmp_path / "other.csv", "word,answer\n" + "".join(lines[::-1][:500])))
    assert isinstance(first, GivenData)
    assert isinstance(other, GivenData)
    found = [texts(data, tested) for data in (first, other) for tested in (False, True)]
    assert not found[0] & found[1]
    assert found[0] | found[1] == words
    assert found[2] <= found[0]
    assert found[3] <= found[1]
    assert 0.07 < len(found[1]) / len(words) < 0.13
    assert first.fingerprint() != other.fingerprint()


def texts(data: GivenData, tested: bool) -> set[str]:
    """All words of a part, as they come from batches or the test."""
    found = set[str]()
    for length in data.given.of_length:
        if tested and data.is_tested(length):
            drawn = data.test(0, length, 10_000)
            assert len(np.unique(drawn, axis=0)) == len(drawn)
        elif not tested and data.has_length(length):
            drawn = np.concatenate([data.batch(0, "train", step, [length], 500) for step in range(20)])
        else:
            continue
        found |= {data.task.machine.decode(word) for word in drawn}
    return found


def test_words_longer_than_those_of_the_training_are_test_words(tmp_path: Path) -> None:
    from dataclasses import replace

    data = read_data(written(tmp_path / "it.csv", "word,answer\n" + "".join(f"{'a' * n},x\n" for n in range(1, 61))))
    assert isinstance(data, GivenData)
    short = replace(data, options=replace(data.options, train_len=10, held_out=0.0))
    assert short.lengths(10) == [*range(1, 11)]
    assert [short.is_tested(length) for length in (9, 10, 11, 60, 61)] == [False, False, True, True, False]
    assert (short.options.first_tested, data.options.first_tested) == (11, 1)
