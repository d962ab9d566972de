"""Hooks inside recurrent networks: a change at one symbol changes all that comes after, as the equations say."""

from itertools import product

import pytest
import torch
from torch import Tensor

from regulargpt.models.gru import Gru
from regulargpt.models.hooks import HookPoint, hook_names, hooks, run_with_cache, run_with_hooks
from regulargpt.models.linear_rnn import LinearRnn
from regulargpt.models.lstm import Lstm
from regulargpt.models.recurrent import Recurrent, Stepwise
from regulargpt.models.rnn import Rnn

TORCH = [Rnn, Lstm, Gru]
ALL = [*TORCH, LinearRnn]


def built(cls: type[Recurrent], n_layers: int = 2) -> Recurrent:
    generator = torch.Generator().manual_seed(0)
    return cls(3, 4, d_model=6, n_layers=n_layers, generator=generator).double()


def every_word(length: int, n_symbols: int = 3) -> Tensor:
    return torch.tensor(list(product(range(n_symbols), repeat=length)))


def state_points(model: Recurrent) -> list[str]:
    return [name for name in hook_names(model) if name.endswith("hook_state")]


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("readout", ["last", "all"])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_to_listen_changes_no_output_and_no_gradient(cls, readout: str, length: int):
    model, words, heard = built(cls), every_word(length)[:20], []
    results = []
    for listeners in ([], [(lambda name: True, lambda value, hook: heard.append(hook.name))]):
        outputs = run_with_hooks(model, words, readout, fwd_hooks=listeners)
        loss = (outputs * torch.linspace(-1, 1, outputs.numel()).reshape(outputs.shape)).sum()
        gradients = torch.autograd.grad(loss, list(model.parameters()), materialize_grads=True)
        results.append([outputs, *gradients])
    assert set(heard) == set(hook_names(model))
    for fast, slow in zip(*results, strict=True):
        assert torch.allclose(fast, slow, atol=1e-12, rtol=0)


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("prefix", [1, 2, 3])
def test_with_the_state_after_another_prefix_it_goes_on_as_after_that_prefix(cls, prefix: int):
    """All words u w, all prefixes v as long as u: the state after u exchanged for that after v, the answers to v w."""
    model, words, points = built(cls), every_word(5), state_points(built(cls))
    for v in every_word(prefix):
        instead = torch.cat([v.expand(len(words), -1), words[:, prefix:]], 1)
        expected, cache = run_with_cache(model, instead, readout="all", names_filter=points)

        def exchange(states: Tensor, hook: HookPoint, cache: dict[str, Tensor] = cache) -> Tensor:
            return torch.cat([states[:, : prefix - 1], cache[hook.name][:, [prefix - 1]], states[:, prefix:]], 1)

        found = run_with_hooks(model, words, "all", fwd_hooks=[(points, exchange)])
        assert torch.allclose(found[:, prefix:], expected[:, prefix:], atol=1e-12, rtol=0)
        before = model(words, readout="all")
        assert torch.allclose(found[:, : prefix - 1], before[:, : prefix - 1], atol=1e-12, rtol=0)

        def in_place(states: Tensor, hook: HookPoint, cache: dict[str, Tensor] = cache) -> Tensor:
            states[:, prefix - 1] = cache[hook.name][:, prefix - 1]
            return states

        last = run_with_hooks(model, words, fwd_hooks=[(points, in_place)])
        assert torch.allclose(last, expected[:, -1], atol=1e-12, rtol=0)


@pytest.mark.parametrize("cls", TORCH)
def test_so_it_does_with_h_and_c_of_all_layers_exchanged_as_the_symbol_is_read(cls: type[Recurrent]):
    model, words = built(cls), every_word(4)
    points = [name for name in hook_names(model) if name.endswith(("hook_h", "hook_c"))]
    for v in every_word(2):
        expected, cache = run_with_cache(model, torch.cat([v.expand(len(words), -1), words[:, 2:]], 1), readout="all")

        def exchange(value: Tensor, hook: HookPoint, cache: dict[str, Tensor] = cache) -> Tensor | None:
            return cache[f"{hook.name}:1"] if hook.passage == 1 else None

        found = run_with_hooks(model, words, "all", fwd_hooks=[(points, exchange)])
        assert torch.allclose(found[:, 1:], expected[:, 1:], atol=1e-12, rtol=0)


@pytest.mark.parametrize("cls", TORCH)
def test_a_change_at_every_symbol_is_made_inside_the_recurrence(cls: type[Stepwise]):
    model, words = built(cls), every_word(4)

    def shrink(states: Tensor, hook: HookPoint | None = None) -> Tensor:
        return 0.7 * states + 0.1

    state, expected = model.start(len(words)), []
    for x in model.embed(words).unbind(1):
        state = shrink(model.step(state, x))
        expected.append(model.readout(model.activation(model.output(state))))
    found = run_with_hooks(model, words, "all", fwd_hooks=[("hook_state", shrink)])
    assert torch.allclose(found, torch.stack(expected, 1), atol=1e-12, rtol=0)


@pytest.mark.parametrize("cls", ALL)
def test_a_cache_beside_a_change_has_what_came_after_it_once(cls: type[Recurrent]):
    model, words, points = built(cls), every_word(5), state_points(built(cls))

    def silence(states: Tensor, hook: HookPoint) -> Tensor:
        return states.index_fill(1, torch.tensor([1, 3]), 0)

    with hooks(model, [(points, silence)]):
        outputs, cache = run_with_cache(model, words, readout="all")
    assert torch.equal(outputs, model.readout(model.activation(cache["hook_output"])))
    for name in points:
        assert not cache[name][:, [1, 3]].any()
        assert f"{name}:1" not in cache
    # After a state of zeros it reads on as if the word began there.
    alone = run_with_cache(model, words[:, 4:])[1]
    assert torch.allclose(cache[points[0]][:, 4:], alone[points[0]], atol=1e-12, rtol=0)
    numbered = {name.rpartition(":")[2] for name in cache if ":" in name}
    assert numbered == (set() if cls is LinearRnn else {"1", "2", "3", "4"})


@pytest.mark.parametrize(("cls", "gates"), [(Lstm, {"f": 1.0, "i": 0.0}), (Gru, {"z": 1.0})])
def test_gates_that_keep_everything_keep_the_state(cls: type[Recurrent], gates: dict[str, float]):
    model, words = built(cls), every_word(5)
    keep = [
        (
            [f"layers.{layer}.hook_{gate}" for layer in range(2)],
            lambda value, hook, kept=kept: torch.full_like(value, kept) if hook.passage >= 2 else None,
        )
        for gate, kept in gates.items()
    ]
    with hooks(model, keep):
        cache = run_with_cache(model, words)[1]
    for layer in range(2):
        name = f"layers.{layer}.hook_{'c' if cls is Lstm else 'h'}"
        assert not torch.equal(cache[f"{name}:1"], cache[name])
        assert torch.equal(cache[f"{name}:4"], cache[f"{name}:1"])


def test_the_names_are_those_of_the_guide():
    for cls, gates in ((Rnn, "h"), (Gru, "rznh"), (Lstm, "ifgoch")):
        inside = [f"layers.{layer}.hook_{name}" for layer in range(2) for name in gates]
        assert sorted(hook_names(built(cls))) == sorted(["hook_embed", "hook_output", "hook_state", *inside])
    blocks = [f"blocks.{block}.{name}" for block in range(2) for name in ("lru.hook_state", "hook_resid_post")]
    assert sorted(hook_names(built(LinearRnn))) == sorted(["hook_embed", "hook_output", *blocks])


@pytest.mark.parametrize(("cls", "width"), [(Rnn, 12), (Lstm, 24), (Gru, 12)])
def test_the_shapes_are_those_of_the_guide(cls: type[Recurrent], width: int):
    cache = run_with_cache(built(cls), every_word(3))[1]
    assert cache["hook_state"].shape == (27, 3, width)
    assert cache["layers.1.hook_h:2"].shape == (27, 6)
    assert torch.equal(cache["hook_state"][:, 2, 6:12], cache["layers.1.hook_h:2"])
    if cls is Lstm:
        assert torch.equal(cache["hook_state"][:, 0, 12:18], cache["layers.0.hook_c"])


def test_a_gradient_at_h_is_that_of_all_that_comes_after():
    """By finite differences: h after the second symbol moved a little."""
    model, words, moved = built(Lstm), every_word(4)[:5], []
    outputs, cache = run_with_cache(model, words)
    gradient = torch.autograd.grad(outputs.sum(), cache["layers.0.hook_h:1"])[0]
    for sign in (-1e-5, 1e-5):

        def move(value: Tensor, hook: HookPoint, sign: float = sign) -> Tensor | None:
            return value + sign * torch.eye(6).to(value)[2] if hook.passage == 1 else None

        moved.append(run_with_hooks(model, words, fwd_hooks=[("layers.0.hook_h", move)]).sum(1))
    assert torch.allclose((moved[1] - moved[0]) / 2e-5, gradient[:, 2], atol=1e-8)
