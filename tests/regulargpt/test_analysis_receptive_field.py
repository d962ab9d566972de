"""Gradients against closed forms, finite differences and the dense computation."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from languages.randomness import rng
from regulargpt.measurements.receptive_field import (
    ReceptiveField,
    cumulative,
    erf,
    gradient_norms,
    margin,
    receptive_field,
    theoretical,
)
from regulargpt.models import MODELS, recurrent
from regulargpt.models.hooks import HookPoint
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.transformer import Transformer

SMALL = {"d_model": 8, "n_heads": 2, "d_ff": 16}


class Decaying(nn.Module):
    """The sum over positions of a^(T-1-m) w e_m, as the first of two logits: g_m = a^(T-1-m) w."""

    def __init__(self, a: float):
        super().__init__()
        self.a, self.hook_embed = a, HookPoint()

    def forward(self, words: Tensor, readout: str = "last") -> Tensor:
        e = self.hook_embed(F.one_hot(words, 2).double())
        weight = self.a ** torch.arange(words.shape[1] - 1, -1, -1, dtype=torch.float64)
        z = (e * weight[None, :, None]).sum(1) @ torch.tensor([3.0, 4.0], dtype=torch.float64)
        return torch.stack([z, torch.zeros_like(z)], 1)


def words(length: int, count: int = 5, n_symbols: int = 2) -> np.ndarray:
    return rng(0, "test").integers(0, n_symbols, (count, length))


@pytest.mark.parametrize("a", [1.0, 0.9, 0.5, 0.0])
def test_a_geometric_decay_has_its_closed_form(a: float):
    T = 30
    norms = gradient_norms(Decaying(a), words(T))
    assert np.allclose(norms, 5 * a ** np.arange(T - 1, -1, -1.0))
    field = receptive_field(Decaying(a), words(T))
    m = np.arange(1, T + 1)
    closed = m / T if a == 1 else (1 - a**m) / (1 - a**T)
    assert np.allclose(field.c, closed)
    assert np.allclose(field.low, field.high)
    assert field.erf == erf(closed)
    assert field.deviation == pytest.approx(np.abs(closed - m / T).max())
    assert field.erf_words == (field.erf, field.erf)


def test_a_prediction_that_depends_on_nothing_has_no_curve():
    class Constant(Decaying):
        def forward(self, words: Tensor, readout: str = "last") -> Tensor:
            return 0 * super().forward(words, readout)

    field = receptive_field(Constant(1.0), words(4))
    assert (field.erf, field.deviation, field.flat, len(field.c)) == (None, None, 5, 0)


DENSE = [{}, {"chunk_size": 3, "thickness": 2}, {"levels": 3}, {"levels": 5, "pad": "masked"}, {"attention": "full"}]
DENSE += [{"attention": "full", "pad": "masked", "levels": 1}]


@pytest.mark.parametrize("k_hot", [False, True])
@pytest.mark.parametrize("options", DENSE, ids=str)
def test_regulargpt_against_the_dense_computation(options: dict[str, Any], k_hot: bool):
    model = RegularGPT(2, 3, **options, **SMALL).double().eval()
    some = words(13)
    norms = gradient_norms(model, some, k_hot=k_hot)
    assert norms.shape == (5, 13)
    rows: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
        output.retain_grad()
        rows.append(output)

    with model.hook_embed.register_forward_hook(keep):
        margin(model(torch.from_numpy(some), computation="dense"), k_hot).sum().backward()
    assert rows[0].grad is not None
    assert np.allclose(norms, rows[0].grad.norm(dim=-1), rtol=1e-9)
    assert ((norms > 0).sum(1) == (8 if options == {"levels": 3} else 13)).all()


def test_regulargpt_against_finite_differences():
    model = RegularGPT(2, 2, **SMALL).double().eval()
    some, h = words(6, count=1), 1e-6
    norms = gradient_norms(model, some)[0]

    @torch.no_grad()
    def moved(position: int, axis: int, by: float) -> float:
        offset = torch.zeros(1, 6, 8, dtype=torch.float64)
        offset[0, position, axis] = by
        with model.hook_embed.register_forward_hook(lambda module, inputs, output: output + offset):
            return float(margin(model(torch.from_numpy(some), computation="plain-tree"), False))

    for position in range(6):
        g = [(moved(position, axis, h) - moved(position, axis, -h)) / (2 * h) for axis in range(8)]
        assert np.linalg.norm(g) == pytest.approx(norms[position], rel=1e-5)


def test_the_margin_has_the_direction_of_the_loss_but_does_not_vanish():
    logits = torch.tensor([[2.0, -1.0, 0.5], [900.0, 0.0, 1.0]], dtype=torch.float64, requires_grad=True)
    predicted = logits.argmax(1)
    (of_loss,) = torch.autograd.grad(F.cross_entropy(logits, predicted, reduction="sum"), logits)
    (of_margin,) = torch.autograd.grad(margin(logits, False).sum(), logits)
    assert torch.allclose(F.normalize(of_loss[0], dim=0), -F.normalize(of_margin[0], dim=0))
    assert of_loss[1].norm() == 0
    assert of_margin[1].norm() > 1
    assert margin(torch.tensor([[4.0]]), False).tolist() == [4.0]


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("length", [1, 2, 17])
def test_every_model_has_a_receptive_field(name: str, length: int):
    options = SMALL if name in ("regulargpt", "transformer") else {"d_model": 8}
    model = MODELS[name].load()(3, 4, **options)
    field = receptive_field(model, words(length, n_symbols=3))
    assert len(field.c) == length
    assert field.c[-1] == pytest.approx(1.0)
    assert (np.diff(field.c) >= 0).all()
    assert (field.low <= field.high).all()


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru", "linear-rnn"])
def test_pieces_of_a_word_have_the_gradients_of_the_whole(name: str, monkeypatch):
    model, some = MODELS[name].load()(3, 4, d_model=8), words(17, n_symbols=3)
    whole = gradient_norms(model, some)
    monkeypatch.setattr(recurrent, "PIECE", 4)
    assert np.allclose(whole, gradient_norms(model, some), rtol=1e-6)


# Of a text: the symbol that comes next, windows, the shares of the gradient.


def transformer(**options: Any) -> Transformer:
    return Transformer(5, 5, **{**SMALL, "n_layers": 2, "encoding": "alibi", **options}).double().eval()


def test_log_probability_loss_and_margin_have_one_normalised_gradient():
    model, some = transformer(), words(9, n_symbols=5)
    targets = rng(0, "targets").integers(0, 5, len(some))
    passed: list[Tensor] = []
    with model.hook_embed.register_forward_hook(lambda module, inputs, output: keep(passed, output)):
        logits = model(torch.from_numpy(some))
        y = torch.from_numpy(targets)
        of_each = [margin(logits, False, y), F.cross_entropy(logits, y, reduction="none")]
        of_each.append(logits.log_softmax(1).gather(1, y[:, None])[:, 0])
        found = [torch.autograd.grad(each.sum(), passed, retain_graph=True)[0].norm(dim=-1) for each in of_each]
    shares = [norms / norms.sum(1, keepdim=True) for norms in found]
    assert torch.allclose(shares[0], shares[1], rtol=1e-9)
    assert torch.allclose(shares[0], shares[2], rtol=1e-9)
    norms = gradient_norms(model, some, targets=targets)
    assert np.allclose(norms / norms.sum(1, keepdims=True), shares[0].numpy(), rtol=1e-9)
    assert not np.allclose(norms, gradient_norms(model, some, targets=(targets + 1) % 5))


def keep(passed: list[Tensor], output: Tensor) -> Tensor:
    passed.append(output.detach().requires_grad_())
    return passed[-1]


@pytest.mark.parametrize("n_layers", [1, 3])
@pytest.mark.parametrize("w", [1, 2, 4])
@pytest.mark.parametrize("by", ["view", "encoding", "both"])
def test_beyond_the_windows_the_gradient_is_exactly_zero(n_layers: int, w: int, by: str):
    T, reach = 17, n_layers * (w - 1) + 1
    encoding = "alibi" if by == "view" else f"window:width={w}"
    model = transformer(n_layers=n_layers, encoding=encoding)
    if by != "encoding":
        model.set_attention(f"sliding:{w}", train_len=4)
    assert theoretical(model, T) == reach
    norms = gradient_norms(model, words(T, n_symbols=5), targets=np.zeros(5, dtype=int))
    assert (norms[:, : T - reach] == 0).all()
    assert (norms[:, T - reach :] > 0).all()
    field = receptive_field(model, words(T, n_symbols=5), targets=np.zeros(5, dtype=int))
    assert field.share(reach) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("T", [11, 12, 16])
def test_blocks_reach_as_far_as_they_say(T: int):
    model = transformer(n_layers=2)
    model.set_attention("bca", train_len=4)
    reach = theoretical(model, T)
    assert reach is not None
    norms = gradient_norms(model, words(T, n_symbols=5), targets=np.zeros(5, dtype=int))
    assert ((norms > 0).sum(1) == reach).all()


@pytest.mark.parametrize("model", [transformer(), RegularGPT(2, 2, **SMALL)], ids=["full", "regulargpt"])
def test_without_windows_nothing_bounds_it(model: nn.Module):
    assert theoretical(model, 9) is None


def test_one_layer_with_equal_keys_gives_a_straight_line():
    model = transformer(n_layers=1, encoding="none")
    d = model.embedding.embedding_dim
    with torch.no_grad():
        model.blocks[0].attn.qkv.weight[:d] = 0  # the queries: every logit is 0, and so the same for each key
        model.blocks[0].attn.qkv.weight[d : 2 * d] = 0
    T = 12
    # One symbol everywhere: the values, too, are moved alike. The last position also moves its own residual stream.
    norms = gradient_norms(model, np.zeros((1, T), dtype=int), targets=np.zeros(1, dtype=int))[0]
    assert np.allclose(norms[:-1], norms[0])
    c = cumulative(norms[None, :-1] / norms[:-1].sum())[0]
    assert np.allclose(c, np.arange(1, T) / (T - 1))


def test_the_receptive_field_never_shrinks_with_the_share():
    model, some = transformer(), words(30, n_symbols=5)
    field = receptive_field(model, some, targets=some[:, 0])
    found = [field.erf_at(q) for q in np.linspace(0.05, 0.99, 40)]
    assert found == sorted(found)  # type: ignore[type-var]  # none is None
    assert field.erf_at(0.99) == field.erf
    one = receptive_field(transformer(), words(1, n_symbols=5), targets=np.zeros(5, dtype=int))
    assert (one.erf, one.erf_at(0.5), one.share(1), one.share(64)) == (1, 1, 1.0, 1.0)
    empty = ReceptiveField(np.zeros(0), np.zeros(0), np.zeros(0), None, None, None, 3)
    assert (empty.erf_at(0.5), empty.share(4)) == (None, None)
    assert cumulative(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).tolist() == [[0, 0, 1], [1, 1, 1]]


def test_each_sequence_counts_alike_however_large_its_gradient():
    class Scaled(Decaying):
        def forward(self, words: Tensor, readout: str = "last") -> Tensor:
            # The words that begin with 1 have gradients a thousand times those of the others, and all on the newest.
            e = self.hook_embed(F.one_hot(words, 2).double())
            first = words[:, :1].double()
            weight = torch.ones(words.shape[1]).double() * (1 - first)
            weight[:, -1:] += 1000 * first
            z = (e.sum(2) * weight).sum(1)
            return torch.stack([z, torch.zeros_like(z)], 1)

    some = np.array([[0, 0, 0, 0], [1, 0, 0, 0]])
    assert receptive_field(Scaled(1.0), some).c.tolist() == [0.625, 0.75, 0.875, 1.0]


def test_gradients_ask_nothing_of_the_parameters_and_leave_them_as_they_were():
    model = transformer(encoding="kerple_log")
    model.blocks[0].requires_grad_(False)
    before = [p.requires_grad for p in model.parameters()]
    gradient_norms(model, words(9, n_symbols=5))
    assert [p.requires_grad for p in model.parameters()] == before
    assert all(p.grad is None for p in model.parameters())
