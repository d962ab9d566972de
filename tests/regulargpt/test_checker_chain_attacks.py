"""Certificates of chains that are made to take the checker's memory or time, or to make it say what is not so."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from languages.automata import MooreMachine
from regulargpt.certificate.checker import AcceptedChain, Rejected, chain_product, decide
from regulargpt.certificate.checker.boxes import known
from regulargpt.certificate.checker.chain_boxes import Boxes
from regulargpt.certificate.checker.chain_networks import network_of
from tests.regulargpt.chain_certificates import ENDS_IN_1, blank, certificate, config, drawn, files

MANY = 200


def last_symbol(machine: MooreMachine) -> tuple[Any, np.ndarray]:
    """A ReLU RNN whose state is the number of the last symbol, and these numbers; the later half is answered 1."""
    model, count = blank("rnn", machine, 1), len(machine.alphabet)
    with torch.no_grad():
        model.rnn.weight_ih_l0[0] = torch.arange(count)
        model.readout.weight[1, 0], model.readout.bias[0] = 1, (count - 1) / 2
    return model, np.arange(count, dtype=float)[:, None]


@pytest.mark.parametrize(("name", "most"), [("MAX_ROWS", 300), ("MAX_STEPS", 700)])
def test_rows_are_counted_before_all_of_a_level_is_written_down(monkeypatch: pytest.MonkeyPatch, name: str, most: int):
    """Of n symbols the second level has n^2 rows, which is gigabytes of them for n = 40,000."""
    alphabet = tuple(map(str, range(MANY)))
    last = tuple(i * 2 // MANY for i in range(MANY))
    machine = MooreMachine(("0", "1"), alphabet, (last, last), "0", (0, 1), ("no", "yes"))
    model, points = last_symbol(machine)
    made, moves, seen = files("rnn", model, machine), chain_product.Product.moves, []

    def counted(self: Any, level: list[Any]) -> Iterator[Any]:
        for move in moves(self, level):
            seen.append(move)
            yield move

    monkeypatch.setattr(chain_product.Product, "moves", counted)
    monkeypatch.setattr(chain_product, name, most)
    with pytest.raises(Rejected, match=r"rows of the table come up|steps from them"):
        decide(certificate(made, points), made)
    assert len(seen) < 5 * MANY < MANY**2


def test_boxes_of_many_narrow_layers_are_counted_by_the_layer():
    """A row takes twelve seconds there, though its matrices have few numbers."""
    model = drawn("lstm", 2, 2, 1, 1024)
    weights = {key: value.numpy() for key, value in model.state_dict().items()}
    network: Any = network_of(weights, config("lstm", model, ENDS_IN_1), known)
    point = np.zeros((1, network.D))
    rows = SimpleNamespace(points=dict.fromkeys(range(2000)))
    with pytest.raises(Rejected, match=r"boxes are proven of at most \d\d\d rows in a network of this size"):
        Boxes(network, point, point, 1e-3, SimpleNamespace(rows=rows))  # type: ignore[arg-type]


def test_matrices_of_all_layers_are_counted():
    """Where layers are bounded together those of all of them are kept: 30 GB, of a network of 6 MB."""
    D = 16 * 1024
    network: Any = SimpleNamespace(GATES=3, d=16, layers=1024, D=D, first_state=lambda: np.zeros(D))
    point, rows = np.zeros((1, D)), SimpleNamespace(points={})
    with pytest.raises(Rejected, match="boxes take matrices of 805,306,368 numbers in this network; at most"):
        Boxes(network, point, point, 1e-3, SimpleNamespace(rows=rows, pairs=[]))  # type: ignore[arg-type]


def test_of_one_point_no_other_is_near():
    """The margin is not minus infinity, which would say that it does not hold, and is no number of JSON.

    The answers come from the states before they are replaced, as the claim says: there all states have one answer.
    """
    model, _ = last_symbol(ENDS_IN_1)
    made = files("rnn", model, ENDS_IN_1)
    found = decide(certificate(made, np.array([[7.0]])), made)
    assert isinstance(found, AcceptedChain)
    assert found.point_margin is None
    assert found.claim.endswith("is replaced by the nearest of 1 point after each symbol and the answer to it.")
