"""Chains whose state is replaced by points: table, product and search against a loop that replaces it, word by word."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import languages
from languages.automata import MooreMachine
from languages.automata.semiautomaton import numbered
from languages.errors import UserError
from regulargpt.certificate.chain.points import Candidate
from regulargpt.certificate.chain.product import ChainProduct
from regulargpt.certificate.chain.search import improved, proven, refuse_trivial
from regulargpt.certificate.compared import right_machine
from regulargpt.finite.chain import Chain, chain_of
from regulargpt.finite.chain_rows import QuantisedChain, Rows
from regulargpt.models.gru import Gru
from regulargpt.models.linear_rnn import LinearRnn
from regulargpt.models.lstm import Lstm
from regulargpt.models.recurrent import Stepwise
from regulargpt.models.rnn import Rnn

N_SYMBOLS, N_OUTPUTS, LONGEST = 2, 3, 7
CASES = [(cls, n_layers, seed) for cls in (Rnn, Gru, Lstm, LinearRnn) for n_layers in (1, 2) for seed in range(2)]
WORDS = [word for length in range(1, LONGEST + 1) for word in product(range(N_SYMBOLS), repeat=length)]


def chain_with_points(cls: Any, n_layers: int, seed: int) -> tuple[Chain, Tensor]:
    """A random network whose answers differ, and a few of its states as points."""
    generator = torch.Generator().manual_seed(seed)
    model = cls(N_SYMBOLS, N_OUTPUTS, d_model=3, n_layers=n_layers, generator=generator)
    torch.nn.init.normal_(model.readout.weight, std=2.0, generator=generator)
    chain = chain_of(model)
    along = chain.along(torch.randint(N_SYMBOLS, (4, 4), generator=generator))[1].flatten(0, 1)  # (16, D)
    return chain, along[torch.randperm(16, generator=generator)[: 2 + seed]].unique(dim=0)


def answers_of(chain: Chain, points: Tensor) -> dict[tuple[int, ...], int]:
    """The answer to every word, by replacing the state after each symbol; nearest by distances written out."""
    found, states = {}, {}
    for word in WORDS:
        symbols = torch.tensor(word[-1:])
        logits, state = chain.first(symbols) if len(word) == 1 else chain.step(states[word[:-1]], symbols)
        found[word] = int(logits.argmax())
        distances = [float(((state[0] - point) ** 2).sum()) for point in points]
        states[word] = points[[distances.index(min(distances))]]
    return found


def machine_of(rows: Rows, changed: int | None = None) -> MooreMachine:
    """The machine of the table, a state for each row behind the start; one answer changed, if so."""
    K1, S = rows.images.shape
    table = np.vstack([np.arange(S), *([image * S + np.arange(S)] for image in rows.images.ravel())]) + 1
    outputs = [0, *rows.answers.ravel().tolist()]
    if changed is not None:
        outputs[1 + changed] = (outputs[1 + changed] + 1) % N_OUTPUTS
    names = numbered(1 + K1 * S)
    return MooreMachine(names, ("0", "1"), table, names[0], tuple(outputs), ("a", "b", "c"))


def first_wrong(given: dict[tuple[int, ...], int], machine: MooreMachine) -> tuple[int, ...] | None:
    return next((word for word in WORDS if given[word] != int(machine.answers(np.array([word]))[0])), None)


@pytest.mark.parametrize(("cls", "n_layers", "seed"), CASES)
def test_the_product_is_proven_or_wrong_as_all_words_are(cls, n_layers: int, seed: int):
    chain, points = chain_with_points(cls, n_layers, seed)
    rows, given = Rows.compute(chain, points), answers_of(chain, points)
    model = QuantisedChain(rows)
    for length in range(1, LONGEST + 1):
        words = torch.tensor([word for word in WORDS if len(word) == length])
        assert model(words).argmax(1).tolist() == [given[tuple(word)] for word in words.tolist()]
        assert torch.equal(model(words, readout="all")[:, -1], model(words))
    right = ChainProduct.explore(rows, machine_of(rows).minimise())
    assert right.wrong is None
    for changed in range(0, rows.images.size, 2):
        machine = machine_of(rows, changed)
        found = ChainProduct.explore(rows, machine.minimise())
        # So few rows that a wrong one comes up within so many symbols, or never.
        assert found.wrong == first_wrong(given, machine)
    # What comes up: rows that words read, points that they carry on, and pairs of these with the machine's states.
    carried = {(0, (), right.machine.initial_index)}
    met = {(0, right.machine.initial_index)}
    for _ in range(rows.images.size):
        carried = {
            (int(rows.images[k, x]), (), int(right.machine.table[q, x]))
            for k, _, q in carried
            for x in range(N_SYMBOLS)
        }
        met |= {(k, q) for k, _, q in carried}
    assert set(map(tuple, right.pairs.tolist())) == met
    margins = [rows.margins[k, x] for k, _ in met for x in range(N_SYMBOLS)]
    assert right.smallest_margin == min(margins)
    # A point that never comes up can be left out, and what is moved keeps every answer.
    if right.is_proven:
        better = improved(Candidate(chain, right.machine), right)
        assert better.wrong is None
        assert better.smallest_margin >= right.smallest_margin
        assert len(better.rows.points) == len({k for k, _ in met} - {0})


class Turning(Stepwise):
    """A state on the circle, turned by a third with each symbol 1, and a little more; it answers how often."""

    def __init__(self, n_symbols: int, n_outputs: int, *, more: float, generator: torch.Generator | None = None):
        super().__init__(n_symbols, 2, n_outputs, generator or torch.Generator().manual_seed(0))
        self.angle = 2 * torch.pi / 3 + more
        turns = torch.arange(3) * 2 * torch.pi / 3
        self.readout.weight.data = torch.stack([turns.cos(), turns.sin()], 1)  # (3, 2)
        self.readout.bias.data.zero_()

    def start(self, batch: int) -> Tensor:
        return self.readout.weight.new_tensor([1.0, 0.0]).expand(batch, 2)

    def step(self, state: Tensor, x: Tensor) -> Tensor:
        angle = torch.atan2(state[:, 1], state[:, 0]) + self.angle * x[:, 1]
        return torch.stack([angle.cos(), angle.sin()], 1)


def cyclic() -> MooreMachine:
    return right_machine(languages.get("cyclic-3"))  # type: ignore[return-value]


def test_a_network_that_drifts_is_proven_with_its_states_replaced_and_wrong_as_it_is():
    machine, chain = cyclic(), Chain(Turning(2, 3, more=0.1))
    assert machine.alphabet == ("0", "1")
    holding, _ = proven(Candidate(chain, machine), [])
    assert len(holding[0].rows.points) == 3
    assert all(found.is_proven for found in holding)
    # By hand: after n ones the angle is 0.1 n off, and the answer flips beyond pi / 3.
    ones = int(np.pi / 3 / 0.1) + 1
    assert Candidate(chain, machine).own_error() == (1,) * ones


def test_points_that_do_not_do_get_more_until_they_do():
    machine, chain = cyclic(), Chain(Turning(2, 3, more=0.01))
    one = ChainProduct.explore(Rows.compute(chain, torch.tensor([[1.0, 0.0]], dtype=torch.float64)), machine)
    assert one.wrong == (1, 0)
    candidate = Candidate(chain, machine)
    *_, last = candidate.mended(one)
    assert last.is_proven
    assert len(last.rows.points) == 3
    # Of the network alone: the coarsest nets do not do, a finer one does.
    products = map(candidate.product, candidate.nets(one.rows.states[0]))
    assert not next(products).is_proven
    assert any(product.is_proven for product in products)
    # What is wrong of the network itself is no fault of the points.
    wrong = Candidate(Chain(Turning(2, 3, more=2.0)), machine)
    assert list(wrong.mended(wrong.product(one.rows.points))) == []


def test_states_are_averaged_by_the_machines_state_and_the_last_symbol_where_something_is_asked():
    task = languages.get("modular-arithmetic:modulus=2")
    machine: Any = right_machine(task)
    chain = Chain(Gru(task.n_symbols, 2, d_model=3))
    words = [np.array([[0, 2, 1]]), np.array([[0]])]
    sampled = Candidate(chain, machine).sampled(words)
    asked = {(q, x) for q in range(machine.n_states) for x in range(machine.n_symbols)}
    found = set(zip(sampled.machine_states.tolist(), sampled.symbols.tolist(), strict=True))
    assert found < asked
    assert len(sampled.per_state()) == len(sampled.machine_states.unique())
    assert len(sampled.per_edge()) == len(found)
    q = int(sampled.machine_states[0])
    mean = sampled.states[sampled.machine_states == q].mean(0)
    assert (sampled.per_state() - mean).abs().sum(1).min() < 1e-12


def test_where_all_words_are_alike_there_is_nothing_to_prove():
    machine = languages.get("parity").machine
    alike = MooreMachine(machine.states, machine.alphabet, machine.table, "even", (1, 1), machine.output_names)
    with pytest.raises(UserError, match="all words of it are alike: there is nothing to prove"):
        refuse_trivial(alike, "it")
