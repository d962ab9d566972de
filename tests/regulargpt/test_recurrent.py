"""The recurrent baselines against their papers' equations, one step at a time, in float64."""

import pytest
import torch
from torch import Tensor

from languages.errors import UserError
from regulargpt.models import recurrent
from regulargpt.models.gru import Gru
from regulargpt.models.linear_rnn import LinearRnn
from regulargpt.models.lstm import Lstm
from regulargpt.models.recurrent import Recurrent
from regulargpt.models.rnn import Rnn

TORCH = [Rnn, Lstm, Gru]
ALL = [*TORCH, LinearRnn]


def built(cls: type[Recurrent], seed: int = 0, n_layers: int = 2) -> Recurrent:
    generator = torch.Generator().manual_seed(seed)
    return cls(3, 4, d_model=6, n_layers=n_layers, generator=generator).double()


def some_words(batch: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 3, (batch, length), generator=torch.Generator().manual_seed(seed))


def cell(kind: type[Recurrent], x: Tensor, h: Tensor, c: Tensor, w: list[Tensor]) -> tuple[Tensor, Tensor]:
    """One step of one layer on one word: the new (h, c)."""
    from_x, from_h = w[0] @ x + w[2], w[1] @ h + w[3]
    if kind is Rnn:
        return (from_x + from_h).relu(), c
    if kind is Lstm:
        i, f, g, o = (from_x + from_h).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    (r_x, z_x, n_x), (r_h, z_h, n_h) = from_x.chunk(3), from_h.chunk(3)
    z = (z_x + z_h).sigmoid()
    return (1 - z) * (n_x + (r_x + r_h).sigmoid() * n_h).tanh() + z * h, c


def naive(model: Recurrent, words: Tensor) -> Tensor:
    outputs = []
    for word in words:
        inputs = list(torch.eye(3, dtype=torch.float64)[word])
        for layer in range(model.rnn.num_layers):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            weights = [getattr(model.rnn, f"{name}_l{layer}") for name in names]
            h = c = torch.zeros(6, dtype=torch.float64)
            states = []
            for x in inputs:
                h, c = cell(type(model), x, h, c, weights)
                states.append(h)
            inputs = states
        outputs.append(torch.stack([model.readout(h.relu()) for h in inputs]))
    return torch.stack(outputs)


@pytest.mark.parametrize("cls", TORCH)
@pytest.mark.parametrize("length", [1, 2, 7])
def test_outputs_and_gradients_equal_the_equations(cls: type[Recurrent], length: int):
    model, words = built(cls), some_words(3, length)
    results = []
    for compute in (lambda: model(words, readout="all"), lambda: naive(model, words)):
        outputs = compute()
        loss = (outputs * torch.linspace(-1, 1, outputs.numel()).reshape(outputs.shape)).sum()
        results.append([outputs, *torch.autograd.grad(loss, list(model.parameters()))])
    for fast, slow in zip(*results, strict=True):
        assert torch.allclose(fast, slow, atol=1e-12, rtol=0)


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("piece", [1, 3, 8])
@pytest.mark.parametrize("readout", ["last", "all"])
def test_reading_piece_by_piece_changes_no_output_and_no_gradient(cls, piece: int, readout: str, monkeypatch):
    model, words = built(cls), some_words(2, 11)
    results = []
    for size in (100, piece):
        monkeypatch.setattr(recurrent, "PIECE", size)
        outputs = model(words, readout=readout)
        results.append([outputs, *torch.autograd.grad(outputs.square().sum(), list(model.parameters()))])
    for whole, pieces in zip(*results, strict=True):
        assert torch.allclose(whole, pieces, atol=1e-12, rtol=0)


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("length", [1, 2, 9, 16, 17])
def test_last_is_the_last_of_all(cls: type[Recurrent], length: int):
    model, words = built(cls), some_words(3, length)
    assert torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-13, rtol=0)


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("length", [2, 9, 33])
def test_a_change_at_t_alters_no_earlier_output(cls: type[Recurrent], length: int):
    model, words = built(cls), some_words(1, length)
    before = model(words, readout="all")
    for t in range(length):
        changed = words.clone()
        changed[0, t] = (changed[0, t] + 1) % 3
        after = model(changed, readout="all")
        assert torch.allclose(after[:, :t], before[:, :t], atol=1e-13, rtol=0)
        assert not torch.allclose(after[:, t], before[:, t], atol=1e-6, rtol=0)


@pytest.mark.parametrize("cls", ALL)
def test_rows_of_a_batch_do_not_see_each_other(cls: type[Recurrent]):
    model, words = built(cls), some_words(5, 11)
    alone = torch.cat([model(word[None]) for word in words])
    assert torch.allclose(model(words), alone, atol=1e-13, rtol=0)


@pytest.mark.parametrize("cls", ALL)
def test_building_is_a_function_of_the_generator(cls: type[Recurrent]):
    before = torch.get_rng_state()
    first, again, other = (built(cls, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    for name, value in first.items():
        assert torch.equal(value, again[name])
        assert not torch.equal(value, other[name]) or len(set(value.flatten().tolist())) <= 2, name


@pytest.mark.parametrize(("cls", "gates"), [(Rnn, 1), (Lstm, 4), (Gru, 3)])
def test_parameter_counts(cls: type[Recurrent], gates: int):
    first, second = gates * (3 * 6 + 6 * 6 + 2 * 6), gates * (2 * 6 * 6 + 2 * 6)
    assert sum(p.numel() for p in built(cls).parameters()) == first + second + 6 * 4 + 4
    assert sum(p.numel() for p in cls(2, 2).parameters()) == gates * (256 * 258 + 512) + 257 * 2


def test_the_forget_gate_starts_open():
    biases = built(Lstm).rnn.bias_ih_l1.detach().chunk(4)
    assert [float(b.mean()) for b in biases] == [0, 1, 0, 0]
    assert not built(Lstm).rnn.bias_hh_l1.any()


@pytest.mark.parametrize("cls", ALL)
def test_refused_words(cls: type[Recurrent]):
    with pytest.raises(UserError) as refused:
        built(cls)(torch.zeros(2, 0, dtype=torch.long))
    assert str(refused.value) == "words of shape (2, 0); a batch is (batch, length) with length >= 1"
    with pytest.raises(UserError, match=r"unknown readout 'al'; did you mean 'all'\?"):
        built(cls)(some_words(1, 2), readout="al")
