"""Settling a table: a network trained on its own errors comes back to the right prototypes."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import languages
from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.tuning import settling
from regulargpt.certificate.tuning.fine_tuning import TrainingTable
from regulargpt.certificate.tuning.mending import FreePrototypes, mending_loss
from regulargpt.certificate.tuning.settling import FIRST, KEPT, OwnErrors, settling_loss
from regulargpt.certificate.tuning.state import SETTLING_FALL
from regulargpt.models.layers import seed_counted
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.base import Tree
from tests.regulargpt.tuning import table_for, table_of


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_of_each_prototype_the_last_errors_are_kept_and_the_oldest_go_first():
    own = OwnErrors(torch.zeros(3, 2))
    for number in range(KEPT + 2):
        # Of two for one prototype the later; nothing for the last prototype.
        own.remember(torch.tensor([0, 1, 0]), torch.tensor([[9.0, 9.0], [0.0, 1.0 + number], [1.0 + number, 0.0]]))
    assert own.count.tolist() == [KEPT + 2, KEPT + 2, 0]
    assert sorted(own.kept[0, :, 0].tolist()) == list(range(3, KEPT + 3))
    assert not own.kept[0, :, 1].any()
    assert sorted(own.kept[1, :, 1].tolist()) == list(range(3, KEPT + 3))
    assert not own.kept[2].any()


def test_children_have_errors_of_their_own_prototype_none_longer_than_the_reach():
    own, directions = OwnErrors(torch.zeros(2, 2)), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    for length in (0.1, 5.0):
        for _ in range(KEPT // 2):
            own.remember(torch.tensor([0, 1]), length * directions)
    own.reach = 0.25
    windows = torch.tensor([[1, 2], [2, 0]]).repeat(2000, 1)
    found = own.disturb(windows, generator(), half=4.0)
    assert found.shape == (4000, 2, 2)
    assert not found[windows == 0].any()
    for child, axis in ((1, 0), (2, 1)):
        errors = found[windows == child]
        assert not errors[:, 1 - axis].any()
        lengths, counts = errors[:, axis].mul(1000).round().unique(return_counts=True)
        # A quarter stays as short as it was; what was longer, and half of the rest, is as long as the reach.
        assert lengths.tolist() == [100, 1000]
        assert counts[0].item() / len(errors) == pytest.approx(0.25, abs=0.03)


def test_without_any_errors_yet_nothing_is_disturbed():
    assert not OwnErrors(torch.zeros(3, 2)).disturb(torch.tensor([[1, 2], [3, 0]]), generator(), half=1.0).any()


def test_the_reach_grows_while_nearly_all_come_back_and_shrinks_otherwise():
    own, first = OwnErrors(torch.zeros(1, 1)), settling.GROWTH * FIRST
    for share, times, reach in (
        (1.0, 1, first),
        (0.5, 1, settling.RETREAT * first),
        (1.0, 999, settling.MOST_REACH),
        (0.0, 2000, settling.LEAST),
    ):
        for _ in range(times):
            own.adapt(share)
        assert own.reach == pytest.approx(reach)


def test_what_is_known_of_the_errors_comes_back_from_a_checkpoint():
    own = OwnErrors(torch.zeros(2, 3))
    own.remember(torch.tensor([0, 1]), torch.randn(2, 3, generator=generator()))
    own.adapt(0.2)
    other = OwnErrors(torch.zeros(2, 3))
    other.load(own.state())
    windows = torch.tensor([[1, 2]] * 5)
    assert torch.equal(own.disturb(windows, generator(), 1.0), other.disturb(windows, generator(), 1.0))
    assert (other.reach, other.right, other.count.tolist()) == (own.reach, own.right, own.count.tolist())


@pytest.mark.parametrize("left", [1.0, 0.5, 0.0])
def test_the_loss_is_what_its_parts_say(left: float):
    """Written out, for a table of one window, which is every one that is drawn; nothing disturbs it yet."""
    model, table = table_of("dyck-2")
    free = FreePrototypes(model.state_norm, table.prototypes)
    with torch.no_grad():
        free.before.add_(0.3 * torch.randn(free.before.shape, generator=generator()))
    one = replace(table, windows=table.windows[:1], images=table.images[:1])
    loss, _ = settling_loss(one, free, model.eval(), 8, OwnErrors(table.prototypes), left)
    places = free(model.state_norm)
    states = model.merge(torch.cat([model.absent, places]), one.windows)
    leaves = model.merge(model.leaves(), one.leaf_windows)
    sharpness = settling.SOFT * settling.SHARPENING ** (1 - left)
    unit = places.square().sum(1).mean()
    parts = []
    for found, images in ((states, one.images), (leaves, one.leaf_images)):
        distances = torch.cdist(found, places).square() / unit
        right = distances.gather(1, images[:, None])[:, 0]
        parts.append(((-sharpness * distances).logsumexp(1) + sharpness * right + 4.0 * right).mean())
    read = torch.cat([states.expand(8, -1), leaves, places])
    answers = torch.cat([one.answers[one.images].expand(8), one.answers[one.leaf_images], one.answers])
    parts.append(torch.nn.functional.cross_entropy(model.readout(read), answers, ignore_index=-1))
    assert loss.item() == pytest.approx(sum(parts).item(), rel=1e-4)  # type: ignore[union-attr]


@pytest.mark.parametrize("times", [0.9, 1.1])
def test_what_comes_back_lies_nearer_than_half_the_smallest_distance(times: float):
    """Of one window its error is kept, and the reach follows from whether that is longer."""
    model, table = table_of("dyck-2")
    free, own = FreePrototypes(model.state_norm, table.prototypes), OwnErrors(table.prototypes)
    places = free(model.state_norm).detach()
    one = replace(table, windows=table.windows[:1], images=table.images[:1])
    error = (model.merge(torch.cat([model.absent, places]), one.windows) - places[one.images])[0]
    # As far from each other as the error is long, but for `times`.
    separation = 2 * error.norm().item() / times
    assert separation > 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TrainingTable, "separation", property(lambda table: separation))
        _, share = settling_loss(one, free, model.eval(), 8, own, 1.0)
    assert share == (times < 1)
    assert own.reach == pytest.approx((settling.GROWTH if times < 1 else settling.RETREAT) * FIRST)
    image = int(one.images[0])
    assert own.count.tolist() == [int(i == image) for i in range(len(places))]
    assert torch.allclose(own.kept[image, 0], error, atol=1e-5)


def test_a_network_learns_to_come_back():
    """One that has mended its table passes errors on, larger at every level; once it has settled it does not."""
    torch.manual_seed(0)
    model: Tree = RegularGPT(2, 2, gates=True, d_model=32, n_heads=2, d_ff=64).eval()
    table = table_for(model, Certifier.for_task(languages.get("dyck-2"), 2))
    free, own = FreePrototypes(model.state_norm, table.prototypes), OwnErrors(table.prototypes)
    optimiser = torch.optim.Adam([*model.parameters(), *free.parameters()], betas=(0.9, 0.98))

    def train(steps: int, loss_of: Callable[[float], Tensor]) -> float:
        for step in range(steps):
            left = min(1.0, (steps - step) / (SETTLING_FALL * steps))
            optimiser.param_groups[0]["lr"] = 3e-3 * left
            seed_counted(model, steps, step)
            optimiser.zero_grad()
            loss_of(left).backward()
            optimiser.step()
        return table.over(free(model.state_norm).detach()).drift(model, seed=0)

    assert train(200, lambda left: mending_loss(table, free, model, 64, 0.0)[0]) > 2.0
    assert train(900, lambda left: settling_loss(table, free, model, 64, own, left)[0]) < 0.5
    assert own.reach > 5 * FIRST
