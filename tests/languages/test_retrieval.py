"""Retrieval tasks against a reader in plain Python, and how their documents are drawn."""

import itertools
import math
import tracemalloc
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import LanguageError, LengthEmpty, WordError
from languages.randomness import rng
from regulargpt.text.corpora.retrieval import Retrieval, listing, retrieval
from regulargpt.text.corpora.retrieval.base import UNDEFINED
from regulargpt.text.corpora.retrieval.placing import one_and_others, places, stratified
from regulargpt.text.corpora.retrieval.registry import LARGEST_SIZE
from tests.languages.refusing import refusal

NAMES = [name for name, _ in listing()]
TOGETHER = {"needles": 2, "passkey": 5}


def stem(name: str) -> str:
    return name.split(":")[1]


# What a question means, as a person reads it: where the answer stands in the document, None where it does not.


def of_line(document: list[str], mark: str, key: str) -> int | None:
    """The value so many places behind the key as the mark says."""
    if not mark.startswith("?") or not key.startswith("k") or key not in document:
        return None
    place = document.index(key) + int(mark[1:] or "1")
    return place if place < len(document) and document[place].startswith("v") else None


def of_documents(document: list[str], mark: str, key: str) -> int | None:
    """The value in the section that the key heads."""
    if mark != "?" or not key.startswith("k") or key not in document:
        return None
    marks = [place for place in range(document.index(key), len(document) - 1) if document[place] in "#="]
    place = marks[0] + 1 if marks and document[marks[0]] == "=" else 0
    return place if place and document[place].startswith("v") else None


def behind_first(document: list[str], question: tuple[str, str], asked: str, kind: str) -> int | None:
    """What stands behind the first such mark."""
    if question != ("?", asked) or asked not in document[:-1]:
        return None
    place = document.index(asked) + 1
    return place if document[place].startswith(kind) else None


ORACLES: dict[str, Callable[[list[str], str, str], int | None]] = {
    "line": of_line,
    "needles": of_line,
    "passkey": of_line,
    "documents": of_documents,
    "code-key": lambda document, *question: behind_first(document, question, "=", "v"),
    "topic": lambda document, *question: behind_first(document, question, "#", "k"),
}


def by_hand(task: Retrieval, text: str) -> tuple[list[int], list[int], list[int], list[float]]:
    """Places, answers, labels and depths of a word."""
    names = text.split()
    document, tail = names[: -2 * task.questions], names[-2 * task.questions :]
    found = [ORACLES[stem(task.name)](document, *question) for question in zip(tail[::2], tail[1::2], strict=True)]
    answers = [UNDEFINED if place is None else int(document[place][1:]) for place in found]
    behind = [label for answer in answers for label in (UNDEFINED, answer)]
    depths = [math.nan if place is None else place / len(document) for place in found]
    labels = [UNDEFINED] * len(document) + behind
    return [UNDEFINED if place is None else place for place in found], answers, labels, depths


def agrees_with_the_oracle(task: Retrieval, words: np.ndarray) -> None:
    expected = [by_hand(task, task.decode(word)) for word in words]
    found, answers, labels, depths = (np.array(part) for part in zip(*expected, strict=True))
    assert np.array_equal(task.needles_in(words), found)
    assert np.array_equal(task.answers_in(words), answers)
    assert np.array_equal(task.labels(words), labels)
    assert np.array_equal(task.depths(words), depths, equal_nan=True)


@st.composite
def tasks(draw: st.DrawFn) -> Retrieval:
    """Any task with any parameters."""
    name = draw(st.sampled_from(NAMES))
    sizes = {"keys": draw(st.integers(1, 70)), "values": draw(st.integers(1, 20))}
    sizes["questions"] = draw(st.integers(1, 9)) * TOGETHER.get(stem(name), 1)
    if stem(name) == "topic":
        del sizes["values"]
    return retrieval(f"{name}:{','.join(f'{key}={value}' for key, value in sizes.items())}")


SEEDS = st.integers(0, 2**32)


@given(tasks(), st.integers(0, 150), SEEDS)
def test_the_answers_are_those_of_a_reader(task: Retrieval, more: int, seed: int):
    length = task.shortest + more
    words = task.sample(rng(seed, "test"), length, 3)
    assert words.shape == (3, length)
    assert np.array_equal(words, task.sample(rng(seed, "test"), length, 3))
    assert (task.answers_in(words) >= 0).all()  # every question of a drawn word has its answer
    agrees_with_the_oracle(task, words)
    for word in words:
        assert np.array_equal(task.encode(task.decode(word)), word)
        names = task.decode(word).split()
        keys = [name for name in names[: -task.tail] if name[0] == "k"]
        assert len(set(keys)) == len(keys) <= task.keys
        asked = Counter(name for name in names[-task.tail + 1 :: 2] if name[0] == "k")
        if asked:  # as often as another key, or once more
            counts = [asked[key] / task.together for key in keys]
            assert max(counts) - min(counts) <= 1


@given(tasks(), st.integers(1, 60), SEEDS)
def test_words_that_nobody_drew_are_read_alike_and_may_have_no_answer(task: Retrieval, size: int, seed: int):
    random = rng(seed, "any")
    words = random.integers(len(task.symbols), size=(4, size + task.tail))
    # Proper questions, half of them, about anything.
    words[::2, -task.tail :: 2] = task.noise + random.integers(task.together, size=(2, task.questions))
    agrees_with_the_oracle(task, words)


# How many keys and values stand in a document of 60 symbols, of 300.
CONTENTS = {
    "line": [(20, 20), (64, 64)],
    "needles": [(4, 8), (4, 8)],
    "passkey": [(1, 5), (1, 5)],
    "documents": [(6, 6), (16, 16)],
    "code-key": [(6, 1), (30, 1)],
    "topic": [(6, 0), (30, 0)],
}


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_in_a_document(name: str):
    task = retrieval(name)
    for length, expected in zip((60, 300), CONTENTS[stem(name)], strict=True):
        for word in task.sample(rng(0, "test"), length + task.tail, 20):
            letters = Counter(symbol[0] for symbol in task.decode(word[:length]).split())
            assert (letters["k"], letters["v"]) == expected
            assert letters["?"] == 0
            assert letters["#"] == letters["k"] * (stem(name) in ("documents", "code-key", "topic"))


@pytest.mark.parametrize("length", [300, 307, 960])
@pytest.mark.parametrize("name", ["retrieval:passkey", "retrieval:code-key"])
def test_of_100_documents_one_has_the_needle_in_each_hundredth(name: str, length: int):
    task = retrieval(name)
    words = task.sample(rng(0, "test"), length, 100)
    if stem(name) == "passkey":
        starts, items = task.needles_in(words)[:, 0] - 1, length - task.tail - 5
    else:  # a mark and the symbol behind it are one thing
        documents = [task.decode(word[: -task.tail]).split() for word in words]
        places = [document.index("=") for document in documents]
        starts = np.array([at - d[:at].count("#") for at, d in zip(places, documents, strict=True)])
        items = len(documents[0]) - documents[0].count("#") - 1
    # At 100 (i + 1) / items a symbol may belong to this hundredth and to the next.
    hundredths = np.floor(100 * (np.sort(starts) + np.array([[0], [1]])) / items)
    assert (hundredths[0] <= np.arange(100)).all()
    assert (hundredths[1] >= np.arange(100)).all()
    depths = np.sort(task.depths(words).mean(1))
    assert np.abs(depths - (np.arange(100) + 0.5) / 100).max() < 0.03


def arrangements(length: int, widths: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All ways to place blocks of these widths without overlap, found by trying every one."""
    found = []
    for starts in itertools.product(range(length), repeat=len(widths)):
        taken = [at for start, width in zip(starts, widths, strict=True) for at in range(start, start + width)]
        if len(set(taken)) == len(taken) and max(taken) < length:
            found.append(starts)
    return found


def assert_equally_likely(drawn: np.ndarray, possible: set[tuple[int, ...]]) -> None:
    """Pearson's statistic below its quantile 0.9999, by Wilson and Hilferty's approximation."""
    counts = Counter(map(tuple, drawn.tolist()))
    assert set(counts) == possible
    mean, freedom = len(drawn) / len(possible), max(1, len(possible) - 1)
    bound = freedom * (1 - 2 / (9 * freedom) + 3.719 * math.sqrt(2 / (9 * freedom))) ** 3
    assert sum((count - mean) ** 2 / mean for count in counts.values()) <= bound


@pytest.mark.parametrize(("length", "blocks", "width"), [(6, 2, 2), (7, 3, 1), (8, 2, 3), (9, 3, 2), (6, 3, 2)])
def test_every_arrangement_of_blocks_is_equally_likely(length: int, blocks: int, width: int):
    possible = {starts for starts in arrangements(length, (width,) * blocks) if starts == tuple(sorted(starts))}
    assert_equally_likely(places(rng(0, "test"), 20_000, length, blocks, width), possible)


@pytest.mark.parametrize(("length", "others", "width"), [(8, 2, 2), (7, 1, 2), (6, 3, 1), (9, 2, 3)])
def test_every_arrangement_of_one_block_and_others_is_equally_likely(length: int, others: int, width: int):
    possible = {(first, *sorted(more)) for first, *more in arrangements(length, (width,) * (1 + others))}
    drawn = np.concatenate(one_and_others(rng(0, "test"), 20_000, length, others, width), axis=1)
    assert_equally_likely(drawn, possible)


class AlmostOne:
    """Random numbers whose sum with a whole number is rounded up."""

    def permutation(self, count: int) -> np.ndarray:
        return np.arange(count)

    def random(self, count: int) -> np.ndarray:
        return np.full(count, np.nextafter(1.0, 0.0))


def test_a_lone_block_is_stratified_and_stays_inside():
    assert Counter(stratified(rng(0, "test"), 60, 6).tolist()) == dict.fromkeys(range(6), 10)
    assert Counter(places(rng(0, "test"), 60, 8, 1, 3)[:, 0].tolist()) == dict.fromkeys(range(6), 10)
    assert stratified(AlmostOne(), 1000, 7).max() == 6  # type: ignore[arg-type]  # it draws as a generator does


SHORTEST = {"line": 3, "needles": 12, "passkey": 6, "documents": 20, "code-key": 20, "topic": 20}


@pytest.mark.parametrize("name", NAMES)
def test_the_shortest_word_can_be_drawn_and_a_shorter_one_is_refused(name: str):
    task = retrieval(name)
    assert task.shortest == SHORTEST[stem(name)] + 2 * task.questions
    assert task.describe_length(task.shortest) == ""
    agrees_with_the_oracle(task, task.sample(rng(0, "test"), task.shortest, 50))
    for length in (task.shortest - 1, 0):
        line = f"length {length}: {name} has words of {task.shortest} symbols and more; choose a longer one"
        assert task.describe_length(length) == line
        assert refusal(task.sample, rng(0, "test"), length, 1, error=LengthEmpty) == line


REFUSED = {
    "retrieval:lien": "unknown task 'retrieval:lien'; did you mean 'retrieval:line'?",
    "retrieval:": "unknown task 'retrieval:'; known are " + ", ".join(NAMES),
    "retrieval:x": "unknown task 'retrieval:x'; known are " + ", ".join(NAMES),
    "retrieval:line:key=3": "retrieval:line has no parameter 'key'; did you mean 'keys'?",
    "retrieval:line:keys=0": "retrieval:line:keys=0: keys is 0; it is a whole number, 1 to 4096",
    "retrieval:line:keys=4097": "retrieval:line:keys=4097: keys is 4097; it is a whole number, 1 to 4096",
    "retrieval:line:values=-1": "retrieval:line:values=-1: values is -1; it is a whole number, 1 to 4096",
    "retrieval:line:questions=two": "retrieval:line: questions is 'two'; it is a whole number, 1 to 4096",
    "retrieval:line:keys=3,keys=4": "retrieval:line: write each parameter once, as keys=VALUE; VALUE is a whole",
    "retrieval:line:keys": "retrieval:line: write each parameter once, as keys=VALUE; VALUE is a whole number",
    "retrieval:needles:questions=3": "retrieval:needles:questions=3: questions come 2 together; give a multiple of it",
    "retrieval:passkey:questions=6": "retrieval:passkey:questions=6: questions come 5 together; give a multiple of it",
    "retrieval:topic:values=3": "retrieval:topic has no parameter 'values'; its parameters are 'questions', 'keys'",
    f"retrieval:line:keys={'9' * 5000}": "retrieval:line: keys is '999",
}


def test_what_is_no_task_is_refused():
    for name, said in REFUSED.items():
        assert refusal(retrieval, name, error=LanguageError).startswith(said)


# Words of a task and their answers; -1 is UNDEFINED.
WORDS = {
    "line:questions=1": {
        "k3 v2 n0 ? k3": [2],
        "k3 v2 n0 ? k4": [-1],  # no such line
        "n0 v2 k3 ? k3": [-1],  # cut off
        "k3 n2 v0 ? k3": [-1],  # no value
        "v1 v2 n0 ? v1": [-1],  # no key
        "k3 v2 n0 n1 k3": [-1],  # no question
        "k3 v2 n0 k3 k3": [-1],
    },
    "needles:questions=2": {"n0 k3 v2 v7 ?1 k3 ?2 k3": [2, 7], "n0 n0 k3 v2 ?1 k3 ?2 k3": [2, -1]},
    "documents:questions=2": {"# k1 n0 = v5 # k2 = v6 ? k2 ? k1": [6, 5], "# k1 n0 n0 n0 # k2 = v6 ? k2 ? k1": [6, -1]},
    "code-key": {"# k1 n0 = v5 # k2 n0 ? =": [5], "# k1 n0 = v5 # k2 n0 ? #": [-1], "# k1 n0 n0 n0 # k2 = ? =": [-1]},
    "topic": {"n0 # k7 n0 # k2 ? #": [7], "n0 n1 n1 n0 n1 # ? #": [-1], "n0 # k7 n0 # k2 ? =": [-1]},
}


@pytest.mark.parametrize("name", WORDS)
def test_words_and_their_answers(name: str):
    task = retrieval(f"retrieval:{name}")
    for text, answers in WORDS[name].items():
        word = task.encode(text)[None]
        assert task.answers_in(word).tolist() == [answers], text
        agrees_with_the_oracle(task, word)


def test_words_that_a_task_does_not_have_are_refused():
    task = retrieval("retrieval:line:keys=4,values=3,questions=1")
    for act, said in (
        (lambda: task.encode("k3 v0 ? k4"), f"{task.name} has no symbol 'k4'; as in n0 k1 v2"),
        (lambda: task.encode("kk3"), " has no symbol 'kk3'; did you mean 'k3'?"),
        (
            lambda: task.answers_in(task.encode("? k0")[None]),
            "ends with 2 symbols of questions; put a document before them",
        ),
    ):
        assert refusal(act, error=WordError).endswith(said)


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_symbols_and_answers(name: str):
    task = retrieval(name)
    assert len(set(task.symbols)) == len(task.symbols) == task.noise + len(task.marks) + task.keys + task.values
    letter = "k" if stem(name) == "topic" else "v"
    assert task.answers == tuple(f"{letter}{i}" for i in range(len(task.answers)))
    assert task.symbols[task.first_answer : task.first_answer + len(task.answers)] == task.answers
    assert task.chance == pytest.approx(len(task.answers) ** -TOGETHER.get(stem(name), 1))
    words = task.sample(rng(0, "test"), 200, 400)
    assert set(task.answers_in(words).flatten().tolist()) == set(range(len(task.answers)))


@pytest.mark.parametrize("name", NAMES)
def test_many_keys_and_questions_need_little_memory(name: str):
    """Each question compared with each place of the document would take a gigabyte."""
    sizes = f"keys={LARGEST_SIZE},questions={LARGEST_SIZE // 10 * 10}"
    task = retrieval(f"{name}:{sizes}" + ("" if stem(name) == "topic" else f",values={LARGEST_SIZE}"))
    tracemalloc.start()
    words = task.sample(rng(0, "test"), 25_000 + task.tail, 8)
    assert (task.answers_in(words) >= 0).all()
    assert tracemalloc.get_traced_memory()[1] < 20 * words.nbytes
    tracemalloc.stop()
