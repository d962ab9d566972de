"""Context-free languages: machine, grammar and oracle agree; words are drawn as they say."""

import itertools
import re
from collections import Counter

import numpy as np
import pytest

import languages
from languages.context_free.nested import NestedTask
from languages.errors import LanguageError, LengthEmpty, SamplingError
from languages.randomness import rng
from languages.registry import NESTED, level_of
from languages.sampling.grammar import nesting
from tests.languages import nested_oracles as oracles


def nested(name: str) -> NestedTask:
    task = languages.find(name)
    assert isinstance(task, NestedTask)
    return task


PAIRS = [("(", ")"), ("[", "]")]
ORACLES = {
    "brackets-1": oracles.brackets(PAIRS[:1]),
    "brackets-2": oracles.brackets(PAIRS),
    "brackets-2:bound=2": oracles.depth_first(PAIRS, 2),
    "xml-1": oracles.xml,
    "xml-2": oracles.xml,
    "reversal-2": oracles.reversal,
    "json": oracles.json_tokens,
    "formula": oracles.formula,
    "arithmetic-brackets:modulus=2": lambda word: oracles.arithmetic(word, modulus=2),
    "arithmetic-brackets": oracles.arithmetic,
    "arithmetic-brackets:precedence=true": oracles.precedence,
    "equation": oracles.equation,
    "equation:modulus=3": lambda word: oracles.equation(word, 3),
    "list-ops": oracles.list_ops,
}
MOST_WORDS = 60_000
every_language = pytest.mark.parametrize("name", ORACLES)


def words_of(n_symbols, longest=8):
    """All words (words, length) of each length up to 8, as long as they are not too many."""
    for length in range(1, longest + 1):
        if n_symbols**length <= MOST_WORDS:
            yield length, np.array(list(itertools.product(range(n_symbols), repeat=length)))


def names(task, words):
    return [None if label < 0 else task.output_names[label] for label in task.labels(words)]


@every_language
def test_all_short_words_have_the_answers_of_the_oracle_and_the_grammar_has_as_many(name):
    task = nested(name)
    for length, words in words_of(task.n_symbols):
        found = names(task, words)
        assert found == [ORACLES[name](task.machine.decode(word)) for word in words]
        drawn = (
            sum(answer == "accept" for answer in found)
            if task.sampling == "balanced"
            else len(found) - found.count(None)
        )
        assert round(task.grammar.count(length)) == drawn, length


BY_DEPTH = [f"{name}{',' if ':' in name else ':'}depth=every" for name in ORACLES if name != "reversal-2"]


@pytest.mark.parametrize("name", [*ORACLES, *BY_DEPTH])
def test_longer_words_too_and_those_that_are_drawn_are_questions(name):
    task, oracle = nested(name), ORACLES[re.sub("[:,]depth=every", "", name)]
    near = {"near_misses": 0.5, "edits": 3, "swaps": 0.3} if task.sampling == "balanced" else {}
    for length in task.lengths(20, 60)[::9]:
        words = task.sample(rng(0, "test", length), length, 12, **near)
        found = names(task, words)
        assert words.shape == (12, length)
        assert None not in found
        assert found == [oracle(task.machine.decode(word)) for word in words]
        if near and len(task.classes(length)) == 2:
            assert found.count("accept") == 6


def test_examples_and_names():
    for family in NESTED:
        for name in family.names:
            task = nested(name)
            assert (task.name, task.level, level_of(name)) == (name, "context-free", "context-free")
            assert [names(task, task.machine.encode(word)[None])[0] for word, _ in task.examples] == [
                answer for _, answer in task.examples
            ]
    assert nested("solve-equation").name == "equation"
    assert languages.find("parity") == languages.get("parity")


def test_bounded_brackets_are_the_regular_language_of_that_depth():
    for bound in (1, 2, 3):
        bounded, regular = nested(f"brackets-1:bound={bound}"), languages.get(f"dyck-{bound}")
        for _, words in words_of(2, 12):
            assert (bounded.labels(words) == regular.labels(words)).all()


def test_members_of_a_length_are_equally_likely():
    task = nested("brackets-2")
    drawn = Counter(map(bytes, task.members(rng(0, "test"), 6, 20_000)))
    assert len(drawn) == 40  # 5 balanced words, two kinds for each of three pairs
    assert sum((count - 500) ** 2 / 500 for count in drawn.values()) < 80  # chi square, 39 degrees of freedom


def test_by_depth_all_depths_occur_at_all_lengths():
    grammar, direction = nested("brackets-2").grammar, np.array([1, -1, 1, -1])
    depth = direction[grammar.by_depth(rng(0, "test"), 40, 400)].cumsum(1).max(1)
    assert depth.max() == 20
    assert (np.bincount(depth, minlength=21)[4:] > 4).all()
    deep = direction[grammar.by_depth(rng(1, "test"), 3000, 8)].cumsum(1).max(1)
    assert deep.max() > 600


@pytest.mark.parametrize("name", ["brackets-2", "json", "arithmetic-brackets:precedence=true"])
def test_of_one_depth_every_word_is_so_deep(name):
    task = nested(f"{name}{',' if ':' in name else ':'}depth=30")
    words = task.members(rng(0, "test"), 151 if ":" in name else 150, 20)
    assert nesting(task.visibly.direction[words]).max(axis=1).tolist() == [30] * 20
    assert len(np.unique(words, axis=0)) == 20
    assert task.sampling == "uniform" or task.classes(58) == (0,)  # too short for it


def test_near_misses_are_near_and_wrong():
    task = nested("brackets-2")
    words = task.sample(rng(0, "test"), 20, 60, members=0.0, near_misses=1.0)
    assert not task.labels(words).any()
    kinds_only = [word for word in words if not np.array([1, -1, 1, -1])[word].sum()]
    assert len(kinds_only) > 15  # a bracket of another kind, where it stands


def test_words_are_a_function_of_the_generator():
    for name in ("arithmetic-brackets", "json"):
        task = nested(name)
        first, second = (task.sample(rng(3, "test", 7), 41, 5) for _ in range(2))
        assert (first == second).all()


def test_lengths():
    task = nested("brackets-2")
    assert task.classes(3) == (0,)
    assert task.classes(4) == (0, 1)
    assert "no members" in task.describe_length(3)
    assert not task.describe_length(4)
    arithmetic = nested("arithmetic-brackets")
    assert arithmetic.lengths(1, 8) == list(range(1, 9))
    precedence = nested("arithmetic-brackets:precedence=true")
    assert precedence.lengths(1, 6) == [1, 3, 5]
    with pytest.raises(LengthEmpty, match="the nearest lengths with words: 3 and 5"):
        precedence.sample(rng(0, "test"), 4, 1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("brackets-0", "the number of kinds, 1 to 32"),
        ("brackets-2:bound=-1", "a depth from 1 to 1000"),
        ("reversal-27", "1 to 26"),
        ("arithmetic-brackets:modulus=11", "2 to 10"),
        ("equation:depth=some", "depth is 'some'"),
        ("formula:modulus=2", "no parameter 'modulus'"),
        ("brackets", "write brackets-2, or another number of kinds"),
    ],
)
def test_what_there_is_not(name, said):
    with pytest.raises(LanguageError, match=re.escape(said)):
        nested(name)


def test_where_a_finite_automaton_is_needed_the_level_is_said():
    with pytest.raises(LanguageError, match="brackets-2 is a context-free language"):
        languages.get("brackets-2")


def test_arguments_out_of_range():
    task = nested("formula")
    with pytest.raises(SamplingError, match="for classifications"):
        task.sample(rng(0, "test"), 5, 1, near_misses=0.5)
    with pytest.raises(SamplingError, match="cannot draw -1"):
        task.sample(rng(0, "test"), 5, -1)
    with pytest.raises(LanguageError, match="'any', 'every' or a number"):
        NestedTask(**{**vars(nested("formula")), "depth": "deep"})


def test_a_bound_of_a_thousand_has_a_machine_of_as_many_states_and_few_stack_symbols():
    task = nested("brackets-3:bound=1000")
    assert (task.machine.n_states, len(task.machine.stack)) == (1002, 3)
    deep = np.repeat([0, 1], 1000)[None]  # (1, 2000)
    assert task.labels(deep).tolist() == [1]
    assert task.labels(np.concatenate([[[0]], deep, [[1]]], axis=1)).tolist() == [0]


def test_published_expressions_are_about_as_deep_as_the_logarithm_of_their_length():
    task = nested("modular-arithmetic-brackets:sampler=published")
    assert task.name == "arithmetic-brackets:sampler=published"
    for length, mean in ((40, 5.2), (100, 8.0), (500, 13.6)):
        depth = nesting(task.visibly.direction[task.sample(rng(0, "test"), length, 300)]).max(axis=1)
        assert abs(depth.mean() - mean) < 0.35
        assert depth.max() < 26  # (length - 1) / 4 = 124 is possible
    assert nesting(task.visibly.direction[nested("arithmetic-brackets").sample(rng(0, "test"), 500, 50)]).max() > 30


@pytest.mark.parametrize("name", ["arithmetic-brackets:sampler=published", "equation:sampler=published"])
def test_published_words_are_questions(name):
    task, oracle = nested(name), ORACLES[name.partition(":")[0]]
    for length in (*task.lengths(1, 9), 41, 60):
        words = task.sample(rng(0, "test", length), length, 12)
        found = names(task, words)
        assert None not in found
        assert found == [oracle(task.machine.decode(word)) for word in words]
    assert (task.sample(rng(1, "test"), 40, 5) == task.sample(rng(1, "test"), 40, 5)).all()


@pytest.mark.parametrize("more", ["depth=every", "precedence=true", "depth=30"])
def test_the_published_sampler_has_depths_of_its_own(more):
    with pytest.raises(LanguageError, match=f"sampler=published .*; leave out {more}"):
        nested(f"arithmetic-brackets:sampler=published,{more}")
