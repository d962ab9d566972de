"""Anchoring: once a network is certified, training on the finite table that it has become.

The certificate replaces each node's state by a prototype and finds the table of all windows of prototypes that occur.
Here the block is trained on that table itself, prototypes disturbed by noise as inputs, the prototype that the table
says as target. No words are needed: what the block does near the prototypes is what it does at every depth, so states
no longer drift and long words are answered right without replacing anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.regulargpt import RegularGPT

if TYPE_CHECKING:
    from regulargpt.certificate.certify import Snapped
    from regulargpt.config import TrainingConfig


@dataclass(frozen=True)
class Anchors:
    """A certified network's table: prototypes, what windows of symbols and of prototypes give, the answers.

    Windows count from 1 by offset, 0 is the pad; images count from 0.
    """

    prototypes: Float[Tensor, "K d_model"]
    answers: Int[Tensor, "K"]
    leaf_windows: Int[Tensor, "m C"]
    leaf_images: Int[Tensor, "m"]
    windows: Int[Tensor, "n C"]
    images: Int[Tensor, "n"]

    @classmethod
    def of(cls, snapped: Snapped) -> Anchors:
        """The table of a certified network, in float32."""
        table, C = snapped.table, snapped.table.chunk_size
        numbers = (
            snapped.answers,
            table.leaves.windows(C),
            table.leaves.images - 1,
            table.nodes.windows(C),
            table.nodes.images - 1,
        )
        return cls(table.prototypes.float(), *map(torch.from_numpy, numbers))

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint keeps."""
        return dict(vars(self))

    @classmethod
    def load(cls, state: dict[str, Any]) -> Anchors:
        """From a checkpoint."""
        return cls(**state)

    def loss(self, model: RegularGPT, config: TrainingConfig, device: torch.device) -> tuple[Tensor, float]:
        """Squared distance to the table's prototypes, and the answers' cross-entropy; the share within reach.

        `anchor_windows` windows of prototypes go through the block, each with its own noise of up to `anchor_noise`
        times the RMS of the prototypes, and all windows of symbols. Within reach is what lies nearer than halfway to
        the next prototype.
        """
        here = self.to(device)
        generator = model.state_noise.next_generator(device)
        chosen = torch.randint(len(here.windows), (config.anchor_windows,), generator=generator, device=device)
        windows = here.windows[chosen]
        rows = torch.cat([model.pad, here.prototypes])[windows]  # (n, C, d_model)
        rows = rows + here.noise(windows, config.anchor_noise, generator)
        own_rows = torch.arange(windows.numel(), device=device).view_as(windows)
        states = torch.cat(
            [
                model.settle(model.layers(0)[0](rows.flatten(0, 1), own_rows)),
                model.settle(model.layers(0)[0](model.leaves(), here.leaf_windows)),
            ]
        )
        targets = torch.cat([here.images[chosen], here.leaf_images])
        distances = (states - here.prototypes[targets]).square().sum(1)
        n = len(chosen)
        answers = F.cross_entropy(model.readout(states), here.answers[targets])
        reach = 0.5 * here.separation
        return distances[:n].mean() + distances[n:].mean() + answers, (distances.sqrt() < reach).double().mean().item()

    def noise(
        self, windows: Int[Tensor, "n C"], level: float, generator: torch.Generator
    ) -> Float[Tensor, "n C d_model"]:
        """Gaussian noise, of another strength for each window; none on the pad, which never moves."""
        device, (n, C), d_model = windows.device, windows.shape, self.prototypes.shape[1]
        strength = level * torch.rand(n, 1, 1, generator=generator, device=device)
        noise = torch.empty(n, C, d_model, device=device).normal_(generator=generator)
        return noise * strength * self.prototypes.square().mean().sqrt() * (windows > 0).unsqueeze(-1)

    @property
    def separation(self) -> float:
        """The smallest distance of two prototypes."""
        return torch.pdist(self.prototypes).min().item() if len(self.prototypes) > 1 else float("inf")

    def to(self, device: torch.device) -> Anchors:
        """On that device."""
        return Anchors(**{name: tensor.to(device) for name, tensor in self.state().items()})
