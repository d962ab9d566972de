"""pd-ssm against the equations in numpy, in both readings of the authors' code, and its gradient against dense P.

A P that is turned round, a d on the wrong side of it, a gradient of the hard P instead of the soft one, and a group of
equal mixtures that gets another's gradient would be noticed here alone.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import erf, expit, softmax
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regulargpt.models.pd_ssm import routing
from regulargpt.models.pd_ssm.routing import Recurrence
from tests.regulargpt.cases import assert_equal, built, slopes, words_of

CASES = ["pd-ssm", "pd-ssm:variant=row", "pd-ssm:variant=bank", "pd-ssm:d_state=5,dictionary=3,mlp=swiglu"]


def sigmoids(w: dict[str, Any], x: Any) -> Any:
    y = x @ w["up.weight"].T + w["up.bias"]
    return expit((y * (1 + erf(y / 2**0.5)) / 2) @ w["down.weight"].T + w["down.bias"])


def within(w: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in w.items() if key.startswith(prefix)}


def normed(x: Any, w: Any, b: Any) -> Any:
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5) * w + b


def step(w: dict[str, Any], h: Any, x: Any, variant: str) -> Any:
    """The state after x, entry by entry."""
    M, N, s = w["dictionary"], len(h), softmax(w["select.weight"] @ x)
    d = sigmoids(within(w, "magnitude."), x) * np.exp(2j * np.pi * sigmoids(within(w, "phase."), x))
    b = w["b.weight"] @ x
    after = b[0::2] + 1j * b[1::2]
    mix = M[s.argmax()] if variant == "bank" else np.tensordot(s, M, 1)
    for n in range(N):
        if variant == "row":
            after[n] += d[n] * h[mix[n].argmax()]
        else:
            after[mix[:, n].argmax()] += d[n] * h[n]
    return after


def answers(w: dict[str, Any], word: Any, variant: str) -> Any:
    """The logits after each symbol."""
    xs = w["embedding.weight"][word]
    for number in range(2):
        own = within(w, f"blocks.{number}.")
        of_mixer = within(own, "mixer.")
        h, found = np.eye(of_mixer["dictionary"].shape[1])[0] + 0j, []
        for x in xs:
            h = step(of_mixer, h, x, variant)
            y = of_mixer["out.weight"] @ np.stack([h.real, h.imag], 1).flatten() + of_mixer["out.bias"]
            y = normed(y + of_mixer["skip"] * x, own["norm.weight"], own["norm.bias"])
            if "mlp.up.weight" in own:
                gate, value = np.split(own["mlp.up.weight"] @ y, 2)
                y = y + own["mlp.down.weight"] @ (gate * expit(gate) * value)
                y = normed(y, own["mlp_norm.weight"], own["mlp_norm.bias"])
            found.append(y)
        xs = np.stack(found)
    return xs @ w["readout.weight"].T + w["readout.bias"]


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_equations(case: str):
    model, words = built(case), words_of(3, 12)
    w = {key: value.numpy() for key, value in model.state_dict().items()}
    variant = next((name for name in ("row", "bank") if name in case), "column")
    expected = np.stack([answers(w, word.numpy(), variant) for word in words])
    np.testing.assert_allclose(model(words, readout="all").detach().numpy(), expected, rtol=1e-12, atol=1e-12)


def straight_through(M: Tensor, axis: int) -> Tensor:
    """One-hot of the largest along an axis, with the gradient of the softmax."""
    soft = M.softmax(axis)
    hard = torch.zeros_like(M).scatter_(axis, M.argmax(axis, keepdim=True), 1.0)
    return hard + soft - soft.detach()


def densely(s: Tensor, M: Tensor, d: Tensor, b: Tensor, h: Tensor, variant: str) -> Tensor:
    """The states with all P's written down, (batch, length, N, N)."""
    axis = -1 if variant == "row" else -2
    if variant == "bank":
        P = torch.einsum("btk,kmn->btmn", straight_through(s.log(), -1), straight_through(M, axis))
    else:
        P = straight_through(torch.einsum("btk,kmn->btmn", s, M), axis)
    states = []
    for t in range(s.shape[1]):
        before = h if variant == "row" else d[:, t] * h
        sent = torch.einsum("bmn,bn->bm", P[:, t].to(d.dtype), before)
        h = (d[:, t] * sent if variant == "row" else sent) + b[:, t]
        states.append(h)
    return torch.stack(states, 1)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("length", [1, 30])
def test_the_gradient_is_that_of_dense_matrices(case: str, length: int, monkeypatch: pytest.MonkeyPatch):
    """In the first layer symbols share their mixtures, in the second hardly ever; a few mixtures are made at a time."""
    monkeypatch.setattr(routing, "AT_ONCE", 7 * 64)
    model, dense, words = built(case), built(case), words_of(4, length)
    variant = next((name for name in ("row", "bank") if name in case), "column")
    for block in dense.blocks:
        mixer = block.mixer
        mixer.states = lambda inputs, state, of=mixer: densely(
            inputs[0], of.dictionary, inputs[1], inputs[2], state[0], variant
        )
    found, expected = (slopes(each, each(words, readout="all")) for each in (model, dense))
    assert_equal(found, expected, 1e-12)
    selects = [name for name, _ in model.named_parameters()].index("blocks.0.mixer.select.weight")
    assert length == 1 or bool(found[1 + selects].any())


def one_hot_maps(rows: bool) -> dict[tuple[int, ...], Tensor]:
    """For each choice of three places, where P sends e_1, e_2, e_3; P is followed from a one-hot state."""
    found = {}
    for places in itertools.product(range(3), repeat=3):
        M = torch.eye(3)[[*places]] if rows else torch.eye(3)[[*places]].T
        d = torch.ones(3, 1, 3, dtype=torch.complex64)
        states: Any = Recurrence.apply(torch.ones(3, 1, 1), M[None], d, 0 * d, torch.eye(3) + 0j, rows, False)
        found[places] = states[:, 0]
    return found


def test_columns_follow_every_map_of_states_and_rows_only_permutations():
    columns, rows = one_hot_maps(False), one_hot_maps(True)
    for places, states in columns.items():
        assert torch.equal(states, torch.eye(3)[[*places]] + 0j)
        followed = any(torch.equal(states, others) for others in rows.values())
        assert followed == (len({*places}) == 3)


class Largest(TorchDispatchMode):
    """The numbers of the largest tensor that is made."""

    most = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for part in made if isinstance(made, tuple | list) else [made]:
            self.most = max(self.most, part.numel() if isinstance(part, Tensor) else 0)
        return made


def test_no_matrix_is_made_for_each_symbol(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routing, "AT_ONCE", 1 << 12)
    model, words = built("pd-ssm", d_model=16), words_of(8, 40)
    with Largest() as largest:
        model(words, readout="all").sum().backward()
    assert largest.most < 40 * 8 * 16**2 / 3
