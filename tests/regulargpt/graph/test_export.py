"""Graphs of steps: what torch computes lies in their balls, and what they cannot say is refused, with its place."""

import dataclasses
import json
import re
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from languages.errors import UserError
from regulargpt.certificate.checker.balls import exact
from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.doubles import known
from regulargpt.certificate.checker.graph import GraphNetwork
from regulargpt.finite.chain import Chain, chain_of
from regulargpt.graph.export import export, text, weights_of
from regulargpt.judging.network import Cell as Judged
from regulargpt.models import MODELS
from regulargpt.models.delta.model import Delta
from regulargpt.models.gla.model import Gla
from regulargpt.models.gru import Gru
from regulargpt.models.lstm import Lstm
from regulargpt.models.mamba.model import Mamba
from regulargpt.models.mamba2.model import Mamba2
from regulargpt.models.rnn import Rnn
from regulargpt.models.rwkv7.model import Rwkv7
from regulargpt.models.xlstm.model import Mlstm, Slstm
from tests.regulargpt.graph.cells import CELLS, Cell

ALPHABET, ANSWERS = ("0", "1"), ("no", "yes")
OURS = (Rnn, Gru, Lstm, Delta, Gla, Mamba, Mamba2, Rwkv7, Slstm, Mlstm)


@cache
def network(kind: type[nn.Module]) -> tuple[Chain, GraphNetwork]:
    """A cell, or a model of this package, with its graph as it is read from a file."""
    torch.manual_seed(0)
    is_cell = issubclass(kind, Cell)
    chain = chain_of(Judged(kind(), 2)) if is_cell else chain_of(kind(2, 2, d_model=8))
    weights = {name: x.detach().numpy() for name, x in weights_of(chain.model).items()}
    return chain, GraphNetwork(weights, json.loads(text(export(chain, ALPHABET, ANSWERS))))


@pytest.mark.parametrize("kind", CELLS, ids=lambda kind: kind.__name__)
@settings(max_examples=10)
@given(seed=st.integers(0, 1 << 32), radius=st.sampled_from([0.0, 1e-6, 1e-3]))
def test_a_graph_holds_what_torch_computes_and_all_of_a_box(kind, seed: int, radius: float):
    chain, graph = network(kind)
    random, symbol = np.random.default_rng(seed), seed % 2
    centre = random.normal(size=chain.dimension) * 0.3
    points = centre + radius * random.uniform(-1, 1, (6, chain.dimension))
    given_symbols = torch.full((6,), symbol)
    logits, after = (x.numpy() for x in chain.step(torch.from_numpy(points), given_symbols))
    for found, right in zip(graph.step(known(points), given_symbols.numpy()), (logits, after), strict=True):
        assert (abs(found.middle - right) <= found.radius + 1e-12 * (1 + abs(right))).all()
    box = graph.image(centre, np.full(chain.dimension, radius), symbol)
    unknown = ~np.isfinite(box.radius)
    assert ((abs(box.middle - after) <= box.radius + 1e-12 * (1 + abs(after))) | unknown).all()
    margin = graph.margin(centre, np.full(chain.dimension, radius), 0, symbol)
    assert not margin > (logits[:, 0] - logits[:, 1]).min() + 1e-9


@pytest.mark.parametrize("kind", CELLS, ids=lambda kind: kind.__name__)
def test_balls_of_flint_and_of_doubles_agree(kind):
    chain, graph = network(kind)
    states = np.random.default_rng(1).normal(size=(2, chain.dimension)) * 0.3
    weights = {name: x.detach().numpy() for name, x in weights_of(chain.model).items()}
    exactly = GraphNetwork(weights, graph.record, exact).step(exact(states), np.array([0, 1]))
    for quick, ball in zip(graph.step(known(states), np.array([0, 1])), exactly, strict=True):
        far = np.array([float(abs(x - m).upper()) for x, m in zip(ball.ravel(), quick.middle.ravel(), strict=True)])
        assert (far <= quick.radius.ravel()).all()


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_the_graph_is_the_network_that_the_checker_writes_by_hand(kind):
    """Two independent ways from the weights to one step: the traced program, and equations in Python."""
    chain, graph = network(kind)
    options = dataclasses.replace(MODELS.options(kind.__name__.lower(), "model"), d_model=8).record()
    record = {"model": options, "n_symbols": 2, "n_outputs": 2, "alphabet": [*ALPHABET], "supervision": "last"}
    weights = {name: x.detach().numpy() for name, x in weights_of(chain.model).items()}
    by_hand = network_of(weights, {**record, "output_names": [*ANSWERS]}, known)
    assert (by_hand.D, by_hand.first_state().tolist()) == (graph.D, graph.first_state().tolist())
    states = np.random.default_rng(2).normal(size=(3, chain.dimension)) * 0.3
    for one, other in zip(*(net.step(known(states), np.array([0, 1, 1])) for net in (by_hand, graph)), strict=True):
        assert (abs(one.middle - other.middle) <= one.radius + other.radius).all()


class Odd(Cell):
    """A step that a test replaces."""

    def moved(self, h, x):
        raise NotImplementedError


def branching(self, h, x):
    return h + x if h.sum() > 0 else h - x


def in_float32(self, h, x):
    return (h + x).float().double() / 3


def of_a_view(self, h, x):
    y = h + x
    y[:, :1].mul_(2)
    return y


def sorting(self, h, x):
    return torch.sort(h + x).values


def complex_numbers(self, h, x):
    return torch.fft.fft(h + x).real


REFUSED = [
    (branching, "`gt`, a comparison: what runs may depend on no number that the network computes"),
    (in_float32, "computes something else than its graph"),
    (of_a_view, "changed another view of it in place"),
    (sorting, "torch's `sort` has no counterpart in graph.json"),
    (complex_numbers, "has no counterpart in graph.json"),
]


@pytest.mark.parametrize(("moved", "message"), REFUSED, ids=lambda case: getattr(case, "__name__", ""))
def test_what_a_graph_cannot_say_is_refused_where_it_stands(moved, message: str):
    odd = type("Odd", (Odd,), {"moved": moved})()
    with pytest.raises(UserError, match=message) as refused:
        export(chain_of(Judged(odd, 2)), ALPHABET, ANSWERS)
    assert "\n" not in str(refused.value)
    if "something else" not in message:
        line = max(map(int, re.findall(r"test_export.py, line (\d+)", str(refused.value))))
        assert line in {number for _, _, number in moved.__code__.co_lines()}


def test_a_branch_on_the_symbol_is_refused():
    class Branching(Cell):
        def step(self, state, symbols):
            return state + (1 if symbols[0].item() == 1 else 2)

    with pytest.raises(UserError, match=r"test_export.py, line \d+: a branch on the symbol"):
        export(chain_of(Judged(Branching(), 2)), ALPHABET, ANSWERS)


def test_another_start_than_it_says_is_refused():
    class Restless(Gru):
        def start(self, n):
            return super().start(n) if n == 1 else super().start(n) + 1

    chain = chain_of(Restless(2, 2, d_model=4))
    with pytest.raises(UserError, match="begin with another state"):
        export(chain, ALPHABET, ANSWERS)


def test_symbols_may_be_counted_from_another_number_on_and_be_numbers():
    class Shifted(Cell):
        def build(self, width):
            self.more = nn.Embedding(4, width)

        def step(self, state, symbols):
            one_hot = nn.functional.one_hot(symbols, 2).double()
            return state / 2 + self.more(symbols + 1) + symbols[:, None] * 0.25 + one_hot.sum(1, keepdim=True)

    chain = chain_of(Judged(Shifted(), 2))
    graph = export(chain, ALPHABET, ANSWERS)
    assert {node["op"] for node in graph["nodes"]} >= {"row", "slice", "add"}
