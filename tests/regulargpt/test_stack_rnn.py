"""stack-rnn: three stacks that must be the same one, the published equations, reading on, and hardening."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regulargpt import models
from regulargpt.models import MODELS, recurrent
from regulargpt.models.hooks import run_with_cache, run_with_hooks
from regulargpt.models.layers import seed_counted
from regulargpt.models.stack_rnn.model import StackRnn
from regulargpt.models.stack_rnn.signs import Binary, Hardness
from regulargpt.models.stack_rnn.stacks import NOOP, POP, PUSH, Pointers, Superposition
from tests.regulargpt.cases import assert_equal, slopes

DIRECTION = (1, -1, 0)
CASES: list[dict[str, Any]] = [
    {},
    {"controller": "elman-relu"},
    {"controller": "tanh", "stacks": 2, "push": "sigmoid", "empty": -1},
    {"controller": "lstm", "stacks": 3},
    {"controller": "binary", "actions": "visible", "empty": -1},
]


def made(seed: int = 0, **options: Any) -> StackRnn:
    """A network in float64 in which no bias is 0."""
    model = StackRnn(3, 4, **{"d_model": 6, "stack_width": 2, **options}, generator=torch.Generator().manual_seed(seed))
    if options.get("actions") == "visible":
        model.follow(DIRECTION)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.double().parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return model.eval()


def slopes_of(outputs: Tensor, *of: Tensor, retain: bool = False) -> list[Tensor]:
    """The outputs, and the gradients of a mixture of them."""
    mixture = torch.linspace(-1, 1, outputs.numel(), dtype=outputs.dtype).reshape(outputs.shape)
    mixed = (outputs * mixture).sum() + sum(p.sum() for p in of)
    return [outputs.detach(), *torch.autograd.grad(mixed, of, retain_graph=retain)]


def words_of(batch: int, length: int) -> Tensor:
    return torch.randint(0, 3, (batch, length), generator=torch.Generator().manual_seed(length))


def naive(cells: Tensor, actions: Tensor, pushed: Tensor, empty: int) -> Tensor:
    """One step of stacks of a fixed depth, (batch, stacks, depth, width), as the equation stands."""
    push, pop, noop = actions[..., None].unbind(2)
    rows = []
    for i in range(cells.shape[2]):
        above = pushed if i == 0 else cells[:, :, i - 1]
        below = cells[:, :, i + 1] if i + 1 < cells.shape[2] else torch.full_like(pushed, empty)
        rows.append(push * above + pop * below + noop * cells[:, :, i])
    return torch.stack(rows, 2)


@settings(max_examples=20)
@given(st.integers(1, 9), st.integers(1, 3), st.sampled_from([0, -1]), st.booleans(), st.integers(0, 99))
def test_superposition_is_the_naive_stack_with_gradients(steps: int, stacks: int, empty: int, cut: bool, seed: int):
    """Only this test sees a stack that is cut a cell too early, or a gradient that is lost at its bottom."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(steps, 3, stacks, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    pushed = torch.randn(steps, 3, stacks, 2, generator=generator, dtype=torch.float64, requires_grad=True)
    tops: list[list[Tensor]] = [[], []]
    # A read before each step, as a controller reads: `steps` symbols in all.
    grown = Superposition.new(pushed, 3, stacks, 2, empty, steps if cut else None)
    fixed = pushed.new_full((3, stacks, steps + 2, 2), empty)
    for action, push in zip(logits.softmax(-1), pushed, strict=True):
        tops[0].append(grown.top())
        tops[1].append(fixed[:, :, 0])
        grown, fixed = grown.act(action, push), naive(fixed, action, push, empty)
        assert not cut or grown.cells.shape[1] <= max(1, steps // 2)
    one, other = (slopes_of(torch.stack(of), logits, pushed, retain=True) for of in tops)
    assert_equal(one, other)


@settings(max_examples=20)
@given(st.lists(st.sampled_from([PUSH, POP, NOOP]), min_size=1, max_size=12), st.integers(0, 9), st.integers(0, 12))
def test_pointers_are_a_list_and_reading_on_twice_from_one_place_is_no_matter(actions: list[int], seed: int, at: int):
    values = np.random.default_rng(seed).normal(size=(len(actions), 2, 1, 2))

    def along(stack: Pointers, lists: list[list[np.ndarray]], sign: int, start: int) -> tuple[Pointers, Any]:
        for t in range(start, len(actions)):
            weights = torch.eye(3, dtype=torch.float64)[[(actions[t] + other) % 3 for other in range(2)]][:, None]
            stack = stack.act(weights, torch.tensor(sign * values[t]))
            lists = [list(of) for of in lists]
            for row, of in enumerate(lists):
                action = (actions[t] + row) % 3
                if action == PUSH:
                    of.append(sign * values[t, row, 0])
                elif action == POP and of:
                    of.pop()
            expected = np.array([of[-1] if of else [-1.0, -1.0] for of in lists])
            assert np.array_equal(stack.top()[:, 0].numpy(), expected)
            if t == at:
                branch.append((stack, lists, t + 1))
        return stack, lists

    branch: list[Any] = []
    along(Pointers.new(torch.zeros(1, dtype=torch.float64), 2, 1, 2, -1), [[], []], 1, 0)
    for stack, lists, start in branch[:1]:
        along(stack, lists, -1, start)
        along(stack, lists, 1, start)


@pytest.mark.parametrize("options", CASES, ids=str)
def test_hard_is_superposition_where_actions_are_certain(options: dict[str, Any]):
    """With gradients; of the actions' own weights there is none."""
    found = []
    for tests in ("hard", "superposition"):
        model = made(tests=tests, **options)
        if model.action is not None:
            for p in model.action.parameters():
                p.requires_grad_(False).mul_(1e6)
        learned = [p for p in model.parameters() if p.requires_grad]
        found.append(slopes_of(model(words_of(20, 9), readout="all"), *learned))
    assert_equal(*found)


def published(model: StackRnn, word: list[int], n_symbols: int = 3) -> np.ndarray:
    """The logits of the network of Deletang et al. 2023 with one stack, rewritten from its equations."""
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    h, cells, logits = np.zeros(6), np.zeros((30, 2)), []
    for x in word:
        e = np.eye(n_symbols)[x]
        into = np.concatenate([e, cells[0]])
        u = weights["input.weight"] @ into + weights["input.bias"] + weights["recurrent.weight"] @ h
        h = np.maximum(0, u + weights["recurrent.bias"])
        v = weights["push.weight"] @ h + weights["push.bias"]
        a = np.exp(weights["action.weight"] @ h + weights["action.bias"])
        p, q, o = a / a.sum()
        below = np.concatenate([cells[1:], np.zeros((1, 2))])
        cells = p * np.concatenate([v[None], cells[:-1]]) + q * below + o * cells
        logits.append(weights["readout.weight"] @ h + weights["readout.bias"])
    return np.array(logits)


def test_elman_relu_in_superposition_is_the_published_network():
    model = made(controller="elman-relu", tests="superposition")
    for word in product(range(3), repeat=4):
        np.testing.assert_allclose(model(torch.tensor([word]), "all")[0].detach(), published(model, list(word)), 1e-12)
    # So it is in training, without noise.
    assert_equal(slopes(model, model(words_of(5, 7), "all")), slopes(model.train(), model(words_of(5, 7), "all")))


def test_it_has_as_many_parameters_as_published():
    model = MODELS["stack-rnn"].load()(3, 2, controller="elman-relu", d_model=256)
    assert sum(p.numel() for p in model.parameters()) == 72_205


@pytest.mark.parametrize("tests", ["hard", "superposition"])
@pytest.mark.parametrize("options", CASES, ids=str)
def test_in_pieces_symbol_by_symbol_and_heard_it_is_the_same(options: dict[str, Any], tests: str, monkeypatch):
    model, words = made(tests=tests, **options), words_of(4, 10)
    whole = model(words, "all")
    monkeypatch.setattr(recurrent, "PIECE", 3)
    assert_equal([model(words, "all"), model(words)], [whole, whole[:, -1]])
    decoder = model.decoder()
    assert_equal([decoder.feed(words[:, t : t + 1]) for t in range(10)], list(whole.unbind(1)))
    heard, cache = run_with_cache(model, words, "all")
    assert_equal([heard, cache["hook_state:3"]], [whole, cache["hook_output"][:, 3]])


def test_another_state_at_a_symbol_changes_its_answer_and_all_after():
    model, words = made(), words_of(4, 6)
    others, cache = run_with_cache(model, words.flip(0), "all")

    def exchange(value: Tensor, hook: Any) -> Tensor | None:
        return cache[hook.name if hook.passage == 0 else f"{hook.name}:{hook.passage}"] if hook.passage < 2 else None

    found = run_with_hooks(model, words, "all", fwd_hooks=[("hook_state", exchange)])
    assert torch.equal(found[:, :2], others[:, :2])
    assert not torch.equal(found[:, 2:], model(words, "all")[:, 2:])


def test_at_any_depth_the_last_in_is_the_first_out():
    """A controller set by hand that pushes its symbols, then pops them: 40,000 symbols, 20,000 deep."""
    model = StackRnn(3, 2, d_model=3, stack_width=2)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
        # A unit for "a bit, of value 1", one for "asked", one for the bit on top; pushed is (value, there is one).
        model.input.weight[0, 1], model.input.weight[1, 2], model.input.weight[2, 3] = 2, 2, 1
        model.input.bias.copy_(torch.tensor([-1.0, -1.0, 0.0]))
        model.push.weight[0, 0] = 1
        assert model.action is not None
        model.action.weight[PUSH, 1], model.action.weight[POP, 1] = -1, 1
        model.readout.weight[1, 2], model.readout.weight[0, 2] = 1, -1
    bits = torch.randint(0, 2, (2, 20_000), generator=torch.Generator().manual_seed(0))
    words = torch.cat([bits, torch.full_like(bits, 2)], 1)
    with torch.no_grad():
        answers = model.eval().answers(words, 20_000).argmax(-1)
    assert torch.equal(answers, bits.flip(1))


def test_hardening_is_counted_grows_to_signs_and_is_not_there_in_tests():
    model, words = made(), words_of(16, 6)
    certain = model(words, "all")

    def trained(level: float, step: int = 0) -> tuple[Tensor, Tensor]:
        model.train().set_noise(level)
        seed_counted(model, 0, step)
        outputs, cache = run_with_cache(model, words, "all")
        return outputs, cache["hook_output"]

    before = torch.get_rng_state()
    assert torch.equal(trained(0.4)[0], trained(0.4)[0])
    assert not torch.equal(trained(0.4)[0], trained(0.4, 1)[0])
    assert torch.equal(torch.get_rng_state(), before)
    shares = [(trained(level)[1].abs() == 1).all(-1).all(-1).double().mean() for level in (0.0, 0.5, 0.75, 1.0)]
    assert shares[0] == shares[1] == 0 < shares[2] < shares[3] == 1
    assert torch.equal(model.eval()(words, "all"), certain)


def test_signs_have_the_gradient_of_tanh_and_the_hinge():
    u = torch.tensor([[-0.7, -0.01, 0.02, 0.3]], dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(Binary.apply(u, Hardness(2.0, torch.tensor([[True]]), 0.05, 10.0)).sum(), u)
    slope = 2 * (1 - torch.tanh(2 * u) ** 2)
    assert_equal([found], [slope + torch.tensor([0.0, 10.0, -10.0, 0.0])])


def test_visible_actions_are_those_of_the_brackets():
    options = MODELS.options("stack-rnn:actions=visible,d_model=4", "model")
    model = models.build(options, 4, 2, torch.Generator().manual_seed(0), DIRECTION)
    _, cache = run_with_cache(model.eval(), torch.tensor([[0, 1, 2, 3]]))
    taken = [cache[f"hook_action:{t}" if t else "hook_action"].argmax(-1).item() for t in range(4)]
    assert taken == [PUSH, POP, NOOP, NOOP]
