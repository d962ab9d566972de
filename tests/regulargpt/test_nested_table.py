"""Training on the table of a tree that follows brackets: symbols stand beside prototypes, and are exact."""

import pytest
import torch

from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.search.codebook import codebooks
from regulargpt.certificate.tuning.mending import FreePrototypes, mending_loss
from regulargpt.certificate.tuning.settling import OwnErrors, settling_loss
from regulargpt.certificate.tuning.short_first import symbols_under
from regulargpt.finite.float64_network import Float64Network
from regulargpt.models.ldru.model import Ldru
from regulargpt.models.regulargpt import RegularGPT
from tests.languages.test_context_free import nested

MODELS = {
    "C = 2": lambda n: RegularGPT(n, 2, chunk_size=2, d_model=16, n_heads=2, d_ff=32),
    "C = 3, gates": lambda n: RegularGPT(n, 2, chunk_size=3, d_model=16, n_heads=2, d_ff=32, gates=True),
    "ldru": lambda n: Ldru(n, 2, d_model=16),
}


def table_for(kind):
    task = nested("brackets-2")
    model = MODELS[kind](task.n_symbols)
    model.follow(task.visibly.direction.tolist())
    certifier = Certifier.for_task(task, model.chunk_size, model.aligned)
    book = next(codebooks(Float64Network(model), certifier.target))
    return model, certifier, certifier.true_table(book)


@pytest.mark.parametrize("kind", MODELS)
def test_a_step_reaches_symbols_and_disturbs_none(kind):
    model, _, table = table_for(kind)
    K, windows = len(table.prototypes), table.windows
    assert int(windows.max()) == K + model.embedding.num_embeddings  # the last symbol stands beside prototypes
    every = torch.arange(len(windows))
    noise = table.noise(windows, torch.Generator().manual_seed(0), 1.0)
    moves = (windows > 0) & (windows <= K)
    assert torch.equal(noise.abs().sum(-1) > 0, moves)
    children, leaves = table.children(model, every), model.leaves()
    assert torch.equal(children[windows > K], leaves[windows[windows > K] - K])
    free, own = FreePrototypes(model.state_norm, table.prototypes), OwnErrors(table.prototypes)
    losses = {
        "fine": lambda: table.loss(model, 32, 0.5, 0.1, 1.0),
        "mending": lambda: mending_loss(table, free, model, 32, 0.5),
        "settling": lambda: settling_loss(table, free, model, 32, own, 1.0),
    }
    for name, loss in losses.items():
        model.zero_grad()
        loss()[0].backward()
        assert model.embedding.weight.grad.abs().sum() > 0, name
    assert 0 < table.drift(model, 0) < float("inf")
    # A pair holds its brackets and at least what stands in it.
    assert symbols_under(table)[0] == 0
    assert (symbols_under(table)[1 + K :] == 1).all()


@pytest.mark.parametrize("kind", MODELS)
def test_a_quantised_network_answers_as_its_own_nearest_prototypes(kind):
    """The table of a network is the network: the states over windows, each brought to the nearest prototype."""
    model, certifier, _ = table_for(kind)
    network = Float64Network(model)
    quantised = certifier.certify(model)
    entries = quantised.table.nodes
    rows = torch.cat([network.absent, quantised.book.prototypes, network.symbols[1:]])
    states = network.model.merge(rows, torch.from_numpy(entries.windows(model.chunk_size)))
    nearest = torch.cdist(states, quantised.book.prototypes).argmin(1)
    assert (nearest.numpy() + 1 == entries.images).mean() > 0.99  # ties aside
