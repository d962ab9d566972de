"""Sampling is exact: the tables give every word its probability, and draws follow the tables."""

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings

from languages import get, rng
from languages.automata import Dfa
from languages.errors import LengthEmpty, SamplingError, UserError
from languages.registry import names
from languages.regular.dyck import dyck_dfa, exact_depth
from languages.sampling import counting
from languages.sampling.balanced import BalancedSampler
from languages.sampling.counting import PathCounts
from languages.sampling.graph import graph_of
from languages.sampling.lengths import Lengths
from languages.sampling.near_miss import NearMissSampler, substitutions, swap
from languages.sampling.sampler import PathSampler, WordSampler, uniform_words
from tests.languages.random_machines import dfas, members, near
from tests.languages.refusing import is_like, refusal

Word = tuple[int, ...]
Distribution = dict[Word, float]

CLASSIFICATIONS = [name for name in names() if get(name).is_classification]
SMALL = ["tomita-2", "tomita-3", "tomita-4", "tomita-5", "tomita-7", "dyck-2", "012-02", "ab-d-bc"]


def distribution(sampler: PathSampler, length: int) -> Distribution:
    """The probability of each word, read off the tables that `sample` looks its uniform numbers up in."""
    counts = sampler.counts
    steps, head = divmod(length, counts.stride)
    starts = sampler.lengths.starts(length)
    front = {((), int(node)): 1.0 / len(starts) for node in starts}
    tables = [(counts.heads(head), counts.head_thresholds(length))] if head else []
    tables += [(counts.steps, counts.thresholds(step)) for step in reversed(range(steps))]
    for paths, thresholds in tables:
        following: Counter[tuple[Word, int]] = Counter()
        for (word, node), probability in front.items():
            low = float(node)
            for path in np.flatnonzero(paths.source == node):
                share, low = thresholds[path] - low, float(thresholds[path])
                key = (word + tuple(paths.words[path].tolist()), int(paths.target[path]))
                if share > 0:
                    following[key] += probability * share
            assert low == node + 1  # each node's shares fill the whole interval
        front = following
    result: Counter[Word] = Counter()
    for (word, _), probability in front.items():
        result[word] += probability
    return result


def assert_equal_distributions(found: Distribution, expected: Distribution) -> None:
    assert found.keys() == expected.keys()
    for word, probability in expected.items():
        assert math.isclose(found[word], probability, rel_tol=1e-12)


def integer_counts(dfa: Dfa, length: int) -> list[int]:
    """The number of words of this length accepted from each state, exactly."""
    counts = [int(flag) for flag in dfa.is_accepting]
    for _ in range(length):
        counts = [sum(counts[target] for target in row) for row in dfa.delta]
    return counts


@pytest.mark.parametrize("most_paths", [1, 30, 4096])
@pytest.mark.parametrize("name", SMALL)
def test_every_word_is_equally_likely(name: str, most_paths: int) -> None:
    for dfa in (get(name).language, ~get(name).language):
        sampler = WordSampler(dfa, most_paths=most_paths)
        for length in range(9 if dfa.n_symbols == 2 else 5):
            words = members(dfa, length)
            assert sampler.has(length) == bool(words)
            if words:
                assert_equal_distributions(distribution(sampler, length), dict.fromkeys(words, 1 / len(words)))


@pytest.mark.parametrize("weights", [(1.0, 2.0), (0.1, 0.9), (1.0, 0.0)])
def test_weighted_words(weights: tuple[float, ...]) -> None:
    dfa = get("tomita-4").language
    for length in (1, 2, 3, 5, 8):
        mass = {word: math.prod(weights[a] for a in word) for word in members(dfa, length)}
        mass = {word: m for word, m in mass.items() if m}
        sampler = WordSampler(dfa, weights, most_paths=40)
        assert sampler.has(length) == bool(mass)
        if mass:
            total = sum(mass.values())
            assert math.isclose(sampler.count_log(length), math.log(total), rel_tol=1e-12, abs_tol=1e-12)
            assert_equal_distributions(distribution(sampler, length), {w: m / total for w, m in mass.items()})


def test_mixtures_take_their_parts_equally_often() -> None:
    parts = [exact_depth(1), exact_depth(2), exact_depth(3), exact_depth(4)]
    sampler = WordSampler(parts)
    expected: Distribution = {}
    for part in parts[:3]:  # at length 6 there is no word of depth 4
        words = members(part, 6)
        expected |= dict.fromkeys(words, 1 / 3 / len(words))
    assert_equal_distributions(distribution(sampler, 6), expected)
    # Near misses of a mixture, too.
    parts = [exact_depth(1), exact_depth(2)]
    expected: Counter[Word] = Counter()
    for part in parts:
        of_part = by_brute_force(part, dyck_dfa(2), 4, partial(substituted, edits=1, n_symbols=2))
        expected.update({word: p / 2 for word, p in of_part.items()})
    assert_equal_distributions(distribution(NearMissSampler(parts, dyck_dfa(2), substitutions(2, 1)), 4), expected)


@pytest.mark.parametrize("name", ["dyck-2", "dyck-12", "tomita-3", "tomita-7", "aa-bb-cc-dd-ee"])
def test_long_words_are_drawn_exactly(name: str) -> None:
    """Also thousands of symbols before the end, whether or not the counts have settled."""
    dfa = get(name).language
    counts = WordSampler(dfa).counts
    paths = counts.steps
    from_initial = np.flatnonzero(paths.source == counts.graph.initial[0])
    for steps in (1, 30, 500):
        after = integer_counts(dfa, steps * counts.stride)
        before = integer_counts(dfa, (steps + 1) * counts.stride)[dfa.initial_index]
        if before == 0:
            continue
        low = float(paths.source[from_initial[0]])
        for path, high in zip(from_initial, counts.thresholds(steps)[from_initial], strict=True):
            exact = float(Fraction(after[int(dfa.run(paths.words[path]))], before))
            assert math.isclose(high - low, exact, rel_tol=1e-9, abs_tol=1e-14)
            low = float(high)


@pytest.mark.parametrize("block", [1, 3, 16])
@pytest.mark.parametrize("name", ["tomita-5", "dyck-2", "tomita-3", "dyck-12", "aa-bb-cc-dd-ee"])
def test_what_is_counted_again_is_what_it_was(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """L that were not kept, in any order, to the last bit: settled at the end of a block, within one, or never."""
    graph = WordSampler(get(name).language).counts.graph
    kept = PathCounts(graph, 64)
    monkeypatch.setattr(counting, "BLOCK", block)
    monkeypatch.setattr(counting, "CACHED_LOGS", 0)
    again = PathCounts(graph, 64)
    for steps in (0, 1, 2, 47, 48, 49, 5, 16, 300, 3, 299, 0):
        for ours, its in zip(again.log_after(steps), kept.log_after(steps), strict=True):
            np.testing.assert_array_equal(ours, its)
        np.testing.assert_array_equal(again.thresholds(steps), kept.thresholds(steps))
    assert again._settled == kept._settled


def test_counting_that_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_COUNTED", 100_000)
    sampler = WordSampler(get("aa-bb-cc-dd-ee").language, most_paths=1)
    assert sampler.sample(rng(0, "x"), 20, 2).shape == (2, 20)
    with pytest.raises(SamplingError, match="symbols of an automaton of 6 states takes too long; choose shorter words"):
        sampler.sample(rng(0, "x"), 5000, 2)


@pytest.mark.parametrize("name", ["tomita-3", "dyck-3", "012-02"])
def test_draws_follow_the_tables(name: str) -> None:
    """Pearson's chi-square of 50,000 draws, within 5 standard deviations of its mean."""
    dfa = get(name).language
    for language in (dfa, ~dfa):
        words = members(language, 8 if dfa.n_symbols == 2 else 5)
        length, draws = len(words[0]), 50_000
        drawn = Counter(map(tuple, WordSampler(language).sample(rng(0, "chi-square"), length, draws).tolist()))
        assert set(drawn) <= set(words)
        expected, freedom = draws / len(words), len(words) - 1
        chi_square = sum((drawn[word] - expected) ** 2 / expected for word in words)
        assert abs(chi_square - freedom) < 5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("n_symbols", [1, 2, 3, 8, 300])
def test_uniform_words(n_symbols: int) -> None:
    words = uniform_words(rng(0, "uniform"), n_symbols, 7, 100_000)
    assert words.shape == (100_000, 7)
    assert words.dtype == (np.uint8 if n_symbols <= 256 else np.uint16)
    counts = np.stack([np.bincount(words[:, t], minlength=n_symbols) for t in range(7)])
    expected = 100_000 / n_symbols
    assert np.abs(counts - expected).max() <= 6 * math.sqrt(expected)


@settings(max_examples=50)
@given(dfas("a", 5) | dfas("ab", 5))
def test_lengths_of_random_automata(dfa: Dfa) -> None:
    sampler = WordSampler(dfa)
    for length in (*range(40), 299):
        count = integer_counts(dfa, length)[dfa.initial_index]
        assert sampler.has(length) == (count > 0)
        if count:
            assert math.isclose(sampler.count_log(length), math.log(count), rel_tol=1e-12, abs_tol=1e-12)
            words = sampler.sample(rng(0, "random automata"), length, 20)
            assert words.shape == (20, length)
            assert dfa.accepts(words).all()


def substituted(member: Word, edits: int, n_symbols: int) -> Iterator[Word]:
    for positions in combinations(range(len(member)), edits):
        others = [[b for b in range(n_symbols) if b != member[at]] for at in positions]
        for symbols in product(*others):
            edited = dict(enumerate(member)) | dict(zip(positions, symbols, strict=True))
            yield tuple(edited.values())


def swapped(member: Word) -> Iterator[Word]:
    for i, j in combinations(range(len(member)), 2):
        yield (*member[:i], member[j], *member[i + 1 : j], member[i], *member[j + 1 :])


def by_brute_force(source: Dfa, language: Dfa, length: int, edits: Callable[[Word], Iterator[Word]]) -> Distribution:
    """Of all edits of all members of one automaton, those that leave the language."""
    inside = set(members(language, length))
    weight = Counter(edited for member in members(source, length) for edited in edits(member) if edited not in inside)
    return {word: count / weight.total() for word, count in weight.items()}


@pytest.mark.parametrize("edits", [1, 2, 3, "swap"])
@pytest.mark.parametrize("name", [*SMALL, "tomita-1", "tomita-6", "aa-bb-cc-dd-ee"])
def test_near_misses_equal_brute_force(name: str, edits: int | str) -> None:
    language = get(name).language
    n_symbols = language.n_symbols
    edit = swap(n_symbols) if edits == "swap" else substitutions(n_symbols, edits)
    sampler = NearMissSampler([language], language, edit)
    of_word = swapped if edits == "swap" else partial(substituted, edits=edits, n_symbols=n_symbols)
    for length in range(1, 8 if n_symbols == 2 else 6 if edits == "swap" else 5):
        expected = by_brute_force(language, language, length, of_word)
        assert sampler.has(length) == bool(expected)
        if expected:
            assert_equal_distributions(distribution(sampler, length), expected)


@pytest.mark.parametrize("name", CLASSIFICATIONS)
def test_batches_are_balanced(name: str) -> None:
    task = get(name)
    for count in (0, 1, 7, 128):
        sizes = set()
        for step, length in product(range(6), (1, 4, 13, 40)):
            labels = task.labels(task.sample(rng(0, "balance", step), length, count, near_misses=0.5, edits=2))
            assert labels.shape == (count,)
            assert set(labels.tolist()) <= set(task.classes(length))
            if len(task.classes(length)) == 2:
                sizes.add(int(labels.sum()))
        assert not sizes or sizes == {count // 2, (count + 1) // 2}


def test_halves_are_shuffled_and_near_misses_have_their_share() -> None:
    task = get("tomita-4")
    labels = np.stack([task.labels(task.sample(rng(0, "order", step), 20, 10)) for step in range(400)])
    assert np.abs(labels.mean(axis=0) - 0.5).max() < 0.11
    # At length 40 plain non-members of D_2 are hardly ever one edit from a member.
    task = get("dyck-2")
    words = task.sample(rng(0, "share"), 40, 4000, near_misses=0.25)
    rejected = words[task.labels(words) == 0]
    assert len(rejected) == 2000
    assert near(task.language, rejected).sum() in range(500, 520)


def test_near_misses_of_a_small_automaton_can_be_drawn_at_a_million_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe of users' languages tests there, after the training: a refusal would come too late. Here a tenth."""
    monkeypatch.setattr(counting, "MAX_COUNTED", counting.MAX_COUNTED // 10)
    odd = Dfa.from_regex("b*a(b*ab*ab*)*b*")
    words = NearMissSampler([odd], odd, substitutions(2, 1)).sample(rng(0, "long"), 100_000, 1)
    assert words.shape == (1, 100_000)
    assert not odd.accepts(words).any()


def test_share_of_swaps() -> None:
    """With one edit the brackets of D_2 never balance; with a swap they always do. Of Tomita 5 none leaves."""
    task, evens = get("dyck-2"), get("tomita-5")
    for share in (0.0, 0.5, 1.0):
        words = task.sample(rng(0, "share"), 40, 400, near_misses=1.0, swaps=share)
        rejected = words[task.labels(words) == 0]
        assert (len(rejected), (rejected.sum(1) == 20).sum()) == (200, 200 * share)
    # An exchange gives way to an edit.
    words = evens.sample(rng(0, "gives way"), 20, 40, near_misses=1.0, swaps=1.0)
    assert np.bincount(evens.labels(words)).tolist() == [20, 20]


def test_near_misses_are_the_same_in_every_version_and_give_way_where_there_are_none() -> None:
    task = get("dyck-2")
    words = task.sample(rng(0, "golden"), 8, 6, near_misses=1.0, edits=2)
    golden = "00110011 01011101 00101111 00010011 01010101 01010011"
    assert " ".join(task.machine.decode(word) for word in words) == golden
    task = get("aa-star")
    assert task.labels(task.sample(rng(0, "none"), 5, 10, near_misses=1.0)).tolist() == [0] * 10
    assert task.labels(task.sample(rng(0, "none"), 6, 10, near_misses=1.0)).tolist() == [1] * 10
    words = get("dyck-2").sample(rng(0, "none"), 7, 50, near_misses=1.0, edits=3)
    assert (get("dyck-2").labels(words) == 0).all()


def test_exact_depths_partition_the_language() -> None:
    union = exact_depth(0)
    for depth in (1, 2, 3, 4):
        assert (union & exact_depth(depth)).is_empty()
        union = union | exact_depth(depth)
        assert union.equivalent(dyck_dfa(depth))


@pytest.mark.parametrize("name", names())
def test_a_batch_depends_on_the_generator_only(name: str) -> None:
    """Not on what was drawn before, nor on which lengths the tables have seen."""
    used, fresh = get(name), get(name)
    near_misses = 0.5 if used.sampling == "balanced" else 0.0
    lengths = used.lengths(1, 60)
    for step, length in enumerate(lengths[::-7]):
        used.sample(rng(9, "other", step), length, 33, near_misses)
    for length in lengths[::11]:
        first = used.sample(rng(3, "pure", length), length, 64, near_misses)
        again = fresh.sample(rng(3, "pure", length), length, 64, near_misses)
        assert first.dtype == again.dtype == np.uint8
        assert np.array_equal(first, again)


SCRIPT = """
import hashlib
from languages import get, rng
digest = hashlib.sha256()
for name in ("parity", "cycle-navigation", "modular-arithmetic", "dyck-12:depth=every", "tomita-3", "flip-flop"):
    task = get(name)
    for length in task.lengths(5, 40)[::6]:
        words = task.sample(rng(1, "process", length), length, 50, 0.5 if task.sampling == "balanced" else 0.0, 2)
        digest.update(words.tobytes())
print(digest.hexdigest())
"""


def test_batches_are_the_same_in_every_process() -> None:
    """Whatever the hash seed, and as when this was written (numpy keeps the streams of SFC64 as they are)."""
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert digests == {"b58ac37448df1856e1a5e3adfb502d7daacff1e3981f7570d376a4e17bcd9833"}


def test_random_streams() -> None:
    assert rng(0, "train", 3).integers(0, 1000, 6).tolist() == [674, 631, 981, 697, 365, 530]
    streams = {rng(*key).bytes(16) for key in [(0, "a"), (1, "a"), (0, "b"), (0, "a", 1), (2**70, "a"), (0, "")]}
    assert len(streams) == 6
    state = np.random.get_state()[1].tolist()
    get("tomita-3").sample(rng(0, "global"), 20, 100)
    assert np.random.get_state()[1].tolist() == state
    # Consecutive steps give unrelated bits.
    bits = np.stack([uniform_words(rng(0, "steps", step), 2, 1000, 1)[0] for step in range(200)]).astype(np.float64)
    correlations = np.corrcoef(bits)[np.triu_indices(200, 1)]
    assert np.abs(correlations).max() < 6 / math.sqrt(1000)


@pytest.mark.parametrize("name", ["parity", "modular-arithmetic", "dyck-12", "tomita-3", "flip-flop", "012-02"])
def test_very_long_words(name: str) -> None:
    task = get(name)
    words = task.sample(rng(0, "long"), 100_001, 4)
    labels = task.labels(words)
    assert words.shape == (4, 100_001)
    assert task.sampling == "uniform" or set(labels.tolist()) == set(task.classes(100_001))


def test_lengths_repeat() -> None:
    lengths = Lengths(graph_of([get("abab-star").language]).trimmed())
    assert [n for n in range(20) if n in lengths] == [0, 4, 8, 12, 16]
    assert 10**9 in lengths
    assert 10**9 + 1 not in lengths
    assert -4 not in lengths


def draw(name: str, length: int = 6, count: int = 8, **options: float) -> Callable[[], object]:
    return lambda: get(name).sample(rng(0, "x"), length, count, **options)  # type: ignore[arg-type]


NEAREST = "the nearest lengths with words:"
EMPTY = dyck_dfa(2) & ~dyck_dfa(2)
REFUSED = [
    (draw("modular-arithmetic", 4), LengthEmpty, f"length 4: modular-arithmetic has no words; {NEAREST} 3 and 5"),
    (draw("parity", 0), LengthEmpty, "length 0: parity has no words; the nearest length with words: 1"),
    (draw("parity", 5, -1), SamplingError, "cannot draw -1 words; a count is 0 or more"),
    (draw("parity", near_misses=0.5), SamplingError, "parity has no non-members; near_misses is for classifications"),
    (draw("dyck-2", near_misses=1.5), SamplingError, "near_misses is 1.5; it is a share … non-members, 0.0 to 1.0"),
    (draw("dyck-2", near_misses=0.5, edits=0), SamplingError, "edits is 0; a near miss has at least 1 edit"),
    (draw("dyck-2", near_misses=0.5, swaps=-1.0), SamplingError, "swaps is -1.0; it is a share … misses, 0.0 to 1.0"),
    (draw("dyck-2", members=-0.1), SamplingError, "members is -0.1; it is a share of the words, 0.0 to 1.0"),
    (draw("dyck-2", members=math.nan), SamplingError, "members is nan; it is a share of the words, 0.0 to 1.0"),
    (draw("parity", members=1.0), SamplingError, "parity has no members; their share is for classifications"),
    (lambda: WordSampler(dyck_dfa(2)).sample(rng(0, "x"), 5, 1), LengthEmpty,
     f"there is no word of length 5; {NEAREST} 4 and 6"),
    (lambda: WordSampler(EMPTY).sample(rng(0, "x"), 5, 1), LengthEmpty, "there is no word of length … 1005 has words"),
    (lambda: rng(-1, "x"), SamplingError, "seed -1, step 0: a seed and a step are whole numbers from 0"),
    (lambda: rng(0, "x", -2), SamplingError, "seed 0, step -2: a seed and a step are whole numbers from 0"),
    (lambda: get("parity").next_symbols([[0]]), UserError, "parity is no classification, … for reject, accept"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_refusals(call: Callable[[], object], error: type[Exception], message: str) -> None:
    assert is_like(refusal(call, error=error), message)


def test_too_large_for_near_misses_is_said_before_a_run() -> None:
    """60 states and 10 symbols: one swap needs 92 phases, two edits 3."""
    step = np.random.default_rng(0).integers(60, size=(60, 10))
    states = tuple(map(str, range(60)))
    large = Dfa(states, tuple("abcdefghij"), tuple(map(tuple, step.tolist())), "0", frozenset(states[::2]))
    sampler = BalancedSampler(large)
    sampler.prepare(100, edits=2, swaps=0.0)
    with pytest.raises(SamplingError, match="near misses for 60 states and 10 symbols need more than 2097152"):
        sampler.prepare(100, edits=2, swaps=0.5)


def test_few_tables_are_kept_where_they_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = WordSampler(dyck_dfa(4)).sample(rng(0, "tables"), 60, 8)
    monkeypatch.setattr("languages.sampling.counting.CACHED_BYTES", 8)
    sampler = WordSampler(dyck_dfa(4))
    assert np.array_equal(sampler.sample(rng(0, "tables"), 60, 8), plain)
    assert sampler.counts.head_thresholds.cache_info().maxsize == 0
