"""The recurrent baselines against their papers' equations, one step at a time, in float64."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regulargpt.models import recurrent
from tests.regulargpt.cases import RECURRENT, assert_equal, built, fresh, slopes, words_of


def cell(kind: str, x: Tensor, h: Tensor, c: Tensor, w: list[Tensor]) -> tuple[Tensor, Tensor]:
    """One step of one layer on one word: the new (h, c)."""
    from_x, from_h = w[0] @ x + w[2], w[1] @ h + w[3]
    if kind.startswith("rnn"):
        return (from_x + from_h).tanh() if kind.endswith("tanh") else (from_x + from_h).relu(), c
    if kind == "lstm":
        i, f, g, o = (from_x + from_h).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    (r_x, z_x, n_x), (r_h, z_h, n_h) = from_x.chunk(3), from_h.chunk(3)
    z = (z_x + z_h).sigmoid()
    return (1 - z) * (n_x + (r_x + r_h).sigmoid() * n_h).tanh() + z * h, c


def naive(kind: str, model: Any, word: Tensor) -> Tensor:
    """The answers at all positions of one word."""
    inputs = list(torch.eye(3, dtype=torch.float64)[word])
    for weights in model.rnn.all_weights:
        h = c = torch.zeros(8, dtype=torch.float64)
        states = []
        for x in inputs:
            h, c = cell(kind, x, h, c, weights)
            states.append(h)
        inputs = states
    return torch.stack([model.readout(h.relu()) for h in inputs])


@pytest.mark.parametrize("kind", RECURRENT[:4])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_outputs_and_gradients_equal_the_equations(kind: str, length: int):
    model, words = built(kind), words_of(3, length)
    expected = torch.stack([naive(kind, model, word) for word in words])
    assert_equal(slopes(model, model(words, readout="all")), slopes(model, expected), 1e-12)


@pytest.mark.parametrize("kind", RECURRENT)
@pytest.mark.parametrize("readout", ["last", "all"])
def test_reading_piece_by_piece_changes_no_output_and_no_gradient(kind: str, readout: str, monkeypatch):
    model, words, results = built(kind), words_of(2, 11), []
    for size in (100, 1, 3, 8):
        monkeypatch.setattr(recurrent, "PIECE", size)
        results.append(slopes(model, model(words, readout=readout)))
    for pieces in results[1:]:
        assert_equal(pieces, results[0], 1e-12)


def test_the_forget_gate_starts_open():
    rnn = fresh("lstm").rnn
    assert [float(b.mean()) for b in rnn.bias_ih_l1.detach().chunk(4)] == [0, 1, 0, 0]
    assert not rnn.bias_hh_l1.any()
