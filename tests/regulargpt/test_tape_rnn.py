"""tape-rnn against its equations, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regulargpt.models import MODELS
from regulargpt.models.tape_rnn.model import TapeRnn
from regulargpt.models.tape_rnn.tape import Moved


def made(tapes: int) -> TapeRnn:
    """A network in float64 in which no bias is 0, and all actions are likely somewhere."""
    generator = torch.Generator().manual_seed(tapes)
    model = TapeRnn(3, 4, d_model=6, tape_width=2, tapes=tapes, generator=generator).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
        model.action.weight.mul_(3)
    return model


def naive(model: TapeRnn, word: list[int], tapes: int) -> np.ndarray:
    """The logits, rewritten from the published equations: every cell of every tape by itself."""
    weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
    length, n = len(word), word.index(2) if 2 in word else len(word)
    tape, h, logits = np.zeros((tapes, length, 2)), np.zeros(6), []
    for x in word:
        read = np.concatenate([np.eye(3)[x], *tape[:, 0]])
        u = weights["input.weight"] @ read + weights["input.bias"]
        h = np.maximum(0, u + weights["recurrent.weight"] @ h + weights["recurrent.bias"])
        w = h
        for layer in (0, 2, 4):
            w = weights[f"write.{layer}.weight"] @ w + weights[f"write.{layer}.bias"]
            w = np.maximum(0, w) if layer < 4 else w
        a = np.exp(weights["action.weight"] @ h + weights["action.bias"]).reshape(tapes, 5)
        a /= a.sum(1, keepdims=True)
        tape[:, 0] = w.reshape(tapes, 2)
        after = np.zeros_like(tape)
        for k, i in np.ndindex(tapes, length):
            for weight, by in zip(a[k], (0, 1, -1, n, -n), strict=True):
                after[k, i] += weight * tape[k, (i + by) % length]
        tape = after
        logits.append(weights["readout.weight"] @ h + weights["readout.bias"])
    return np.array(logits)


@pytest.mark.parametrize("tapes", [1, 3])
@pytest.mark.parametrize("alike", [True, False])
def test_it_is_the_published_network(tapes: int, alike: bool):
    """Words whose empty symbols begin at one place, and at several."""
    model = made(tapes)
    words = [[0, 1, 1, 2, 2, 2], [1, 1, 0, 2, 2, 2], *([] if alike else [[1, 2, 2, 2, 2, 2], [0, 1, 0, 0, 1, 1]])]
    found = model(torch.tensor(words), readout="all").detach()
    for of_word, word in zip(found, words, strict=True):
        np.testing.assert_allclose(of_word, naive(model, word, tapes), rtol=1e-11)
    assert torch.allclose(model(torch.tensor(words)), found[:, -1], atol=1e-12)


@settings(max_examples=10)
@given(st.integers(1, 5), st.integers(-6, 6), st.booleans())
def test_gradients_of_a_move(cells: int, n: int, alike: bool):
    generator = torch.Generator().manual_seed(cells)
    shapes = ((2, cells, 2), (2, 5), (2, 2))
    given = [torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True) for shape in shapes]
    jump = n if alike else torch.tensor([n, 1])
    assert torch.autograd.gradcheck(lambda *of: Moved.apply(*of, (0, 1, -1, jump, -jump)), given)


def test_it_has_as_many_parameters_as_published():
    """Beside those of the recurrent network what is written, 21,128, and five actions a tape, 1,285."""
    model = MODELS["tape-rnn"].load()(3, 2, d_model=256)
    recurrent = (3 + 8) * 256 + 256 + 256 * 256 + 256 + 2 * 256 + 2
    assert sum(p.numel() for p in model.parameters()) == recurrent + 21_128 + 1_285
