"""Mending a table: prototypes that learn together with the network, against a plain reference and on a broken one."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import languages
from languages.automata.moore import UNDEFINED
from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.tuning.mending import COMPACTNESS, SHARPNESS, FreePrototypes, mending_loss
from regulargpt.models.layers import seed_counted
from regulargpt.models.ldru.model import Ldru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.base import Tree
from regulargpt.runs.certify import known_prototypes
from regulargpt.storage import checkpoint
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.tuning import table_for

HEADS: Any = {"d_model": 32, "n_heads": 2, "d_ff": 64}
MODELS: dict[str, Callable[[int, int], Tree]] = {
    "regulargpt": lambda n, m: RegularGPT(n, m, **HEADS),
    "without state norm": lambda n, m: RegularGPT(n, m, state_norm=False, **HEADS),
    "C = 3": lambda n, m: RegularGPT(n, m, chunk_size=3, **HEADS),
    "gated": lambda n, m: RegularGPT(n, m, gates=True, **HEADS),
    "ldru": lambda n, m: Ldru(n, m, dropout=0.0, d_model=32),
}


def small(name: str, n_symbols: int = 2, n_outputs: int = 2) -> Tree:
    """A network of that kind, its weights a function of nothing."""
    model = MODELS[name](n_symbols, n_outputs)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.empty_like(weight).normal_(generator=generator)
    return model.eval()


@pytest.mark.parametrize("name", MODELS)
def test_free_prototypes_begin_where_they_are_told_and_stay_what_the_state_norm_can_give(name: str):
    norm = small(name).state_norm
    states = norm(torch.randn(5, 32, generator=torch.Generator().manual_seed(1))).detach()
    free = FreePrototypes(norm, states)
    torch.testing.assert_close(free(norm), states, atol=1e-4, rtol=1e-4)
    with torch.no_grad():
        free.before.mul_(7)
    if isinstance(norm, nn.LayerNorm):
        torch.testing.assert_close(free(norm), states, atol=1e-3, rtol=1e-3)


def test_where_the_gain_is_0_the_prototypes_are_finite():
    norm = nn.LayerNorm(4)
    with torch.no_grad():
        norm.weight[0] = 0.0
    states = torch.tensor([[0.0, 1.0, -1.0, 0.5]])
    assert torch.isfinite(FreePrototypes(norm, states)(norm)).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_that_of_a_plain_loop_with_its_gradients(name: str):
    """Without noise and with as many windows as are drawn: each state against each prototype, one by one."""
    model = small(name)
    table, n = table_for(model, Certifier.for_task(languages.get("tomita-3"), model.chunk_size, model.aligned)), 24
    free = FreePrototypes(model.state_norm, table.prototypes)
    seed_counted(model, 0, 1)
    loss, near = mending_loss(table, free, model, n, noise=0.0)
    weights = [*model.parameters(), free.before]
    found = torch.autograd.grad(loss, weights, allow_unused=True)

    seed_counted(model, 0, 1)
    generator = model.state_noise.next_generator(table.prototypes.device)
    prototypes = free(model.state_norm)
    drawn = table.draw(4 * n, generator)
    rows = torch.cat([model.absent, prototypes])
    errors = [error(model.merge(rows, table.windows[w : w + 1])[0], prototypes, table.images[w]) for w in drawn]
    values = torch.stack(errors)
    chosen = [*values.topk(n // 2).indices.tolist(), *range(n - n // 2)]
    leaves = model.merge(model.leaves(), table.leaf_windows)
    of_leaves = [error(z, prototypes, image) for z, image in zip(leaves, table.leaf_images, strict=True)]
    states = torch.cat([model.merge(rows, table.windows[drawn[chosen]]), leaves])
    images = torch.cat([table.images[drawn[chosen]], table.leaf_images])
    read, right = torch.cat([states, prototypes]), torch.cat([table.answers[images], table.answers])
    answered = [i for i, answer in enumerate(right.tolist()) if answer != UNDEFINED]
    answers = F.cross_entropy(model.readout(read[answered]), right[answered])
    plain = values[chosen].mean() + torch.stack(of_leaves).mean() + answers
    torch.testing.assert_close(loss, plain)
    for a, b in zip(found, torch.autograd.grad(plain, weights, allow_unused=True), strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)
    nearest = torch.cdist(states, prototypes).argmin(1)
    assert near == pytest.approx((nearest == images).double().mean().item())


def error(state: Tensor, prototypes: Tensor, image: Tensor) -> Tensor:
    """Minus the logarithm of the share that the right prototype has of exp(-SHARPNESS far), and COMPACTNESS far.

    How far it is, is |z - p|^2 / mean |p|^2.
    """
    far = (state - prototypes).square().sum(1) / prototypes.square().sum(1).mean()
    return (-SHARPNESS * far).softmax(0)[image].log().neg() + COMPACTNESS * far[image]


@pytest.mark.parametrize("name", MODELS)
def test_a_network_that_misses_most_of_a_table_learns_it_with_prototypes_of_its_own(name: str):
    task = languages.get("even-pairs")
    model = small(name, task.n_symbols, len(task.output_names))
    certifier = Certifier.for_task(task, model.chunk_size, model.aligned)
    before = certifier.attempt(model, allowed=1.0)
    assert before.missed > 0.2
    table = table_for(model, certifier)
    free = FreePrototypes(model.state_norm, table.prototypes)
    optimiser = torch.optim.Adam([*model.parameters(), *free.parameters()], lr=3e-3, betas=(0.9, 0.98))
    after = before
    for step in range(1000):
        seed_counted(model, 0, step)
        optimiser.zero_grad()
        loss, _ = mending_loss(table, free, model, 64, noise=0.5)
        loss.backward()
        optimiser.step()
        if step % 50 == 49:
            after = certifier.attempt(model, learned=free(model.state_norm).detach())
            if after.certain:
                break
    assert after.missed == 0
    assert after.certain
    assert after.table is not None
    np.testing.assert_allclose(after.table().prototypes, free(model.state_norm).detach(), rtol=1e-5, atol=1e-5)


def test_a_table_over_other_prototypes_draws_the_same_windows():
    table = table_for(small("regulargpt"), Certifier.for_task(languages.get("parity"), 2))
    moved = copy.copy(table).over(table.prototypes + 1)
    first, second = (t.draw(32, torch.Generator().manual_seed(3)) for t in (table, moved))
    assert torch.equal(first, second)
    assert torch.equal(moved.prototypes, table.prototypes + 1)
    assert torch.equal(moved.windows, table.windows)


@pytest.mark.parametrize("damaged", [True, False])
@pytest.mark.parametrize("mended", [True, False])
def test_a_run_that_ended_on_a_table_is_verified_by_the_prototypes_of_its_last_step(
    mended: bool, damaged: bool, tmp_path: Path
):
    """Where there is no certificate yet, and where a damaged one lies."""
    model = small("regulargpt")
    table = table_for(model, Certifier.for_task(languages.get("tomita-3"), model.chunk_size))
    free = FreePrototypes(model.state_norm, table.prototypes)
    with torch.no_grad():
        free.before += torch.randn(free.before.shape, generator=torch.Generator().manual_seed(1))
    phase = {"tuning": {"table": table.state(), "free": free.state_dict() if mended else None}}
    checkpoint.save(tmp_path, 7, model.state_dict(), {"state": {"phases": {"table_fine_tuning": phase}}})
    if damaged:
        (tmp_path / "certificate.json").write_text('{"format": "regulargpt cer')
    found = known_prototypes(RunFolder(tmp_path), model)
    assert found is not None
    torch.testing.assert_close(found, free(model.state_norm).detach() if mended else table.prototypes)
    assert torch.equal(found, table.prototypes) != mended
