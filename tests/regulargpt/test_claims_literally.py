"""The sentences of a certificate, taken at their word and computed by other code: which states are replaced."""

import json
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.numpy import load_file

import languages
from regulargpt.certificate.checker import check
from regulargpt.finite.float64_network import Float64Network
from regulargpt.models.ldru.model import Ldru
from regulargpt.models.tree.base import Tree
from regulargpt.runs.load import load_model
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.exact_trees import as_config, certificate_of, fill_leaves, zeroed

CERTIFIED = Path(__file__).parents[2] / "docs" / "certified"
Floats = npt.NDArray[np.float64]


def far_leaves() -> Ldru:
    """Parity in two numbers: nodes are s (1, -1) with s = -1 even and 1 odd, but the symbols are at s = -3 and -5.

    The FFN is piecewise linear with the signs that all sums of one or two states need. Both symbols are nearest to the
    prototype at -1: who replaced their states too would lose which is which.
    """
    model = zeroed(Ldru(2, 2, operator="sum", d_model=2, dropout=0.0).double())
    weights, way = model.state_dict(), torch.tensor([1.0, -1.0]).double()
    fill_leaves(weights, way)
    # Leaves: s = e - 2 - 2 relu(e + 1) at e = -1 and 1.
    weights["embedding_ffn.ff_in.weight"][0], weights["embedding_ffn.ff_in.bias"][0] = way / 2, 1.0
    weights["embedding_ffn.ff_out.weight"][:, 0] = -2 * way
    weights["embedding_ffn.ff_out.bias"].copy_(-2 * way)
    # s + 9 from the left, and at each knot a change of slope: through these values.
    knots = [(-10, -1), (-8, 1), (-6, -1), (-5, 1), (-3, -1), (-1, -1), (0, 1), (1, 1), (2, -1)]
    slopes = [(b - a) / (t - s) for (s, a), (t, b) in pairwise(knots)]
    assert slopes[0] == 1, "that of the residual"
    for i, (before, after) in enumerate(pairwise(slopes)):
        weights["ffn.ff_in.weight"][i], weights["ffn.ff_in.bias"][i] = way / 2, -knots[i + 1][0]
        weights["ffn.ff_out.weight"][:, i] = (after - before) * way
    weights["ffn.ff_out.bias"].copy_(9 * way)
    return model


class Formulas:
    """ldru with the operator `sum`, from its files and the formulas at the top of the checker's ldru.py alone."""

    def __init__(self, folder: Path):
        self.w = {name: weight.astype(float) for name, weight in load_file(folder / "model.safetensors").items()}
        self.prototypes = np.array(json.loads((folder / "certificate.json").read_text())["prototypes"])

    def norm(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean()
        return centred / np.sqrt((centred**2).mean() + 1e-5) * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def ffn(self, x: Floats, name: str) -> Floats:
        hidden = np.maximum(self.w[f"{name}.ff_in.weight"] @ x + self.w[f"{name}.ff_in.bias"], 0)
        return x + self.w[f"{name}.ff_out.weight"] @ hidden + self.w[f"{name}.ff_out.bias"]

    def nearest(self, x: Floats) -> Floats:
        return self.prototypes[np.linalg.norm(self.prototypes - x, axis=1).argmin()]

    def answer(self, word: tuple[int, ...], also_symbols: bool) -> int:
        """With the state of every node above the symbols replaced, or as well that of each symbol."""
        leaves = [self.ffn(self.norm(self.w["embedding.weight"][a], "embedding_norm"), "embedding_ffn") for a in word]
        states = [self.nearest(x) for x in leaves] if also_symbols else leaves
        for _ in range(max(1, (len(word) - 1).bit_length())):
            pairs = [states[i : i + 2] for i in range(0, len(states), 2)]
            states = [self.nearest(self.norm(self.ffn(np.sum(pair, axis=0), "ffn"), "state_norm")) for pair in pairs]
        return int((self.w["readout.weight"] @ states[0] + self.w["readout.bias"]).argmax())


def test_nodes_above_the_symbols_are_replaced_and_symbols_are_not(tmp_path: Path):
    task, folder = languages.get("parity"), tmp_path / "far"
    options = {"operator": "sum", "d_model": 2, "dropout": 0.0}
    assert certificate_of(far_leaves(), as_config("ldru", options, task), task, folder).proven
    claim = check(folder / "certificate.json").claim
    assert claim.endswith("and the state of every node above the symbols is replaced by the nearest of 2 prototypes.")
    network, differs = Formulas(folder), []
    for word in (word for length in range(1, 9) for word in product(range(2), repeat=length)):
        right = sum(word) % 2
        assert network.answer(word, also_symbols=False) == right
        if network.answer(word, also_symbols=True) != right:
            differs.append(word)
    # Were the states of the symbols replaced as well, the claim would be false of the shortest words.
    assert {(1,), (0, 1), (1, 0, 0)} <= set(differs)


@pytest.fixture(params=["parity", "even-pairs"])
def certified(request: pytest.FixtureRequest) -> RunFolder:
    return RunFolder.open(CERTIFIED / request.param)


@torch.no_grad()
def test_float32_meets_the_premise_of_theorem_2_with_room(certified: RunFolder):
    """Every window of the table at level 1, and at three levels above all windows of the states that came below."""
    model, record = load_model(certified).eval(), json.loads((certified.path / "certificate.json").read_text())
    assert isinstance(model, Tree)
    exact, slack = Float64Network(model), record["unquantised"]["slack"]
    assert next(model.parameters()).dtype == torch.float32
    leaves, prototypes = model.leaves(), torch.tensor(record["prototypes"]).double()
    # The symbols' own states are not exact: what asked for that was true of no such network.
    assert ((leaves.double() - exact.symbols).norm(dim=1)[1:] > 0).all()
    assert torch.equal(leaves.double()[0], exact.symbols[0])  # the pad is

    windows, radii = torch.tensor(record["leaves"]["windows"]), torch.tensor(record["unquantised"]["radii"]).double()
    images, rows = torch.tensor(record["leaves"]["images"]), leaves
    right = exact.over_symbols(windows.numpy())
    for _ in range(4):
        found = model.merge(rows, windows)
        assert (found.double() - right).norm(dim=1).max() < slack / 1000
        assert ((found.double() - prototypes[images - 1]).norm(dim=1) <= radii[images - 1]).all()
        # One state of each prototype goes on: the first that came to it.
        first = [images.tolist().index(k) for k in range(1, 1 + len(prototypes))]
        rows = torch.cat([model.absent, found[first]])
        windows, images = torch.tensor(record["nodes"]["windows"]), torch.tensor(record["nodes"]["images"])
        right = exact.over(rows[1:].double(), windows.numpy())


@torch.no_grad()
def test_moves_of_the_slack_at_every_level_change_no_answer(certified: RunFolder):
    """Theorem 2 as it says it: all words up to 7 symbols, each node moved by the slack from f of what lies below."""
    model, record = load_model(certified).eval(), json.loads((certified.path / "certificate.json").read_text())
    assert isinstance(model, Tree)
    exact, slack = Float64Network(model), record["unquantised"]["slack"]
    task, random = languages.get(certified.path.name), torch.Generator().manual_seed(0)
    for length in range(1, 8):
        words = np.array(list(product(range(2), repeat=length)))
        states = exact.symbols[1 + torch.from_numpy(words)]  # (words, nodes, d_model)
        for _ in range(model.depth(length)):
            above = []
            for end in range(states.shape[1], 0, -2):  # pairs from the right
                pair = states[:, max(0, end - 2) : end].flip(1)
                n, k, d = pair.shape
                rows = torch.cat([exact.absent, pair.reshape(n * k, d)])  # (1 + words · nodes, d_model)
                own = 1 + torch.arange(n * k).reshape(n, k)  # (words, nodes of the window)
                state = exact.model.merge(rows, torch.nn.functional.pad(own, (0, 2 - k)))
                move = torch.randn(state.shape, generator=random, dtype=torch.float64)
                above.append(state + slack * move / move.norm(dim=1, keepdim=True))
            states = torch.stack(above[::-1], dim=1)
        assert (exact.readout(states[:, 0]).argmax(1).numpy() == task.labels(words)).all()
