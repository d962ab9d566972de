"""Anchoring: once a network is certified, training on the finite table that it has become.

The certificate replaces each node's state by a prototype and finds the table of all windows of prototypes that occur.
Here the block is trained on that table itself, prototypes disturbed by noise as inputs, the prototype that the table
says as target. No words are needed: what the block does near the prototypes is what it does at every depth, so states
no longer drift and long words are answered right without replacing anything.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.regulargpt import RegularGPT

if TYPE_CHECKING:
    from regulargpt.certificate.certify import Snapped
    from regulargpt.config import TrainingConfig

# The noise falls with the learning rate, but no further: what lies near a prototype shall still come back to it.
LEAST = 0.03


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
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def load(cls, state: dict[str, Any]) -> Anchors:
        """From a checkpoint."""
        return cls(**state)

    def loss(self, model: RegularGPT, config: TrainingConfig, left: float) -> tuple[Float[Tensor, ""], float]:
        """Squared distances to the table's prototypes, the answers' cross-entropy, the Jacobian's norm; the share near.

        `anchor_windows` windows of prototypes go through the block, each with noise of its own, and all of symbols. The
        noise falls with `left`, from 1 to 0, down to `LEAST` of itself. Near is nearer than half the smallest
        distance of two prototypes. The model and the anchors are on one device.
        """
        device = self.prototypes.device
        generator = model.state_noise.next_generator(device)
        chosen = torch.randint(len(self.windows), (config.anchor_windows,), generator=generator, device=device)
        windows, images = self.windows[chosen], self.images[chosen]
        clean = torch.cat([model.pad, self.prototypes])[windows]  # (n, C, d_model)
        noise = self.noise(windows, config.anchor_noise * max(LEAST, left), generator)
        states = apply(model, clean + noise)
        leaves = model.settle(model.layers(0)[0](model.leaves(), self.leaf_windows))
        far = (states - self.prototypes[images]).square().sum(1)
        leaves_far = (leaves - self.prototypes[self.leaf_images]).square().sum(1)
        logits = model.readout(torch.cat([states, leaves]))
        loss = far.mean() + leaves_far.mean()
        loss = loss + F.cross_entropy(logits, self.answers[torch.cat([images, self.leaf_images])])
        if config.anchor_contraction:
            loss = loss + config.anchor_contraction * gain(model, clean.detach(), windows, generator)
        near = torch.cat([far, leaves_far]).detach().sqrt() < 0.5 * self.separation
        return loss, near.double().mean().item()

    def noise(
        self, windows: Int[Tensor, "n C"], level: float, generator: torch.Generator
    ) -> Float[Tensor, "n C d_model"]:
        """Gaussian noise, of another strength for each window; none on the pad, which never moves."""
        device, (n, C), d_model = windows.device, windows.shape, self.prototypes.shape[1]
        strength = level * torch.rand(n, 1, 1, generator=generator, device=device)
        noise = torch.empty(n, C, d_model, device=device).normal_(generator=generator)
        return noise * strength * self.prototypes.square().mean().sqrt() * (windows > 0).unsqueeze(-1)

    @cached_property
    def separation(self) -> float:
        """The smallest distance of two prototypes."""
        return torch.pdist(self.prototypes).min().item() if len(self.prototypes) > 1 else float("inf")

    def to(self, device: torch.device) -> Anchors:
        """On that device."""
        return Anchors(**{name: tensor.to(device) for name, tensor in self.state().items()})


def apply(model: RegularGPT, children: Float[Tensor, "n C d_model"]) -> Float[Tensor, "n d_model"]:
    """The block and the state norm on windows that have rows of their own."""
    own = torch.arange(children.shape[0] * children.shape[1], device=children.device).view(children.shape[:2])
    return model.settle(model.layers(0)[0](children.flatten(0, 1), own))


def gain(
    model: RegularGPT, clean: Float[Tensor, "n C d_model"], windows: Int[Tensor, "n C"], generator: torch.Generator
) -> Float[Tensor, ""]:
    """An unbiased estimate of the squared Frobenius norm of the Jacobian, a mean over the windows: E ||J^T v||^2.

    Only children that can move count, not the pad. Source: Hutchinson's estimator, 1989.
    """
    clean = clean.requires_grad_()
    states = apply(model, clean)
    v = torch.empty_like(states).normal_(generator=generator)
    (back,) = torch.autograd.grad(states, clean, v, create_graph=True)
    return (back * (windows > 0).unsqueeze(-1)).square().sum() / len(windows)
