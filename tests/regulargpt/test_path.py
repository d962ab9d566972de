"""PaTH's logits against the plain products of Householder matrices, and against the authors' own reference.

A product that has one matrix too many at either end, an order turned round, queries that go wrong from chunk to chunk,
and a convolution that forgets the symbols before a piece would be noticed here alone.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from regulargpt.encodings import path
from regulargpt.encodings.base import Positions
from regulargpt.encodings.path import PaTH, transported
from tests.regulargpt.cases import assert_equal
from tests.regulargpt.references import flash_linear_attention

H, D, LAYERS = 2, 4, 2


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def products(q: Tensor, k: Tensor, w: Tensor, bw: Tensor) -> Tensor:
    """Each symbol's matrix moves all keys before it; 0 above the diagonal."""
    apart, rows, moved = k.shape[-2] - q.shape[-2], [], k[..., :0, :]
    for m in range(k.shape[-2]):
        here = (..., slice(m, m + 1), slice(None))
        moved = torch.cat([moved - (moved @ bw[here].mT) * w[here], k[here]], -2)
        if m >= apart:
            row = (q[..., m - apart, :][..., None, :] @ moved.mT)[..., 0, :]
            rows.append(F.pad(row, (0, k.shape[-2] - m - 1)))
    return torch.stack(rows, -2)


@pytest.mark.parametrize("size", [4, 64])
@given(keys=st.integers(1, 14), share=st.floats(0, 1), seed=st.integers(0, 99))
@settings(max_examples=12)
def test_all_pairs_at_once_are_the_products_with_gradients(size: int, keys: int, share: float, seed: int):
    """Any number of queries, the last of the keys, in one chunk or in several."""
    queries = 1 + round(share * (keys - 1))
    q, k, u, b = (normal(2, n, D, seed=seed + i) for i, n in enumerate((queries, keys, keys, keys)))
    w = u / u.norm(dim=-1, keepdim=True)
    given_ = [x.requires_grad_() for x in (q, k, w, 2 * b[..., :1].sigmoid() * w)]
    mask, found = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path, "CHUNK", size)
        for form in (transported, products):
            logits = form(*given_).masked_fill(~mask, 0)
            mixture = torch.linspace(-1, 1, logits.numel(), dtype=torch.float64).view_as(logits)
            found.append([logits.detach(), *torch.autograd.grad((logits * mixture).sum(), given_)])
    assert_equal(found[0], found[1], 1e-12)


def encoding(**options: Any) -> PaTH:
    made = PaTH(d_model=H * D, n_heads=H, n_layers=LAYERS, **options).double()
    with torch.no_grad():
        made.offset.copy_(normal(*made.offset.shape))
    return made.requires_grad_(False)


@pytest.mark.parametrize("gate", [False, True])
def test_vectors_strengths_and_gates_are_those_of_the_paper(gate: bool):
    made, x, layer = encoding(gate=gate), normal(2, 7, H * D), 1
    state, u = made.prepare(x, layer), x @ made.down[layer].T @ made.up[layer].T
    for t in range(7):
        before = [u[:, t - i] * made.conv[layer, :, 2 - i] for i in range(min(t + 1, 3))]
        y = torch.stack(before).sum(0)
        w = (y / (1 + torch.exp(-y))).view(2, H, D)
        w = w / (w.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        numbers = torch.sigmoid(x[:, t] @ made.weight[layer].T + made.offset[layer]).view(2, 1 + gate, H)
        expected = torch.cat([w, 2 * numbers[:, 0, :, None], *(numbers[:, 1:, :, None].log().unbind(1))], -1)
        torch.testing.assert_close(state[:, t], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gate", [False, True])
def test_it_is_the_authors_reference(gate: bool):
    """flash-linear-attention's in float32, values averaged by the softmax; in chunks of 64 there, too."""
    naive = flash_linear_attention("path_attn").naive_path_attn
    T, made = 70, encoding(gate=gate)
    q, k, v = (normal(2, H, T, D, seed=i) for i in range(3))
    state = made.prepare(normal(2, T, H * D, seed=3), 0)  # (batch, T, H, D + 1 or D + 2)
    at = Positions(torch.arange(T), torch.arange(T), 0, state)
    logits = made.score(q @ k.mT / math.sqrt(D), q, k, at)
    faded = made.bias(q, k, at)
    logits = logits if faded is None else logits + faded
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    found = logits.masked_fill(hidden, -math.inf).softmax(-1) @ v  # (batch, H, T, D)
    w, beta = state[..., :D], state[..., D]
    # Its scale is on the gates, too.
    g = state[..., D + 1] * math.sqrt(D) if gate else torch.zeros(2, T, H)
    expected = naive(*(x.transpose(1, 2).float() for x in (q, k, v)), w.float(), beta.float(), g.float(), D**-0.5)
    torch.testing.assert_close(found.transpose(1, 2).float(), expected, rtol=1e-4, atol=1e-5)


def test_a_reflection_for_each_1_gives_a_key_the_sign_of_parity():
    """beta = 2 and w = e_1 at 1s, beta = 0 at 0s: the first key's logit is 1 or -1."""
    word = torch.tensor([0, 1, 1, 0, 1, 0, 1, 1])
    e = torch.tensor([[1.0, 0.0]]).expand(len(word), -1)
    logits = transported(e, e, e, 2.0 * word[:, None] * e)
    assert logits[:, 0].tolist() == (1 - 2.0 * (word.cumsum(0) % 2)).tolist()
