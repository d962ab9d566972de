"""Encodings younger than the seeds, against their formulas written out pair by pair."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regulargpt import encodings
from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import Encoding, Positions, consecutive
from regulargpt.encodings.cope import Cope
from regulargpt.encodings.fire import Fire
from regulargpt.encodings.forgetting import Forgetting
from regulargpt.encodings.options import ScaledOptions
from regulargpt.encodings.scaled import LogN, Scaled, SSMax

H, D, LAYERS, LENGTH = 2, 4, 2, 9


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


Q, K, X = normal(1, 2, H, LENGTH, D), normal(2, 2, H, LENGTH, D), normal(3, 2, LENGTH, H * D)
SIZES = {"d_model": H * D, "n_heads": H, "n_layers": LAYERS}


@pytest.mark.parametrize("causal", [True, False])
def test_fire_is_a_network_of_the_distance_over_the_longest(causal: bool):
    encoding = Fire(train_len=4, causal=causal, **SIZES).double()
    with torch.no_grad():
        encoding.L.fill_(1.5)
        found = encoding.bias(Q, K, consecutive(Q, K))[0]
    psi = lambda x: math.log(abs(float(encoding.c.detach()) * x) + 1)  # noqa: E731
    for m in range(LENGTH):
        for n in range(m + 1 if causal else LENGTH):
            x = torch.tensor(psi(m - n) / (psi(max(m, n, 6)) + 1e-6), dtype=torch.float64)
            hidden = F.relu(x * encoding.w1 + encoding.b1)
            assert torch.allclose(found[:, m, n], encoding.w2 @ hidden + encoding.b2, atol=1e-12)


def test_the_argument_of_fire_stays_within_0_and_1_however_long_the_word():
    encoding = Fire(train_len=4, **SIZES).double()
    with torch.no_grad():
        for w in (encoding.w1, encoding.w2):
            w.fill_(1.0)
        for b in (encoding.b1, encoding.b2):
            b.fill_(0.0)
        far = Positions(torch.tensor([1e6]).double(), torch.tensor([0.0, 1e6]).double())
        found = encoding.bias(Q[:, :, :1], K[:, :, :2], far)[0, 0, 0] / encoding.width
    assert found.tolist() == pytest.approx([1, 0], abs=1e-6)


@pytest.mark.parametrize("layer", range(LAYERS))
def test_forgetting_adds_up_the_logarithms_of_the_gates_between(layer: int):
    encoding = Forgetting(gate_bias=1.0, **SIZES).double()
    at = consecutive(Q, K, layer)
    state = encoding.prepare(X, layer)
    found = encoding.bias(Q, K, Positions(at.m, at.n, layer, state)).detach()
    gates = torch.sigmoid(X @ encoding.weight[layer].T + encoding.offset[layer]).detach()  # (batch, length, n_heads)
    for m in range(LENGTH):
        for n in range(m + 1):
            assert torch.allclose(found[:, :, m, n], gates[:, n + 1 : m + 1].log().sum(1), atol=1e-12)


def test_gates_start_where_those_of_the_authors_do():
    """Linear maps of N(0, 0.02^2) and biases of 0 (zhixuan-lin/forgetting-transformer): a half fades a symbol."""
    encoding = Forgetting(d_model=256, n_heads=8, n_layers=4)
    assert not bool(encoding.offset.any())
    weight = encoding.weight.detach()
    assert (float(weight.mean()), float(weight.std())) == pytest.approx((0, 0.02), abs=5e-4)
    gates = encoding.prepare(normal(4, 2, 50, 256).float(), 1).exp()
    assert float(gates.mean().detach()) == pytest.approx(0.5, abs=0.01)
    assert Forgetting(gate_bias=5.0, **SIZES).offset.unique().tolist() == [5.0]


def test_gates_that_never_close_forget_nothing_and_equal_ones_are_alibi():
    encoding = Forgetting(**SIZES).double()
    with torch.no_grad():
        encoding.weight.zero_()
        for offset, slope in ((40.0, 0.0), (0.0, math.log(2))):
            encoding.offset.fill_(offset)
            at = consecutive(Q, K)
            found = encoding.bias(Q, K, Positions(at.m, at.n, 0, encoding.prepare(X, 0)))
            assert torch.allclose(found, -slope * at.distances.expand(2, H, -1, -1), atol=1e-12)


def test_cope_interpolates_between_vectors_of_counts():
    encoding = Cope(p_max=4, **SIZES).double()
    with torch.no_grad():
        encoding.weight.copy_(normal(5, LAYERS, 4, D))
    logits = Q @ K.mT / math.sqrt(D)
    found = encoding.score(logits, Q, K, consecutive(Q, K, 1)).detach()
    e, gates = encoding.weight[1].detach(), torch.sigmoid(logits)
    for m in range(LENGTH):
        for n in range(m + 1):
            p = gates[:, :, m, n : m + 1].sum(-1).clamp(max=3)
            low, high = e[p.floor().long()], e[p.ceil().long()]  # each (batch, n_heads, d_head)
            mixed = low + (p - p.floor())[..., None] * (high - low)
            assert torch.allclose(found[:, :, m, n] - logits[:, :, m, n], (Q[:, :, m] * mixed).sum(-1), atol=1e-12)


def test_cope_starts_as_no_encoding():
    logits = Q @ K.mT
    assert torch.equal(Cope(**SIZES).double().score(logits, Q, K, consecutive(Q, K)), logits)


def logits(encoding: Encoding) -> Tensor:
    at = consecutive(Q, K)
    q, k = encoding.rotate(Q, K, at)
    found, bias = q @ k.mT / math.sqrt(D), encoding.bias(q, k, at)
    return (found if bias is None else found + bias).detach()


@pytest.mark.parametrize("positions", ["none", "rotary", "alibi"])
def test_log_n_sharpens_beyond_training_alone(positions: str):
    """Content times ln(m + 1) / ln 4 from the fifth query on; what is added stays as it is."""
    plain = encodings.build(positions, **SIZES).double()
    added = plain.bias(Q, K, consecutive(Q, K))
    content = logits(plain) - (0 if added is None else added)
    for m, row in enumerate(logits(LogN(train_len=4, inner=ENCODINGS.options(positions, ""), **SIZES)).unbind(2)):
        factor = max(1.0, math.log(m + 1) / math.log(4))
        wanted = factor * content[:, :, m] + (0 if added is None else added[:, :, m])
        assert torch.allclose(row, wanted, atol=1e-12)


def test_ssmax_is_a_power_of_the_number_of_keys():
    """softmax(s ln n z)_j = n^(s z_j) / sum n^(s z_i)."""
    encoding = SSMax(**SIZES).double()
    with torch.no_grad():
        encoding.s.copy_(torch.tensor([[0.5, 2.0]] * LAYERS))
    z, found = Q @ K.mT / math.sqrt(D), logits(encoding)
    for m in range(LENGTH):
        for head, s in enumerate((0.5, 2.0)):
            powers = (m + 1.0) ** (s * z[:, head, m, : m + 1])
            wanted = powers / powers.sum(-1, keepdim=True)
            assert torch.allclose(found[:, head, m, : m + 1].softmax(-1), wanted, atol=1e-12)


@pytest.mark.parametrize("train_len", [1, 2, 40, 512])
def test_ssmax_starts_as_sharp_as_attention_on_a_training_word(train_len: int):
    encoding = SSMax(train_len=train_len, **SIZES).double()
    scale = encoding.scale(torch.arange(1.0, train_len + 1, dtype=torch.float64), 1)
    if train_len > 1:
        assert float(scale.detach().mean()) == pytest.approx(1, abs=1e-6)
    assert bool(scale.isfinite().all())


def test_in_a_model_that_is_not_causal_every_query_sees_all_keys():
    found = logits(LogN(train_len=3, causal=False, **SIZES))
    assert torch.allclose(found, math.log(LENGTH) / math.log(3) * (Q @ K.mT) / math.sqrt(D), atol=1e-12)


@pytest.mark.parametrize("name", [name for name in ENCODINGS if ENCODINGS[name].options is not ScaledOptions])
def test_what_another_encoding_says_of_itself_is_said_of_it_scaled(name: str):
    options = ENCODINGS.options(name, "")
    plain, scaled = encodings.build(options, **SIZES), LogN(inner=options, **SIZES)
    for said in ("changes_logits", "changes_score", "span", "learning_rate"):
        assert getattr(plain, said) == getattr(scaled, said)
    inner = {f"inner.{key}": value for key, value in plain.state_dict().items()}
    assert inner.keys() == scaled.state_dict().keys()
    assert all(torch.equal(value, scaled.state_dict()[key]) for key, value in inner.items())
    outer = ScaledOptions("log_n", options)
    assert outer.not_bidirectional() == options.not_bidirectional()
    for length in (1, 40, 10**6):
        assert (outer.too_long(length), outer.too_short(length)) == (
            options.too_long(length),
            options.too_short(length),
        )
    assert list(outer.refuse_heads(6, 2)) == list(options.refuse_heads(6, 2))
    assert outer.parameters(8) == options.parameters(8)


def test_what_scales_says_by_what():
    with pytest.raises(NotImplementedError):
        Scaled(**SIZES).scale(torch.ones(1), 0)
