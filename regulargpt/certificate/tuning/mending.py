"""Mending a table: the network and its prototypes learn together, until each window comes nearest to its own.

While windows are taken for other elements, the places of the prototypes are the network's guess: training towards them
would hold it there. Here they are parameters too. The loss is the cross-entropy of the nearest prototype, its logits
the negative squared distances, as in Snell et al. 2017 (prototypical networks), equation 2; and the squared distance to
the right prototype, as in van den Oord et al. 2017 (VQ-VAE), equation 3: the nearest alone may still be far.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from languages.automata.moore import UNDEFINED
from regulargpt.certificate.tuning.fine_tuning import TrainingTable, apply_map
from regulargpt.certificate.tuning.short_first import ShortFirst
from regulargpt.models.tree.base import Tree

# The weights of squared distances, in units of the prototypes' mean square, as logits and as a loss. Two unrelated
# states are then 2 SHARPNESS apart.
SHARPNESS, COMPACTNESS = 32.0, 4.0
# Less noise than when states are to come back: first each window has to be right.
NOISE = 0.2


class FreePrototypes(nn.Module):
    """Prototypes (K, d_model) as parameters: whatever they are, they become what the state norm can give.

    >>> norm = nn.LayerNorm(4)
    >>> states = norm(torch.tensor([[1.0, 2.0, 3.0, 5.0]])).detach()
    >>> torch.allclose(FreePrototypes(norm, states)(norm), states, atol=1e-4)
    True
    """

    def __init__(self, norm: nn.Module, prototypes: Float[Tensor, "K d_model"]):
        super().__init__()
        self.before = nn.Parameter(before(norm, prototypes).clone())

    @classmethod
    def load(
        cls, norm: nn.Module, prototypes: Float[Tensor, "K d_model"], state: Mapping[str, Tensor]
    ) -> FreePrototypes:
        """From a checkpoint, where there were these prototypes at first."""
        free = cls(norm, prototypes)
        free.load_state_dict(state)
        return free

    def forward(self, norm: nn.Module) -> Float[Tensor, "K d_model"]:
        """Where they are."""
        return norm(self.before)


def saved_prototypes(state: Mapping[str, Any], model: Tree) -> Float[Tensor, "K d_model"]:
    """Those of a fine-tuning as a checkpoint has it: of its table, or what became of these where they learn."""
    prototypes = TrainingTable.load(state["table"]).prototypes
    if state["free"] is None:
        return prototypes
    return FreePrototypes.load(model.state_norm, prototypes, state["free"])(model.state_norm).detach()


def before(norm: nn.Module, states: Float[Tensor, "K d_model"]) -> Float[Tensor, "K d_model"]:
    """States of which the norm makes these: its gain and bias undone."""
    if not isinstance(norm, nn.LayerNorm):
        return states
    gain, bias = norm.weight.detach(), norm.bias.detach()
    # Where the gain is 0 the norm gives the bias, whatever it reads.
    return (states - bias) / torch.where(gain == 0, 1, gain)


def mending_loss(
    table: TrainingTable,
    free: FreePrototypes,
    model: Tree,
    n_windows: int,
    noise: float,
    stages: ShortFirst | None = None,
) -> tuple[Float[Tensor, ""], float]:
    """What is wrong with the states, and the answers' cross-entropy; the share of states nearest to their own.

    `n_windows` windows of prototypes go through the block, each disturbed by up to the share `NOISE` of `noise`, in
    units of the prototypes' RMS, and all of symbols. Those of prototypes are of all `stages` that have come in,
    which remember the hardest.
    """
    generator = model.state_noise.next_generator(table.prototypes.device)
    table = table.over(free(model.state_norm))
    towards = Towards(table, SHARPNESS)
    draw = None if stages is None else partial(stages.candidates, table)
    disturb = partial(table.noise, level=NOISE * noise)
    first, children = table.draw_hard(model, n_windows, disturb, generator, towards.errors, draw)
    loss, states, leaves = towards.loss(model, first, children)
    all_states, images = torch.cat([states, leaves]), torch.cat([table.images[first], table.leaf_images])
    right = towards.logits(all_states).argmax(1) == images
    if stages is not None:  # the hardest stand before those that were drawn by chance
        stages.remember(first[: n_windows // 2], right[n_windows // 2 : n_windows])
    return loss, right.double().mean().item()


class Towards:
    """How far states are from the prototypes where they should be.

    The cross-entropy of the nearest prototype, with squared distances of weight `sharpness` as logits, and the squared
    distance itself.
    """

    def __init__(self, table: TrainingTable, sharpness: float):
        self.table, self.sharpness = table, sharpness
        self.unit = table.prototypes.square().sum(1).mean()  # not detached: a common factor changes nothing

    def logits(self, states: Float[Tensor, "n d_model"]) -> Float[Tensor, "n K"]:
        """Those of the prototypes."""
        prototypes = self.table.prototypes
        # |z|^2 is the same for all prototypes.
        distances = prototypes.square().sum(1) - 2 * states @ prototypes.T  # (n, K)
        return -self.sharpness / self.unit * distances

    def errors(self, states: Float[Tensor, "n d_model"], images: Int[Tensor, "n"]) -> Float[Tensor, "n"]:
        """What is wrong with each state."""
        far = self.table.squared_errors(states, images) / self.unit
        return F.cross_entropy(self.logits(states), images, reduction="none") + COMPACTNESS * far

    def loss(
        self, model: Tree, windows: Int[Tensor, "n"], children: Float[Tensor, "n C d_model"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, "n d_model"], Float[Tensor, "m d_model"]]:
        """The errors over these windows of children and over all of symbols, and those of the answers; the states."""
        table = self.table
        states, leaves = (
            apply_map(model, children, table.windows[windows]),
            model.merge(model.leaves(), table.leaf_windows),
        )
        # Means apart, so that leaves count as much as nodes, however many there are of each.
        loss = self.errors(states, table.images[windows]).mean() + self.errors(leaves, table.leaf_images).mean()
        # Answers are decided at the prototypes.
        read = torch.cat([states, leaves, table.prototypes])
        answers = torch.cat([table.answers[table.images[windows]], table.answers[table.leaf_images], table.answers])
        return loss + F.cross_entropy(model.readout(read), answers, ignore_index=UNDEFINED), states, leaves
