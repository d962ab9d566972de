"""The tree that follows the brackets: its definition with gradients, and without brackets the tree of the word."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regulargpt.models.ldru.model import Ldru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.forests import forests_of
from regulargpt.models.tree.groups import RandomBracketing, numbered
from regulargpt.models.tree.nested import nested_logits, nested_root, nested_root_plainly

DIRECTION = torch.tensor([1, 1, -1, -1, 0])  # ( [ ) ] x
SMALL: dict[str, Any] = {"d_model": 16, "n_heads": 2, "d_ff": 16}
MODELS = {
    "C=2": lambda: RegularGPT(5, 3, chunk_size=2, **SMALL),
    "C=2, gates": lambda: RegularGPT(5, 3, chunk_size=2, gates=True, **SMALL),
    "C=3, post-LN": lambda: RegularGPT(5, 3, chunk_size=3, norm="post", **SMALL),
    "C=4, gates": lambda: RegularGPT(5, 3, chunk_size=4, gates=True, **SMALL),
    "C=8": lambda: RegularGPT(5, 3, chunk_size=8, **SMALL),
    "ldru": lambda: Ldru(5, 3, d_model=16),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=list(MODELS))


def words_of(length, count=12, seed=0):
    return torch.randint(0, 5, (count, length), generator=torch.Generator().manual_seed(seed))


@every_model
def test_it_is_its_definition_with_gradients(make):
    model = make().double()
    for length in (1, 2, 3, 9, 24):
        words = words_of(length)
        found = nested_root(model, words, DIRECTION)
        plain = torch.stack([nested_root_plainly(model, word, DIRECTION) for word in words])
        assert torch.allclose(found, plain, rtol=0, atol=1e-12)
        # A function of the states that no LayerNorm holds constant.
        weight = torch.linspace(-1, 1, plain.numel(), dtype=torch.float64).view(plain.shape)  # (batch, d_model)
        grads = [
            torch.autograd.grad((root * weight).sum(), list(model.parameters()), allow_unused=True)
            for root in (found, plain)
        ]
        for one, other in zip(*grads, strict=True):
            assert (one is None) == (other is None)
            assert one is None or torch.allclose(one, other, rtol=0, atol=1e-11)


@every_model
def test_without_brackets_it_is_the_tree_of_the_word_bit_for_bit(make):
    model = make()
    words = torch.full((9, 37), 4)
    state = nested_root(model, words, DIRECTION)
    assert torch.equal(model.readout(state), model(words))
    internal = torch.zeros(5, dtype=torch.long)
    words = words_of(37)
    assert torch.equal(model.readout(nested_root(model, words, internal)), model(words))


def test_each_forest_is_computed_as_a_word_is():
    """The root of a pair's inside is the root of that word: brackets round it add their nodes only."""
    model = RegularGPT(5, 3, chunk_size=3, **SMALL).double()
    inside = words_of(11, count=4) * 0 + 4
    inside[:, 3] = 1  # a call that nothing closes stays as it is within the word
    top = nested_root(model, inside, torch.tensor([1, 0, -1, -1, 0]))
    whole = torch.cat([torch.zeros(4, 1, dtype=torch.long), inside, torch.full((4, 1), 2)], 1)
    table = torch.cat([model.leaves(), top])
    children = torch.stack([torch.full((4,), 3), 6 + torch.arange(4), torch.ones(4, dtype=torch.long)], 1)
    pair = model.merge(table, children)
    # A word of one item has one level more.
    alone = torch.stack([1 + torch.arange(4), torch.zeros(4, dtype=torch.long), torch.zeros(4, dtype=torch.long)], 1)
    root = model.merge(torch.cat([model.absent, pair]), alone)
    assert torch.allclose(nested_root(model, whole, torch.tensor([1, 0, -1, -1, 0])), root, rtol=0, atol=1e-12)


@every_model
def test_equal_forests_are_computed_once(make):
    model, windows = make(), []
    merge, layers = model.merge, model.tree_layers(1)
    model.tree_layers = lambda length: [layers[0]._replace(apply=counted)]

    def counted(states, children):
        windows.append(len(children))
        return merge(states, children)

    once = torch.tensor([[0, 4, 4, 4, 2] * 40])
    nested_root(model, once, DIRECTION)
    few = sum(windows)
    windows.clear()
    nested_root(model, once.repeat(30, 1), DIRECTION)
    assert sum(windows) < 3 * few  # thirty times the same word


def test_words_of_a_batch_do_not_touch_each_other():
    model, words = RegularGPT(5, 3, chunk_size=2, **SMALL).double(), words_of(30, count=20)
    alone = torch.cat([nested_root(model, word[None], DIRECTION) for word in words])
    assert torch.allclose(nested_root(model, words, DIRECTION), alone, rtol=0, atol=1e-12)


@every_model
def test_words_of_many_lengths_at_once_have_the_answers_of_each_length(make):
    model = make().double()
    model.eval().follow(DIRECTION.tolist())
    batches = [words_of(length, count) for length, count in ((1, 3), (17, 5), (4, 2), (30, 6), (4, 1))]
    with torch.no_grad():
        alone = torch.cat([model(words) for words in batches])
        torch.testing.assert_close(nested_logits(model, batches), alone, rtol=0, atol=1e-12)


def test_brackets_may_be_a_hundred_thousand_deep():
    deep = 100_000
    word = np.concatenate([np.zeros(deep, int), np.full(deep, 2)])[None]
    forests = forests_of(word, DIRECTION.numpy())
    assert (forests.highest, len(forests.size)) == (deep, deep + 1)
    opened = forests_of(np.zeros((1, deep), int), DIRECTION.numpy())
    assert (opened.highest, opened.size.tolist()) == (0, [deep])


def test_a_thousand_levels_are_computed():
    model = RegularGPT(5, 3, chunk_size=2, **SMALL).double()
    word = torch.tensor([[0] * 300 + [4] + [2] * 300])
    with torch.no_grad():
        assert torch.allclose(
            nested_root(model, word, DIRECTION)[0], nested_root_plainly(model, word[0], DIRECTION), rtol=0, atol=1e-10
        )


@pytest.mark.parametrize("right", [True, False])
@given(st.lists(st.integers(1, 14), min_size=1, max_size=6), st.integers(2, 5), st.integers(0, 1000))
def test_random_bracketings_group_neighbours_and_come_to_an_end(right, sizes, C, seed):
    size = np.array(sizes)
    bracketing = RandomBracketing(0.3, np.random.default_rng(seed))
    while (size > 1).any():
        of = bracketing.groups(size, C, right)
        assert len(of.group) == size.sum()
        assert len(of.waits) == of.size.sum()
        assert (of.size[size > 1] < size[size > 1]).all()
        for number, waits in enumerate(of.waits):
            nodes = np.flatnonzero(of.group == number)
            assert (np.diff(nodes) == 1).all()
            assert of.place[nodes].tolist() == list(range(len(nodes)))[:: -1 if right else 1]
            assert 1 <= len(nodes) <= (1 if waits else C)
        # Groups do not reach over the end of a forest.
        assert (np.bincount(np.repeat(np.arange(len(size)), of.size), minlength=len(size)) == of.size).all()
        assert (np.diff(of.group)[numbered(size)[1:] == 0] == 1).all()
        size = of.size


@every_model
def test_a_random_bracketing_is_another_tree_of_the_same_words(make):
    model, words = make().double(), words_of(200, count=6)
    words[:, 20:180] = 4  # rows long enough for every chunk size
    roots = [nested_root(model, words, DIRECTION, RandomBracketing(0.4, np.random.default_rng(i))) for i in (0, 0, 1)]
    assert torch.equal(roots[0], roots[1])
    assert not torch.allclose(roots[0], roots[2])
