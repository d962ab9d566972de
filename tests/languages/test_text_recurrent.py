"""`text:recurrent`: names come back at distances that are known, and only the far past tells them."""

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from regulargpt.text.corpora import Corpus, corpus
from regulargpt.text.corpora.recurrent import DOCUMENT, KNOWN, LENGTH, document, recurrences
from regulargpt.text.corpora.split import is_test

# Another digest: raise FORMAT in assemble.py, or caches keep the text of before.
GOLDEN = "76a516b34f4bdb5d9bd264afc95b485ad3733a636909db5f3214f51aa3bdf202"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANGUAGES_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield corpus("text:recurrent")


def test_the_same_text_everywhere(text: Corpus):
    assert text.digest == GOLDEN
    assert len(text.train) + len(text.test) == 2**22
    assert 0.05 < len(text.test) / 2**22 < 0.2
    assert text.files == 2**22 // DOCUMENT
    test = [document(0, index) for index in range(text.files) if is_test(str(index))]
    assert text.test.tobytes() == b"".join(test)


@pytest.mark.parametrize("size", [65_536, 100_003])
def test_a_text_has_the_size_that_was_asked_for(size: int, text: Corpus):
    found = corpus(f"text:recurrent:size={size},seed=1")
    assert len(found.train) + len(found.test) == size
    assert len(found.test) > 0
    assert found.digest != corpus(f"text:recurrent:size={size},seed=2").digest


def by_hand(text: str) -> list[tuple[int, int]]:
    """The letters of returned names and their distances, by a search backwards for the whole name."""
    found: list[tuple[int, int]] = []
    for match in re.finditer(r"use ([a-z]+)\n", text):
        start = match.start(1)
        before = max(text.rfind(f"{verb} {match[1]}\n", 0, match.start()) + 4 for verb in ("new", "use"))
        found += [(start + letter, start - before) for letter in range(KNOWN, LENGTH)]
    return found


@pytest.mark.parametrize("index", [0, 1, 77])
def test_the_recurrences_of_a_document(index: int):
    data = document(0, index)
    assert len(data) == DOCUMENT
    assert recurrences(np.frombuffer(data, np.uint8)).tolist() == [list(row) for row in by_hand(data.decode())]


def test_the_far_past_tells_each_of_these_symbols(text: Corpus):
    position, distance = text.recurrences().T
    assert len(position) > 10_000
    assert len(set(position.tolist())) == len(position)
    np.testing.assert_array_equal(text.test[position], text.test[position - distance])
    assert distance.min() >= 10
    assert distance.max() <= 2000


def test_nothing_nearer_tells_them(text: Corpus):
    """Between the two occurrences of a name its first letters begin no other word, and the name does not stand."""
    data = text.test.tobytes()
    for position, distance in text.recurrences()[:: (LENGTH - KNOWN) * 50].tolist():
        start = position - KNOWN
        between = data[start - distance + LENGTH : start]
        assert not re.search(rb"(new|use) " + data[start : start + KNOWN], between)
    assert corpus("text:code").recurrences().shape == (0, 2)  # other texts have none


def test_names_begin_differently_and_blocks_are_nested(text: Corpus):
    for index in range(5):
        names = set(re.findall(rb"(?:new|use) ([a-z]{6})\n", document(3, index)))
        assert max(Counter(name[:KNOWN] for name in names).values()) == 1
        assert set(re.findall(rb"use ([a-z]{6})\n", document(3, index))) <= names
    for index in range(5):
        blocks: list[str] = []
        for line in document(0, index).decode().split("\n")[:-1]:
            depth, words = len(line) - len(line.lstrip(" ")), line.strip()
            if words.startswith("end "):
                assert words == f"end {blocks.pop()}"
            assert depth == len(blocks) <= 4
            if words.split()[0] in ("for", "if", "do"):
                blocks.append(words)


def test_distances_are_about_log_uniform_and_letters_uniform(text: Corpus):
    """Eight equal steps of the logarithm from 10 to 2000. Lines are whole, so few names come back the nearest way."""
    distance = text.recurrences()[:: LENGTH - KNOWN, 1]
    counts, _ = np.histogram(np.log(distance / 10) / np.log(200), bins=8, range=(0, 1))
    shares = counts / counts.sum()
    assert shares[0] > 0.02
    assert (shares[1:] > 0.09).all()
    assert (shares[1:] < 0.19).all()
    # Letters are uniform, so the best guess without the far past costs log2(26) bits a letter.
    names = re.findall(rb"new ([a-z]{6})\n", text.train.tobytes())
    counts = np.bincount(np.frombuffer(b"".join(name[KNOWN:] for name in names), np.uint8) - ord("a"), minlength=26)
    expected = counts.sum() / 26
    assert ((counts - expected) ** 2 / expected).sum() < 60  # chi-squared, 25 degrees: 1 in 10,000
