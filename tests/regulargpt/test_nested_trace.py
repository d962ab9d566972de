"""The nodes of trees along brackets, one by one: hooks, traces and patches, against the definition by recursion."""

import pytest
import torch

from languages.errors import UserError
from regulargpt.models.hooks import run_with_cache, run_with_hooks
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.trace import trace_tree
from regulargpt.models.tree.nested import nested_root_plainly
from regulargpt.models.tree.nodes import levels_of_nodes
from regulargpt.models.tree.trace import trace_nested
from tests.regulargpt.test_nested_tree import DIRECTION, MODELS, SMALL, every_model, words_of


def follows(make):
    model = make().double().eval()
    model.follow(DIRECTION.tolist())
    return model


@every_model
@torch.no_grad()
def test_every_node_is_the_map_of_its_children_and_the_root_answers(make):
    model = follows(make)
    for length in (1, 2, 6, 20):
        words = words_of(length)
        trace = trace_nested(model, words)
        plain = torch.stack([nested_root_plainly(model, word, DIRECTION) for word in words])
        torch.testing.assert_close(trace.logits, model.readout(plain), rtol=0, atol=1e-12)
        for level in range(1, len(trace.states)):
            for node, children in enumerate(trace.children[level].tolist()):
                there = [child for child in children if child != [-1, -1]]
                table = torch.cat([model.absent, *(trace.states[of][number][None] for of, number in there)])
                rows = torch.tensor([0 if child not in there else 1 + there.index(child) for child in children])
                state = model.merge(table, rows[None])[0]
                torch.testing.assert_close(trace.states[level][node], state, rtol=0, atol=1e-12)
                # Its level is one above its highest child; its sub-word is theirs, from left to right.
                assert level == 1 + max(of for of, _ in there)
                in_order = there[::-1] if model.aligned == "right" else there
                assert trace.subword(level, node) == [s for of, number in in_order for s in trace.subword(of, number)]


@every_model
@torch.no_grad()
def test_a_node_changes_with_the_symbols_under_it_and_with_no_other(make):
    """Of a word whose brackets stay where they are."""
    model, word = follows(make), torch.tensor([[4, 0, 4, 4, 1, 4, 2, 3, 4, 0, 2, 4]])
    trace = trace_nested(model, word)
    for at in range(word.shape[1]):
        state = torch.linspace(-1, 2, 16, dtype=torch.float64)
        patch = trace.patch(0, at, state)
        under = [(level, node) for level, spans in enumerate(trace.spans) for node, (_, start, end) in
                 enumerate(spans.tolist()) if start <= at < end]  # fmt: skip
        assert list(patch.changed) == under
    # Back again: as it was, to the last bit.
    away = trace.patch(2, 0, torch.zeros(16).double())
    back = away.trace.patch(2, 0, trace.states[2][0])
    assert torch.equal(back.logits, trace.logits)
    assert trace.patch(2, 0, trace.states[2][0]).changed == ()


@torch.no_grad()
def test_a_patch_is_what_a_hook_does_in_the_plain_tree():
    model, words = follows(MODELS["C=3, post-LN"]), words_of(14, count=3)
    trace = trace_nested(model, words)
    _, cache = run_with_cache(model, words, computation="plain-tree", names_filter="hook_state")
    passed = list(cache.values())[1:]  # first the leaves, each symbol once
    assert [len(states) for states in passed] == [len(states) for states in trace.states[1:]]
    assert all(torch.equal(x, y) for x, y in zip(passed, trace.states[1:], strict=True))
    state, level, node = torch.linspace(-1, 2, 16, dtype=torch.float64), 2, 1

    def instead(value, hook):
        return value.index_fill(0, torch.tensor([node]), 0.0) + torch.zeros_like(value).index_add(
            0, torch.tensor([node]), state[None]
        ) if hook.passage == level else None  # fmt: skip

    hooked = run_with_hooks(model, words, computation="plain-tree", fwd_hooks=[("hook_state", instead)])
    torch.testing.assert_close(hooked, trace.patch(level, node, state).logits, rtol=0, atol=1e-12)
    torch.testing.assert_close(model(words), trace.logits, rtol=0, atol=1e-12)


def test_a_deep_word_has_its_nodes_without_recursion():
    deep = 20_000
    word = torch.tensor([[0] * deep + [2] * deep])
    levels = levels_of_nodes(word, DIRECTION, 2, "right")
    assert (len(levels), levels[-1][0].start, levels[-1][0].end) == (3 * deep, 0, 2 * deep)


def test_refusals():
    flat, nested = RegularGPT(5, 3, **SMALL), follows(MODELS["C=2"])
    trace = trace_nested(nested, words_of(3, count=1))
    state = torch.zeros(16).double()
    for refused, words in [
        (lambda: trace_nested(flat, words_of(3)), "this network follows no brackets; use trace_tree"),
        (lambda: trace_tree(nested, words_of(3)), "this tree follows brackets; use trace_nested"),
        (lambda: trace.patch(9, 0, state), "level = 9; there are"),
        (lambda: trace.patch(0, 3, state), "node = 3; there are 3, counted from 0"),
        (lambda: trace.patch(0, 0, state[:2]), r"a state of shape \(2,\); it is \(16,\)"),
    ]:
        with pytest.raises(UserError, match=words):
            refused()
