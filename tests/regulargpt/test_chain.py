"""A recurrent network as a chain: step by step it is the network's own forward, whatever it carries along."""

from itertools import product
from typing import Any

import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.finite.chain import chain_of
from regulargpt.models.gru import Gru
from regulargpt.models.linear_rnn import LinearRnn
from regulargpt.models.lstm import Lstm
from regulargpt.models.recurrent import Recurrent, Stepwise
from regulargpt.models.rnn import Rnn
from regulargpt.models.stack_rnn.model import StackRnn
from regulargpt.models.tape_rnn.model import TapeRnn


class Outside(Stepwise):
    """A cell of a user's own, whose start and activation are its own, too."""

    def __init__(self, n_symbols: int, n_outputs: int, *, d_model: int, n_layers: int, generator: torch.Generator):
        super().__init__(n_symbols, d_model, n_outputs, generator, d_state=n_layers * d_model)
        self.w = nn.Linear(self.d_state + n_symbols, self.d_state)
        nn.init.normal_(self.w.weight, generator=generator)

    def start(self, batch: int) -> Float[Tensor, "batch d_state"]:
        return super().start(batch) + 0.25

    def step(
        self, state: Float[Tensor, "batch d_state"], x: Float[Tensor, "batch width"]
    ) -> Float[Tensor, "batch d_state"]:
        return self.w(torch.cat([state, x], 1)).sin()

    def activation(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        return x.exp()


class Buffered(Recurrent):
    """One that carries the last symbols, a complex number and a number alone, in a dictionary; all of them answer."""

    def __init__(self, n_symbols: int, n_outputs: int, *, d_model: int, n_layers: int, generator: torch.Generator):
        super().__init__(4, n_outputs, generator)
        self.last, self.grows = n_layers, False

    def advance(self, piece, state, readout):
        zeros = self.readout.weight.new_zeros(len(piece), self.last)
        state = state or {
            "buffer": zeros,
            "turned": (torch.complex(zeros[:, 0], zeros[:, 0]) + 1, None),
            "sum": [zeros[:, 0]],
        }
        seen, (turned, nothing), (total,) = [], state["turned"], state["sum"]
        buffer = state["buffer"]
        for symbol in piece.unbind(1):
            x = symbol.to(zeros.dtype)
            turned, total = turned * torch.polar(torch.ones_like(x), x + 1), (total + x * buffer[:, 0]).sin()
            buffer = torch.cat([buffer if self.grows else buffer[:, 1:], x[:, None]], 1)
            seen.append(torch.stack([turned.real, turned.imag, total, buffer[:, 0]], 1))
        after = {"buffer": buffer, "turned": (turned, nothing), "sum": [total]}
        return torch.stack(seen[-1:] if readout == "last" else seen, 1), after


def built(cls: Any, n_layers: int) -> Recurrent:
    return cls(3, 4, d_model=5, n_layers=n_layers, generator=torch.Generator().manual_seed(0)).eval()


@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("cls", [Rnn, Gru, Lstm, LinearRnn, Outside, Buffered])
def test_it_is_the_networks_own_forward_on_every_word(cls: type[Recurrent], n_layers: int):
    model = built(cls, n_layers)
    chain = chain_of(model, 3)
    words = torch.tensor([*product(range(3), repeat=4)])
    expected = model.double()(words, readout="all")
    logits, states = chain.along(words)
    assert (logits - expected).abs().max() < 1e-12
    assert logits.shape == (81, 4, chain.n_outputs)
    assert states.shape == (81, 4, chain.dimension)
    assert states.dtype == torch.float64
    # All that counts of a prefix is in its state: from it every symbol leads on as in the words.
    after, moved = chain.every(states[:, 2])  # (81, 3, outputs), (81, 3, D)
    rows = (torch.arange(81), words[:, 3])
    assert torch.allclose(after[rows], logits[:, 3], atol=1e-12)
    assert torch.allclose(moved[rows], states[:, 3], atol=1e-12)


def test_the_state_has_every_layer_and_every_part():
    sizes = {
        cls: [chain_of(built(cls, n), 3).dimension for n in (1, 2)] for cls in (Rnn, Gru, Lstm, LinearRnn, Buffered)
    }
    assert sizes == {Rnn: [5, 10], Gru: [5, 10], Lstm: [10, 20], LinearRnn: [10, 20], Buffered: [4, 5]}


def test_it_is_a_copy_and_the_model_stays_what_it_was():
    model = built(Gru, 1)
    chain = chain_of(model)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    before = chain.first(torch.tensor([1]))[0]
    nn.init.zeros_(model.readout.weight)
    assert torch.equal(chain.first(torch.tensor([1]))[0], before)


def growing() -> Recurrent:
    model = built(Buffered, 2)
    model.grows = True
    return model


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (TapeRnn(2, 3, d_model=4), r"TapeRnn carries no state .* no regulargpt.models.recurrent.Recurrent"),
        (StackRnn(2, 3, d_model=4), r"a \w+ is carried from symbol to symbol: a chain carries tensors"),
        (growing(), r"Buffered: the state has the shapes \[\(3,\), .*then \[\(4,\)"),
    ],
)
def test_what_is_no_chain_is_refused_in_one_line(model: nn.Module, said: str):
    with pytest.raises(UserError, match=said):
        chain_of(model, 2)


def test_a_model_that_does_not_say_how_many_symbols_it_reads_is_given_their_number():
    with pytest.raises(UserError, match="Buffered does not say how many symbols it reads"):
        chain_of(built(Buffered, 1))
