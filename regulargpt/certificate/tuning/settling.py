"""Settling a table: training a certified network so that errors shrink on their way up the tree.

At the prototypes each of its windows is right, but where hundreds lie close together, a network that runs smoothly from
one to the next passes errors on, larger at every level. So it is trained on errors of its own: what it lately gave for
a prototype takes that prototype's place in windows, and has to come back to the right one. Errors that are made longer,
up to a `reach` in units of half the smallest distance of two prototypes, teach it to come back from farther away; the
reach grows as long as it does. Prototypes move apart on the way, for the logits are softer than in mending; as the
learning rate falls they become sharper, and states close up on their prototypes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.certificate.tuning.fine_tuning import TrainingTable, moving
from regulargpt.certificate.tuning.mending import FreePrototypes, Towards
from regulargpt.models.tree.base import Tree

# Squared distances as logits weigh so much at the full learning rate, and this factor more once it has come to 0.
SOFT, SHARPENING = 8.0, 8.0
# So many of the last errors are kept for each prototype; this share of them is made as long as the reach.
KEPT, LONGER = 8, 0.5
# The reach at first, at least and at most; it grows by the one factor a step while nearly all come back, else it
# shrinks by the other.
FIRST, LEAST, MOST_REACH = 0.05, 0.02, 0.5
GROWTH, RETREAT = 1.003, 0.995
# Nearly all: more than this share, as a running mean that keeps so much of itself from step to step.
NEARLY_ALL, MEMORY = 0.999, 0.95


class OwnErrors:
    """The last errors of a network at each prototype, and from how far it comes back to the right prototype.

    >>> own = OwnErrors(torch.zeros(2, 3))
    >>> own.remember(torch.tensor([1, 1]), torch.tensor([[1.0, 0, 0], [0, 3.0, 0]]))
    >>> own.kept[1, 0].tolist(), own.kept[0].any().item()
    ([0.0, 3.0, 0.0], False)
    """

    def __init__(self, prototypes: Float[Tensor, "K d_model"]):
        K, d_model = prototypes.shape
        self.kept = prototypes.new_zeros(K, KEPT, d_model)
        self.count = torch.zeros(K, dtype=torch.long, device=prototypes.device)
        self.reach, self.right = FIRST, 1.0

    def disturb(
        self, windows: Int[Tensor, "n C"], generator: torch.Generator, half: float
    ) -> Float[Tensor, "n C d_model"]:
        """Errors for the children of windows, none for the pad and symbols.

        Half of them are as they were, the others as long as the reach, in units of `half`; none is longer.
        """
        which = torch.randint(KEPT, windows.shape, generator=generator, device=windows.device)
        errors = self.kept[(windows - 1).clamp(0, len(self.kept) - 1), which]  # (n, C, d_model)
        lengths = errors.norm(dim=-1, keepdim=True).clamp(min=1e-9)  # (n, C, 1)
        longer = torch.rand(lengths.shape, generator=generator, device=windows.device) < LONGER
        wanted = torch.where(longer, self.reach * half, lengths.clamp(max=self.reach * half))
        return errors * (wanted / lengths) * moving(windows, len(self.kept))

    def remember(self, images: Int[Tensor, "n"], errors: Float[Tensor, "n d_model"]) -> None:
        """One new error for each prototype that was to be reached, in place of its oldest."""
        row = torch.full_like(self.count, -1)
        # The last row of each: a maximum is the same in whichever order a device takes it.
        row.scatter_reduce_(0, images, torch.arange(len(images), device=images.device), "amax")
        reached = (row >= 0).nonzero()[:, 0]
        self.kept[reached, self.count[reached] % KEPT] = errors[row[reached]]
        self.count[reached] += 1

    def adapt(self, share: float) -> None:
        """The reach, to the share of windows that came back."""
        self.right = MEMORY * self.right + (1 - MEMORY) * share
        grown = min(MOST_REACH, GROWTH * self.reach)
        self.reach = grown if self.right > NEARLY_ALL else max(LEAST, RETREAT * self.reach)

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"kept": self.kept, "count": self.count, "reach": self.reach, "right": self.right}

    def load(self, state: Mapping[str, Any]) -> None:
        """From a checkpoint."""
        self.kept, self.count = state["kept"].to(self.kept.device), state["count"].to(self.count.device)
        self.reach, self.right = state["reach"], state["right"]


def settling_loss(
    table: TrainingTable, free: FreePrototypes, model: Tree, n_windows: int, own: OwnErrors, left: float
) -> tuple[Float[Tensor, ""], float]:
    """What is wrong with the states, as in mending; the share of windows that come back to their prototype.

    `left` is the share of the learning rate that is left. What comes back lies nearer to its prototype than half the
    smallest distance of two.
    """
    generator = model.state_noise.next_generator(table.prototypes.device)
    places = free(model.state_norm)
    half = 0.5 * table.over(places.detach()).separation
    table = table.over(places)
    towards = Towards(table, SOFT * SHARPENING ** (1 - left))
    disturb = partial(own.disturb, half=half)
    # Hard is what goes far astray, wherever other prototypes lie.
    first, children = table.draw_hard(model, n_windows, disturb, generator, table.squared_errors)
    loss, states, _ = towards.loss(model, first, children)
    with torch.no_grad():
        errors = states - places[table.images[first]]
        back = errors.norm(dim=1) < half
        own.remember(table.images[first], errors)
        own.adapt(back[n_windows // 2 :].double().mean().item())  # the second half was drawn by chance
    return loss, back.double().mean().item()
