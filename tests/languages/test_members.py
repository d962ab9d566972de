"""Members drawn as published code draws them, compared with slow generators that follow the description closely."""

from collections import Counter
from fractions import Fraction
from itertools import groupby, product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from languages import get, rng
from languages.sampling.members import Members
from languages.sampling.published import Blocks, Tomita3Runs, Tomita4Walk, Tomita7Runs
from languages.sampling.sampler import WordSampler
from tests.languages.random_machines import members, near

SAMPLERS: dict[str, Members] = {
    **{f"dyck-{n}": Blocks(n) for n in (1, 2, 3, 4, 12, 60)},
    "tomita-3": Tomita3Runs(),
    "tomita-4": Tomita4Walk(),
    "tomita-7": Tomita7Runs(),
}
SPECIFICATIONS = ["dyck-12:members=blocks", "tomita-3:members=runs", "tomita-4:members=walk", "tomita-7:members=runs"]


def one_dyck_word(random: np.random.Generator, n: int, size: int) -> str:
    """A word of D_n with `size` symbols."""
    word = ""
    while n > 0 and len(word) < size:
        room = size - len(word) - 2
        mean = 0.75 * room
        inner = int(mean + 0.1 * mean * random.standard_normal())
        inner = min(room, inner - inner % 2)
        word += "0" + one_dyck_word(random, n - 1, inner) + "1"
    return word


def one_tomita_3_word(random: np.random.Generator, length: int) -> str:
    word = ""
    while len(word) < length:
        room = length - len(word)
        if random.random() < 0.5:
            word += "1" * int(random.integers(0, room + 1))
            continue
        runs = [(symbol, len(list(run))) for symbol, run in groupby(word)]
        ones = next((size for symbol, size in reversed(runs) if symbol == "1"), 0)
        numbers = range(0, room + 1, 2 if ones % 2 else 1)
        word += "0" * numbers[int(random.integers(len(numbers)))]
    return word


def words_of(sampler: Members, length: int, count: int, seed: int = 0) -> list[str]:
    return ["".join(map(str, word)) for word in sampler.sample(rng(seed, "members", length), length, count).tolist()]


def assert_same_distribution(left: Counter[str], right: Counter[str]) -> None:
    """The two-sample chi-square statistic within 5 standard deviations; rare words are counted together."""
    often = [word for word in left | right if left[word] + right[word] >= 20]
    table = np.array([[counts[word] for word in often] for counts in (left, right)], dtype=float)
    rest = np.array([[left.total()], [right.total()]]) - table.sum(1, keepdims=True)
    table = np.concatenate([table, rest], axis=1)
    table = table[:, table.sum(0) > 0]
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    freedom = table.shape[1] - 1
    assert freedom > 5
    assert abs(((table - expected) ** 2 / expected).sum() - freedom) < 5 * sqrt(2 * freedom)


def deepest(words: np.ndarray) -> np.ndarray:
    return (1 - 2 * words.astype(np.int64)).cumsum(axis=1).max(axis=1)


@pytest.mark.parametrize("name", SAMPLERS)
def test_short_lengths_exhaustively(name: str) -> None:
    """Lengths 0..10: there are words where the language has members, and many draws give members only."""
    sampler = SAMPLERS[name]
    for length in range(11):
        inside = {*members(get(name).language, length)}
        assert sampler.has(length) == bool(inside)
        if inside:
            words = sampler.sample(rng(0, "short", length), length, 4000)
            assert (words.shape, words.dtype) == ((4000, length), np.uint8)
            found = {tuple(word) for word in words.tolist()}
            assert found <= inside
            assert found == inside or name.startswith("dyck") or length > 6
    assert not sampler.has(-2)


@settings(max_examples=60)
@given(
    name=st.sampled_from(list(SAMPLERS)), length=st.integers(0, 300), count=st.integers(0, 40), seed=st.integers(0, 99)
)
def test_words_are_members(name: str, length: int, count: int, seed: int) -> None:
    sampler = SAMPLERS[name]
    length += length % 2 if name.startswith("dyck") else 0
    words = sampler.sample(rng(seed, "law"), length, count)
    assert words.shape == (count, length)
    assert get(name).language.accepts(words).all()
    assert np.array_equal(words, sampler.sample(rng(seed, "law"), length, count))


@pytest.mark.parametrize(
    ("name", "length"), [("dyck-2", 24), ("dyck-3", 26), ("dyck-12", 24), ("tomita-3", 7), ("tomita-3", 12)]
)
def test_words_follow_the_description(name: str, length: int) -> None:
    random, sampler = rng(0, "one by one"), SAMPLERS[name]
    if isinstance(sampler, Blocks):
        slow = Counter(one_dyck_word(random, sampler.depth_bound, length) for _ in range(3000))
    else:
        slow = Counter(one_tomita_3_word(random, length) for _ in range(5000))
    assert_same_distribution(Counter(words_of(sampler, length, 30_000)), slow)


def test_statistics_of_published_members() -> None:
    """Of D_12 at length 80 the mean depth is 7.7, at 200 one word in seven reaches 12, at 500 nearly all do.

    Members of Tomita 3 have 3.9 runs on average at length 500, uniform ones 197. (01)(01)(01)(01) is one of eight
    words of D_2, and never drawn as blocks.
    """
    depths = {T: deepest(Blocks(12).sample(rng(0, "depth", T), T, 8000)) for T in (80, 200, 500)}
    assert round(depths[80].mean(), 1) == 7.7
    assert 0.11 < (depths[200] == 12).mean() < 0.16
    assert (depths[500] == 12).mean() > 0.98
    published = Tomita3Runs().sample(rng(0, "runs"), 500, 4000)
    uniform = WordSampler(get("tomita-3").language).sample(rng(0, "runs"), 500, 500)
    means = [1 + (words[:, 1:] != words[:, :-1]).sum(axis=1).mean() for words in (published, uniform)]
    assert round(means[0], 1) == 3.9
    assert 190 < means[1] < 204
    for name, expected in {"uniform": {1, 2}, "blocks": {2}}.items():
        words = get(f"dyck-2:members={name}").sample(rng(0, "task"), 8, 4000, members=1.0)
        assert {*deepest(words).tolist()} == expected


def walk_probability(word: str) -> Fraction:
    """Of Tomita 4: a half for each symbol that may be 0 or 1."""
    free = sum(not word[:at].endswith("00") for at in range(len(word)))
    return Fraction(0 if "000" in word else 1, 2**free)


def runs_probability(word: str) -> Fraction:
    """Of Tomita 7: over all ways to split the word in 0^a 1^b 0^c 1^d."""
    total, T = Fraction(0), len(word)
    for a, b, c in product(range(T + 1), repeat=3):
        if word == "0" * a + "1" * b + "0" * c + "1" * (T - a - b - c):
            total += Fraction(1, (T + 1) * (T - a + 1) * (T - a - b + 1))
    return total


@pytest.mark.parametrize(("name", "length"), [("tomita-4", 8), ("tomita-7", 7)])
def test_exact_probabilities(name: str, length: int) -> None:
    probability = {"tomita-4": walk_probability, "tomita-7": runs_probability}[name]
    exact = {"".join(word): probability("".join(word)) for word in product("01", repeat=length)}
    exact = {word: p for word, p in exact.items() if p}
    assert sum(exact.values()) == 1
    draws, freedom = 100_000, len(exact) - 1
    drawn = Counter(words_of(SAMPLERS[name], length, draws))
    assert drawn.keys() <= exact.keys()
    chi_square = sum((drawn[word] - draws * float(p)) ** 2 / (draws * float(p)) for word, p in exact.items())
    assert abs(chi_square - freedom) < 5 * sqrt(2 * freedom)


@pytest.mark.parametrize("specification", SPECIFICATIONS)
def test_tasks_draw_half_of_their_words_so(specification: str) -> None:
    task = get(specification)
    plain = get(specification.partition(":")[0])
    assert task.machine == plain.machine
    for length in (1, 2, 3, 5, 8, 20):
        assert task.classes(length) == plain.classes(length)
        words = task.sample(rng(0, "task", length), length, 40, near_misses=0.5, edits=2)
        assert task.labels(words).sum() == {(0, 1): 20, (0,): 0, (1,): 40}[task.classes(length)]
    words = task.sample(rng(0, "task"), 60, 400, near_misses=1.0)
    assert near(task.language, words[task.labels(words) == 0]).all()


def test_shares_of_members() -> None:
    task = get("tomita-4")
    for share in (0.0, 0.1, 0.3, 0.5, 0.77, 1.0):
        batches = (task.sample(rng(1, "share", step), 12, 10, 0.5, 1, share) for step in range(300))
        counts = [int(task.labels(words).sum()) for words in batches]
        assert abs(np.mean(counts) - 10 * share) < 0.15
        assert set(counts) <= {int(10 * share), min(10, int(10 * share) + 1)}
    assert not get("dyck-2").labels(get("dyck-2").sample(rng(0, "share"), 7, 10, members=1.0)).any()
    assert get("aa-star").labels(get("aa-star").sample(rng(0, "share"), 4, 10, members=0.0)).all()
