"""The tree as arrays: against the dense computation, and against nodes computed one by one in Python, in float64."""

import numpy as np
import pytest
import torch

from languages.errors import UserError
from regulargpt.models.base import Model
from regulargpt.models.hooks import run_with_cache
from regulargpt.models.lstm import Lstm
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.trace import Trace, trace_tree
from tests.regulargpt.test_regulargpt import affine, built, gelu, layer_of, normal, numbers, some_words

SHAPES = [(2, 1, 1), (2, 1, 5), (2, 1, 8), (3, 1, 10), (2, 2, 7), (3, 2, 4), (4, 3, 18)]  # (C, K, length)
OPTIONS = [{}, {"pad": "masked", "norm": "post"}, {"levels": 2, "distinct_levels": 2}]


def nodes_of(model: RegularGPT, word: list[int], norm: str, changed: dict | None = None) -> list[list[np.ndarray]]:
    """The states of every level, node by node; the nodes (level, node) of `changed` have the states that it says."""
    C, pad, changed = model.chunk_size, numbers(model.pad)[0], changed or {}
    leaves = [normal(model.state_norm, numbers(model.embedding.weight)[s]) for s in word]
    levels = [[changed.get((0, n), state) for n, state in enumerate(leaves)]]
    for level in range(model.depth(len(word))):
        for k, block in enumerate(model.layers(level)):
            last = k == model.thickness - 1
            below, stride = levels[-1][::-1], C if last else 1  # from the right
            found = []
            for first in range(0, len(below), stride):
                places = [n for n in range(first, first + C) if n < len(below) or not model.masked]
                window = [below[n] if n < len(below) else pad for n in places]
                state = layer_of(block, window, [n - first for n in places], norm, gelu)
                found.append(normal(model.state_norm, state) if last else state)
            number = len(levels)
            levels.append([changed.get((number, n), state) for n, state in enumerate(found[::-1])])
    return levels


@pytest.mark.parametrize(("chunk_size", "length"), [(2, 5), (2, 8), (3, 11), (5, 7)])
def test_states_and_patterns_are_those_of_the_dense_computation(chunk_size: int, length: int):
    model, words = built(chunk_size), some_words(length)
    trace = trace_tree(model, words)
    names = ["hook_embed", "hook_state", "blocks.0.attn.hook_pattern"]
    logits, cache = run_with_cache(model, words, computation="dense", names_filter=names)
    assert torch.allclose(trace.logits, logits, rtol=0, atol=1e-12)
    for level, (states, patterns) in enumerate(zip(trace.states, trace.patterns, strict=True)):
        at = [length - 1 - chunk_size**level * n for n in reversed(range(states.shape[1]))]
        whole = cache[f"hook_state:{level}" if level else "hook_state"]  # (word, length, d_model)
        assert torch.allclose(states, whole[:, at], rtol=0, atol=1e-12)
        assert patterns.shape == (*states.shape[:2], 2, chunk_size if level else 0)
        if level:
            passed = cache[f"blocks.0.attn.hook_pattern:{level - 1}" if level > 1 else "blocks.0.attn.hook_pattern"]
            dilation, before = chunk_size ** (level - 1), passed.shape[-1] - length
            keys = torch.tensor(at)[:, None] - dilation * torch.arange(chunk_size) + before  # (node, C)
            expected = passed[:, :, torch.tensor(at)[:, None], keys]  # (word, n_heads, node, C)
            assert torch.allclose(patterns, expected.transpose(1, 2), rtol=0, atol=1e-12)


def assert_states(model: RegularGPT, trace: Trace, number: int, expected: list[list[np.ndarray]]) -> None:
    """Of one of the words."""
    for states, level in zip(trace.states, expected, strict=True):
        assert np.allclose(numbers(states[number]), np.stack(level), rtol=0, atol=1e-12)
    assert np.allclose(numbers(trace.logits[number]), affine(model.readout, expected[-1][-1]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_states_are_those_computed_node_by_node_with_and_without_a_patch(shape: tuple, options: dict):
    model, words, norm = built(shape[0], shape[1], **options), some_words(shape[2]), options.get("norm", "pre")
    trace = trace_tree(model, words)
    before = [nodes_of(model, word, norm) for word in words.tolist()]
    for number, expected in enumerate(before):
        assert_states(model, trace, number, expected)
    assert torch.allclose(trace.logits, model(words, computation="plain-tree"), rtol=0, atol=1e-13)
    state, others = torch.linspace(-1, 2, 8, dtype=torch.float64), [0, *range(2, len(words))]
    for level in range(len(trace.states)):
        for node in {0, trace.states[level].shape[1] // 2, trace.states[level].shape[1] - 1}:
            patched = trace.patch(level, node, state, word=1)
            expected = nodes_of(model, words[1].tolist(), norm, {(level, node): numbers(state)})
            assert_states(model, patched.trace, 1, expected)
            levels = enumerate(zip(before[1], expected, strict=True))
            moved = [(at, n) for at, (old, new) in levels for n in range(len(old)) if (old[n] != new[n]).any()]
            assert list(patched.changed) == moved
            assert torch.equal(patched.logits[others], trace.logits[others])


@pytest.mark.parametrize(("chunk_size", "thickness", "length"), SHAPES)
def test_children_and_spans_say_what_each_node_depends_on(chunk_size: int, thickness: int, length: int):
    """A node changes with the symbols of its span, and with no other."""
    model, words = built(chunk_size, thickness), some_words(length, batch=1)
    trace = trace_tree(model, words)
    for changed in range(length):
        other = words.clone()
        other[0, changed] = (other[0, changed] + 1) % 3
        after = trace_tree(model, other)
        for old, new, spans in zip(trace.states, after.states, trace.spans, strict=True):
            moved = (old[0] != new[0]).any(-1)
            assert torch.equal(moved, (spans[:, 0] <= changed) & (changed < spans[:, 1]))
    root = len(trace.spans) - 1
    assert trace.subword(root, -1) == words[0].tolist()
    for level in range(1, len(trace.states)):
        for node, children in enumerate(trace.children[level].tolist()):
            below = [trace.subword(level - 1, child) for child in reversed(children) if child >= 0]
            if trace.layers[level - 1].last and thickness == 1:
                assert trace.subword(level, node) == [symbol for part in below for symbol in part]


def test_patches_follow_one_another_and_undo_one_another():
    model, words = built(2), some_words(8)
    trace = trace_tree(model, words)
    away = trace.patch(1, 2, torch.zeros(8).double())
    back = away.trace.patch(1, 2, trace.states[1][0, 2])
    assert away.changed == back.changed == ((1, 2), (2, 1), (3, 0))
    assert all(torch.equal(x, y) for x, y in zip(trace.states, back.trace.states, strict=True))
    assert torch.equal(back.logits, trace.logits)
    assert trace.patch(1, 2, trace.states[1][0, 2]).changed == ()


def test_gradients_flow_through_a_patch():
    model, words = built(2), some_words(8)
    start = torch.linspace(1, -1, 8).double()
    state = start.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(trace_tree(model, words).patch(0, 3, state).logits[0, 0], state)
    direction = torch.linspace(-1, 2, 8).double().square()
    with torch.no_grad():
        trace = trace_tree(model, words)
        ahead, behind = (trace.patch(0, 3, start + step).logits[0, 0] for step in (1e-6 * direction, -1e-6 * direction))
    assert float(gradient @ direction) == pytest.approx(float((ahead - behind) / 2e-6), rel=1e-5)


def noisy() -> RegularGPT:
    model = built(2).train()
    model.set_noise(0.1)
    return model


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda trace: trace.patch(4, 0, torch.zeros(8)), "level = 4; there are 4, counted from 0"),
        (lambda trace: trace.patch(1, 3, torch.zeros(8)), "node = 3; there are 3, counted from 0"),
        (lambda trace: trace.patch(1, 0, torch.zeros(8), word=9), "word = 9; there are 4, counted from 0"),
        (lambda trace: trace.patch(1, 0, torch.zeros(1)), "a state of shape (1,); it is (8,)"),
        (Lstm(3, 4, d_model=8), "trace_tree reads the tree of a RegularGPT, not of Lstm; use run_with_cache"),
        (built(attention="full"), "full attention has no tree; use run_with_cache with computation='dense'"),
        (noisy(), "state noise would disturb every node; call model.eval()"),
    ],
)
def test_refusals(call, message: str):
    with pytest.raises(UserError) as error:
        trace_tree(call, some_words(5)) if isinstance(call, Model) else call(trace_tree(built(2), some_words(5)))
    assert str(error.value) == message
