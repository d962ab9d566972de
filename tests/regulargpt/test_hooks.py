"""Hook points: who listens hears everything, who changes something changes it in every way of computing the model."""

import math

import pytest
import torch
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.models import MODELS
from regulargpt.models.base import Model
from regulargpt.models.hooks import HookPoint, hook_names, hooks, listened_to, run_with_cache, run_with_hooks
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.transformer import Transformer


class Twice(nn.Module):
    """Passes one hook point twice, as weights shared across depth do, and another once."""

    def __init__(self):
        super().__init__()
        self.hook_a, self.hook_b = HookPoint(), HookPoint()

    def forward(self, x: Tensor, add: float = 0.0) -> Tensor:
        return self.hook_b(self.hook_a(self.hook_a(x) + 1) + add)


def test_every_passage_is_kept_under_its_own_key():
    output, cache = run_with_cache(Twice(), torch.zeros(1), add=5.0)
    assert {name: float(value) for name, value in cache.items()} == {"hook_a": 0, "hook_a:1": 1, "hook_b": 6}
    assert float(output) == 6


def test_a_function_hears_the_value_and_the_point_with_its_name_and_passage():
    heard = []

    def hear(value: Tensor, hook: HookPoint) -> None:
        heard.append((hook.name, hook.passage, float(value)))

    model = Twice()
    for _ in range(2):  # each run counts from 0
        run_with_hooks(model, torch.zeros(1), fwd_hooks=[(lambda name: True, hear)])
    assert heard == 2 * [("hook_a", 0, 0.0), ("hook_a", 1, 1.0), ("hook_b", 0, 1.0)]


@pytest.mark.parametrize(
    ("fwd_hooks", "expected"),
    [
        ([], 1.0),
        ([("hook_b", lambda value, hook: -value)], -1.0),
        ([("hook_b", lambda value, hook: None)], 1.0),
        ([(["hook_a", "hook_b"], lambda value, hook: value + 10)], 31.0),
        ([(lambda name: name.endswith("a"), lambda value, hook: value + 10)], 21.0),
        ([("hook_a", lambda value, hook: value + 10 if hook.passage == 1 else None)], 11.0),
        ([("hook_b", lambda value, hook: value + 1), ("hook_b", lambda value, hook: value * 10)], 20.0),
        ([("hook_b", lambda value, hook: value.mul_(0).add_(7) and None)], 7.0),  # in place
    ],
)
def test_what_a_function_returns_passes_instead(fwd_hooks, expected: float):
    assert float(run_with_hooks(Twice(), torch.zeros(1), fwd_hooks=fwd_hooks)) == expected


def test_a_cache_within_open_hooks_keeps_what_they_left():
    model = Twice()
    with hooks(model, [("hook_a", lambda value, hook: value + 10)]):
        assert run_with_cache(model, torch.zeros(1), names_filter="hook_a")[1] == {"hook_a": 10, "hook_a:1": 21}


def test_the_hooks_are_gone_afterwards_even_if_the_model_or_a_function_fails():
    model = Twice()
    run_with_cache(model, torch.zeros(1))
    with pytest.raises(TypeError):
        run_with_cache(model, None)
    with pytest.raises(ZeroDivisionError):
        run_with_hooks(model, torch.zeros(1), fwd_hooks=[("hook_b", lambda value, hook: 1 // 0)])
    with pytest.raises(UserError):
        run_with_hooks(model, torch.zeros(1), fwd_hooks=[("hook_a", print), ("hook_c", print)])
    assert not listened_to(model)


def test_a_filter_restricts_what_is_kept():
    for names_filter in ("hook_b", ["hook_b"], lambda name: name == "hook_b"):
        assert list(run_with_cache(Twice(), torch.zeros(1), names_filter=names_filter)[1]) == ["hook_b"]
    assert hook_names(Twice()) == ["hook_a", "hook_b"]


@pytest.mark.parametrize(
    ("names", "function", "message"),
    [
        ("hook_bb", print, "no hook point named 'hook_bb'; did you mean 'hook_b'?"),
        (["hook_a", "other"], print, "no hook point named 'other'; the model has 'hook_a', 'hook_b'"),
        (lambda name: False, print, "the function fits no hook point; the model has 'hook_a', 'hook_b'"),
        ("hook_b", lambda value, hook: value.sum(), "at hook_b (1,) passes; return that shape, not ()"),
    ],
)
def test_refusals(names, function, message: str):
    with pytest.raises(UserError) as error:
        run_with_hooks(Twice(), torch.zeros(1), fwd_hooks=[(names, function)])
    assert str(error.value) == message


def test_pytorchs_own_hooks_work_too_backwards_as_well():
    model, seen = Twice(), []
    x = torch.ones(1, requires_grad=True)
    with model.hook_b.register_forward_hook(lambda module, inputs, output: -output):
        assert model(x).tolist() == [-2]
    with model.hook_b.register_full_backward_hook(lambda module, above, below: seen.append(float(above[0]))):
        (3 * model(x)).backward()
    assert seen == [3.0]


# The shapes of docs/models.md, for words (4, 5), chunks of 2, width 8, 2 heads, FFN 12, 3 symbols.
IN_ATTENTION = [f"attn.hook_{name}" for name in ("q", "k", "v", "pattern", "z")]
IN_BLOCK = [*IN_ATTENTION, "mlp.hook_pre", "mlp.hook_post", "hook_attn_out", "hook_mlp_out", "hook_resid_post"]
AFTER = [(4, 5, 12), (4, 5, 12), (4, 5, 8), (4, 5, 8), (4, 5, 8)]  # attention, at every position
REGULARGPT = {
    # Level 1 of the tree: 3 nodes a word over 20 leaves and the pad.
    "plain-tree": [(12, 2, 4), (21, 2, 4), (21, 2, 4), (12, 2, 2), (12, 2, 4), *[(12, 12)] * 2, *[(12, 8)] * 3],
    "every": [(4, 5, 2, 4), (4, 6, 2, 4), (4, 6, 2, 4), (4, 2, 5, 2), (4, 5, 2, 4), *AFTER],
    "dense": [(4, 5, 2, 4), (4, 6, 2, 4), (4, 6, 2, 4), (4, 2, 5, 6), (4, 5, 2, 4), *AFTER],
}
TRANSFORMER = [(4, 5, 2, 4), (4, 5, 2, 4), (4, 5, 2, 4), (4, 2, 5, 5), (4, 5, 2, 4), *AFTER]
SIZES = {"d_model": 8, "n_heads": 2, "d_ff": 12}
WORDS = torch.randint(0, 3, (4, 5), generator=torch.Generator().manual_seed(0))


def regulargpt(**options) -> RegularGPT:
    model = RegularGPT(3, 4, **SIZES, generator=torch.Generator().manual_seed(1), **options).double()
    with torch.no_grad():
        model.pad.normal_(generator=torch.Generator().manual_seed(2))
    return model


def shapes(model: nn.Module, **options) -> list[tuple[int, ...]]:
    _, cache = run_with_cache(model, WORDS, **options)
    return [tuple(cache[f"blocks.0.{name}"].shape) for name in IN_BLOCK]


@pytest.mark.parametrize("computation", REGULARGPT)
def test_the_names_and_shapes_of_regulargpt(computation: str):
    model = regulargpt()
    names = ["hook_embed", "hook_state", *(f"blocks.0.{name}" for name in IN_BLOCK)]
    assert sorted(hook_names(model)) == sorted(names)
    assert shapes(model, computation=computation) == REGULARGPT[computation]


def test_the_names_and_shapes_of_the_transformer_are_those_of_transformer_lens():
    model = Transformer(3, 4, **SIZES, n_layers=2)
    blocks = (f"blocks.{layer}.{name}" for layer in range(2) for name in IN_BLOCK)
    assert sorted(hook_names(model)) == sorted(["hook_embed", *blocks])
    assert shapes(model) == shapes(model, readout="all") == TRANSFORMER


POINTS = ["hook_embed", "hook_state", *(f"blocks.0.{name}" for name in IN_BLOCK)]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    "options", [{}, {"chunk_size": 3, "thickness": 2, "norm": "post"}, {"pad": "masked", "state_norm": False}], ids=str
)
def test_one_change_changes_every_computation_alike(point: str, options: dict):
    """Where all values at a point are changed alike, each computation is still the same function: the pad's too."""
    model = regulargpt(**options)

    def change(value: Tensor, hook: HookPoint) -> Tensor:
        if "pattern" in hook.name:  # whose last axis is not the same everywhere, and whose zeros stay zeros
            return 0.9 * value
        return value * torch.linspace(0.5, 1.5, value.shape[-1]).to(value) + 0.1

    words = torch.randint(0, 3, (4, 13), generator=torch.Generator().manual_seed(3))
    plain = model(words)
    for readout, computations in (("last", ("tree", "plain-tree", "every")), ("all", ("every",))):
        expected = run_with_hooks(model, words, readout, "dense", fwd_hooks=[(point, change)])
        for computation in computations:
            found = run_with_hooks(model, words, readout, computation, fwd_hooks=[(point, change)])
            assert float((found - expected).detach().abs().max()) < 1e-12
        assert readout == "all" or not torch.allclose(expected, plain, atol=1e-4)


@pytest.mark.parametrize("computation", ["tree", "plain-tree", "every", "dense"])
def test_to_listen_changes_nothing(computation: str):
    model, heard = regulargpt(thickness=2), []
    listen = [(lambda name: True, lambda value, hook: heard.append(hook.name))]
    before = model(WORDS, computation=computation)
    listening = run_with_hooks(model, WORDS, computation=computation, fwd_hooks=listen)
    assert torch.allclose(listening, before, rtol=0, atol=1e-13)
    assert set(heard) == set(hook_names(model))
    assert torch.equal(model(WORDS, computation=computation), before)


def test_the_pattern_of_a_tree_is_that_of_its_queries_and_keys():
    model = regulargpt(chunk_size=3)
    _, cache = run_with_cache(model, WORDS[:1], computation="plain-tree", names_filter=lambda name: "attn" in name)
    q, k, v, pattern, z = (cache[f"blocks.0.attn.hook_{name}"] for name in ("q", "k", "v", "pattern", "z"))
    for node, window in enumerate(([2, 1, 0], [5, 4, 3])):  # 5 symbols: one pad on the left
        rows = [0 if position == 0 else 1 + int(WORDS[0, position - 1]) for position in window]  # of the symbols
        for head in range(2):
            r = model.blocks[0].attn.r[head]
            logits = torch.stack([q[node, head] @ k[row, head] / math.sqrt(4) for row in rows]) + r
            assert torch.allclose(logits.softmax(0), pattern[node, head], atol=1e-13)
            mixed = sum(p * v[row, head] for p, row in zip(pattern[node, head], rows, strict=True))
            assert torch.allclose(mixed, z[node, head], atol=1e-13)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("readout", ["last", "all"])
def test_the_pattern_of_a_transformer_is_that_of_its_queries_and_keys(causal: bool, readout: str):
    model = Transformer(3, 4, **SIZES, n_layers=1, encoding="none", causal=causal).double()
    _, cache = run_with_cache(model, WORDS, readout=readout)
    q, k, v, pattern, z = (cache[f"blocks.0.attn.hook_{name}"] for name in ("q", "k", "v", "pattern", "z"))
    logits = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(4)
    future = torch.ones(5, 5, dtype=torch.bool).triu(1) & causal
    assert torch.allclose(logits.masked_fill(future, -math.inf).softmax(-1), pattern, atol=1e-13)
    assert torch.allclose(torch.einsum("bhqk,bkhd->bqhd", pattern, v), z, atol=1e-13)
    attn, block = model.blocks[0].attn, "blocks.0."
    assert torch.allclose(attn.out(z.flatten(-2)), cache[block + "hook_attn_out"], atol=1e-13)
    mlp = model.blocks[0].mlp
    assert torch.equal(mlp.activation(cache[block + "mlp.hook_pre"]), cache[block + "mlp.hook_post"])
    assert torch.allclose(mlp.ff_out(cache[block + "mlp.hook_post"]), cache[block + "hook_mlp_out"], atol=1e-13)


@pytest.mark.parametrize("name", ["q", "k", "v", "z"])
@pytest.mark.parametrize("encoding", ["none", "rotary", "alibi", "transformer_xl"])
def test_a_head_without_weights_is_a_head_whose_hook_gives_zero(name: str, encoding: str):
    """q, k, v of head 1 set to zero at the hook, as by zeros in the projection; z as by zeros in the output's."""
    model = Transformer(3, 4, **SIZES, n_layers=2, encoding=encoding).double()

    def without(value: Tensor, hook: HookPoint) -> Tensor:
        return value * torch.tensor([1.0, 0.0]).to(value)[:, None]  # (n_heads, 1)

    found = run_with_hooks(model, WORDS, fwd_hooks=[(f"blocks.1.attn.hook_{name}", without)])
    with torch.no_grad():
        if name == "z":
            model.blocks[1].attn.out.weight[:, 4:] = 0
        else:
            model.blocks[1].attn.qkv.weight.view(3, 2, 4, 8)["qkv".index(name), 1] = 0
    assert torch.allclose(found, model(WORDS), atol=1e-13, rtol=0)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_a_model(name: str):
    model = MODELS[name].load()(3, 4, d_model=8)
    assert isinstance(model, Model)
    assert model.quadratic == (name in ("transformer", "decoder-only", "encoder-decoder", "looped"))
    assert list(model.compiled_parts()) == (list(model.blocks) if isinstance(model, RegularGPT) else [model])
    model.set_noise(0.5)
    if isinstance(model, RegularGPT):
        assert model.state_noise.level == 0.5
        assert RegularGPT(3, 4, attention="full").quadratic
    assert model(WORDS).shape == (4, 4)


def test_a_model_without_forward_is_none():
    with pytest.raises(TypeError, match="abstract"):
        type("Mute", (Model,), {})()
