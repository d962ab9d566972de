"""Languages whose words a function draws: machine and oracle agree, and words are drawn as they say."""

import itertools
from collections import Counter

import numpy as np
import pytest

import languages
from languages.drawn import DrawnTask
from languages.drawn_families import FLARE, ROWS, WITHOUT_ROWS
from languages.errors import LanguageError, LengthEmpty
from languages.randomness import rng
from languages.registry import has_rows, level_of
from tests.languages import drawn_oracles as oracles

ROW_ORACLES = {
    "reverse-string": oracles.reverse,
    "reverse-string:letters=3": oracles.reverse,
    "stack-manipulation": oracles.stack_left,
    "stack-manipulation:sampler=walks": oracles.stack_left,
    "duplicate-string": oracles.twice,
    "odds-first": oracles.by_place(1),
    "odds-first:version=paper,letters=3": oracles.by_place(0),
    "missing-duplicate-string": oracles.missing,
    "missing-duplicate-string:version=paper": lambda word: oracles.missing(word, padded=False),
    "binary-addition": oracles.written_sum,
    "binary-multiplication": oracles.written_product,
    "compute-sqrt": oracles.root,
    "compute-sqrt:version=paper": oracles.little_root,
    "bucket-sort": oracles.least_first,
    "bucket-sort:sampler=skewed,letters=3": oracles.least_first,
}
ORACLES = {
    "marked-reversal": oracles.marked_reversal,
    "unmarked-reversal": oracles.unmarked_reversal,
    "majority": oracles.majority,
    "anbn": oracles.anbn,
    "anbncn": oracles.anbncn,
    "dyck-shuffle-2": oracles.crossing(("()", "[]")),
    "dyck-shuffle-3": oracles.crossing(("()", "[]", "{}")),
    "boolean": oracles.prefix_formula,
    "flare-majority": oracles.majority,
    "flare-stack-manipulation": oracles.stack_checked,
    "flare-marked-reversal": oracles.marked_reversal,
    "flare-unmarked-reversal": oracles.unmarked_reversal,
    "flare-marked-copy": oracles.marked_copy,
    "flare-missing-duplicate": oracles.missing_one,
    "flare-odds-first": oracles.marked_odds,
    "flare-binary-addition": oracles.true_equation,
    "flare-binary-multiplication": oracles.true_equation,
    "flare-compute-sqrt": oracles.true_root,
    "flare-bucket-sort": oracles.marked_sort,
}
MOST_WORDS = 7_000


def drawn(name: str) -> DrawnTask:
    task = languages.find(name)
    assert isinstance(task, DrawnTask)
    return task


def words_of(n_symbols, longest=8):
    """All words (words, length) of each length up to 8, as long as they are not too many."""
    for length in range(1, longest + 1):
        if n_symbols**length <= MOST_WORDS:
            yield np.array(list(itertools.product(range(n_symbols), repeat=length)))


def asked_of(task, word):
    """A word as text, as indices with as many empty symbols as answers behind them."""
    indices = task.machine.encode(word)
    return [*indices, *[task.empty] * (task.asked(len(indices)) if task.asked else 0)]


def check_rows(task, oracle, words):
    """One empty symbol more than answers: there is none at it."""
    n = words.shape[1]
    asked = np.pad(words, ((0, 0), (0, task.asked(n) + 1)), constant_values=task.empty)
    labels = task.labels(asked, every=True)
    assert (labels[:, :n] == -1).all()
    for word, row in zip(words, labels[:, n:], strict=True):
        expected = oracle([task.alphabet[i] for i in word]) or []
        assert [task.output_names[i] for i in row[: len(expected)]] == expected, task.machine.decode(word)
        assert (row[len(expected) :] == -1).all()


@pytest.mark.parametrize("name", ROW_ORACLES)
def test_rows_are_those_of_the_oracle_for_all_short_words_and_for_drawn_ones(name):
    task = drawn(name)
    for words in words_of(task.n_symbols - 1):
        check_rows(task, ROW_ORACLES[name], words)
    for length in task.lengths(1, 90)[::11]:
        words = task.sample(rng(0, "test", length), length, 12)
        assert words.shape == (12, length + task.asked(length))
        assert task.questions(words).all()
        assert (task.labels(words, every=True)[:, length] >= 0).all()
        check_rows(task, ROW_ORACLES[name], words[:, :length])


def check_answers(task, oracle, words):
    answers = [task.output_names[label] if label >= 0 else None for label in task.labels(words)]
    assert answers == [oracle([task.alphabet[i] for i in word]) for word in words]
    return answers


@pytest.mark.parametrize("name", ORACLES)
def test_answers_are_those_of_the_oracle_for_all_short_words_and_for_drawn_ones(name):
    task = drawn(name)
    mixture = {"near_misses": 0.5, "edits": 2, "swaps": 0.5} if task.is_classification else {}
    for words in words_of(task.n_symbols):
        answers = check_answers(task, ORACLES[name], words)
        if task.is_classification:
            assert task.classes(words.shape[1]) == ((0, 1) if "accept" in answers else (0,))
    for length in task.lengths(20, 60)[::9]:
        words = task.sample(rng(0, "test", length), length, 24, **mixture)
        answers = check_answers(task, ORACLES[name], words)
        prefixes = [task.labels(words[:, : t + 1]) for t in range(length)]
        assert (task.labels(words, every=True) == np.stack(prefixes, axis=1)).all()
        if task.is_classification and len(task.classes(length)) == 2:
            assert answers.count("accept") == 12
        assert None not in answers


# Worked strings: a test by hand, whatever the oracles say.
WORKED = [
    ("reverse-string", "00110", "01100"),
    ("stack-manipulation", "0 1 1 0 PUSH1 POP POP", "1 1 0 END"),
    ("stack-manipulation", "1 1 0 POP POP POP", "END"),
    ("odds-first:version=paper", "00110101", "01000111"),
    ("odds-first", "00110101", "01110100"),
    ("binary-addition", "001+01101", "0 1 0 1 1 END"),
    ("binary-multiplication", "001*01101", "0 0 0 1 1 0 1 END"),
    ("compute-sqrt", "100101", "110"),
    ("compute-sqrt", "111", "10"),
    ("compute-sqrt:version=paper", "101001", "011"),
    ("bucket-sort", "421302214", "011222344"),
    ("missing-duplicate-string", "01100210", "1"),
    ("missing-duplicate-string", "1011213", "0"),
]


@pytest.mark.parametrize(("name", "word", "row"), WORKED)
def test_worked_strings(name, word, row):
    task = drawn(name)
    assert task.written(asked_of(task, word)) == (word, row)


@pytest.mark.parametrize("name", [*ROW_ORACLES, *ORACLES])
def test_names_levels_and_examples(name):
    task = drawn(name)
    assert (task.name, task.level) == (name, level_of(name))
    assert has_rows(name) == (name in ROW_ORACLES)
    assert task.examples
    for word, row in task.examples:
        assert task.written(asked_of(task, word)) == (word, row)


def test_every_row_of_the_registry_is_here():
    assert {family.pattern for family in ROWS} == {name.partition(":")[0] for name in ROW_ORACLES}
    assert {name for family in (*WITHOUT_ROWS, *FLARE) for name in family.names} <= set(ORACLES)


@pytest.mark.parametrize("name", [*ROW_ORACLES, *ORACLES])
def test_words_are_a_function_of_the_generator(name):
    first, second = (drawn(name).sample(rng(3, "test", 7), 40, 5) for _ in range(2))
    assert (first == second).all()


def test_operands_have_every_length_and_are_never_zero():
    task = drawn("binary-addition")
    words = task.sample(rng(0, "test"), 5, 3000)[:, :5]
    at = (words == 2).argmax(1)
    assert np.bincount(at, minlength=4)[1:].min() > 900
    for place in (1, 2, 3):
        first = np.unique(words[at == place][:, :place], axis=0)
        assert len(first) == 2**place - 1  # all but 0
    assert drawn("compute-sqrt").sample(rng(0, "test"), 1, 99)[:, 0].all()


def test_a_root_of_many_digits_is_exact():
    """In floating point it is wrong from 106 digits or so on."""
    task = drawn("compute-sqrt")
    word = task.sample(rng(0, "test"), 500, 1)
    number, root = (int(text, 2) for text in task.written(word[0]))
    assert root**2 <= number < (root + 1) ** 2


def test_skewed_words_have_no_likeliest_symbol_at_a_place_of_the_row():
    plain, skewed = (
        drawn(f"bucket-sort{sampler}").sample(rng(0, "test"), 200, 400)[:, :200] for sampler in ("", ":sampler=skewed")
    )
    for words, low, high in ((plain, 0.95, 1.0), (skewed, 0.3, 0.6)):
        middle = np.sort(words, axis=1)[:, 100]  # always 2 where symbols are equally likely
        assert low <= (middle == 2).mean() <= high


@pytest.mark.parametrize(
    ("name", "length", "different"), [("boolean", 5, 114), ("dyck-shuffle-2", 4, 10), ("majority", 6, 22)]
)
def test_members_of_a_length_are_all_there_and_as_likely_where_that_is_said(name, length, different):
    words = Counter(map(bytes, drawn(name).members(rng(0, "test"), length, 100 * different)))
    assert len(words) == different
    if name != "dyck-shuffle-2":  # there kinds are drawn first
        assert sum((count - 100) ** 2 / 100 for count in words.values()) < 1.5 * different


def test_near_misses_of_flare_are_inserted_replaced_and_deleted():
    """Where only symbols change places or others, a member's length and its mark give nothing away."""
    task = drawn("flare-marked-copy")
    words = task.sample(rng(0, "test"), 21, 400, members=0.0, near_misses=1.0)
    assert not task.labels(words).any()
    middle = (words[:, 10] == 2) & ((words == 2).sum(1) == 1)
    assert 100 < middle.sum() < 300  # the others: the mark moved, went, or came twice
    one_edit_away = (words[middle][:, :10] != words[middle][:, 11:]).sum(1) == 1
    assert one_edit_away.mean() > 0.5
    # A length without members has near misses, too, of the members beside it.
    assert task.classes(20) == (0,)


def test_members_of_flare():
    ones = drawn("flare-majority").members(rng(0, "test"), 100, 2000).sum(1)
    assert (ones.min(), ones.max()) == (51, 100)
    stacks = drawn("flare-stack-manipulation")
    assert stacks.lengths(1, 6) == [1, 2, 3, 4, 5, 6]
    assert stacks.classes(2) == (0,)
    for name in ("flare-binary-multiplication", "flare-compute-sqrt"):
        long = drawn(name).members(rng(0, "test"), 500, 4)
        assert drawn(name).labels(long).all()
        assert [ORACLES[name]([drawn(name).alphabet[i] for i in word]) for word in long] == ["accept"] * 4


def test_lengths_without_words():
    assert drawn("binary-addition").lengths(1, 5) == [3, 4, 5]
    assert drawn("missing-duplicate-string").lengths(1, 5) == [2, 3, 4, 5]
    paper = drawn("missing-duplicate-string:version=paper")
    assert paper.lengths(1, 7) == [2, 4, 6]
    with pytest.raises(LengthEmpty, match="the nearest lengths with words: 4 and 6"):
        paper.sample(rng(0, "test"), 5, 1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("odds-first:version=thesis", "version is 'thesis'; it is 'code' or 'paper'"),
        ("compute-sqrt:version=big", "'code' or 'paper'"),
        ("bucket-sort:sampler=skew", "did you mean 'skewed'"),
        ("bucket-sort:letters=1", "letters is 1; it is a whole number, 2 to 10"),
        ("duplicate-string:letters=11", "2 to 10"),
        ("binary-addition:version=code", "no parameter 'version'"),
        ("dyck-shuffle-1", "2 to 4; for one write brackets-1"),
        ("bucket-sorts", "did you mean 'bucket-sort'"),
    ],
)
def test_what_there_is_not(name, said):
    with pytest.raises(LanguageError, match=said):
        drawn(name)
