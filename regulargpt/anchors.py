"""Anchoring: once a network is certified, or nearly, training on the finite table that it has become or should become.

The certificate replaces each node's state by a prototype and finds the table of all windows of prototypes that occur.
Here the block is trained on that table itself, prototypes disturbed by noise as inputs, the prototype that the table
says as target. No words are needed: what the block does near the prototypes is what it does at every depth, so states
no longer drift and long words are answered right without replacing anything. Where a few entries of the table are still
wrong, the true transitions say what they should be, and anchoring mends them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regulargpt.models.regulargpt import RegularGPT
from regulargpt.nodes import members
from regulargpt.objectives import UNDEFINED

if TYPE_CHECKING:
    from regulargpt.certificate.certify import Snapped
    from regulargpt.certificate.codebook import Codebook, Ideal
    from regulargpt.certificate.machine import Question
    from regulargpt.config import TrainingConfig

# The noise falls with the learning rate, but no further: what lies near a prototype shall still come back to it.
LEAST = 0.1
# Of so many times the windows of a step, the worst are taken.
CANDIDATES = 4


@dataclass(frozen=True)
class Anchors:
    """A table: prototypes, what windows of symbols and of prototypes give, the answers, -1 where nobody asks.

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

    @classmethod
    def true(cls, question: Question, ideal: Ideal, book: Codebook) -> Anchors:
        """The table as the true transitions have it, over these prototypes of them."""
        n = int(question.classes.max()) + 1
        answers = np.full(n, UNDEFINED)
        np.maximum.at(answers, question.classes, question.answers)
        place = np.full(n, -1)
        place[book.elements] = np.arange(len(book))
        windows = np.append(0, 1 + place)[ideal.elements]
        leaf_images, images = place[ideal.of_symbols], place[ideal.of_elements]
        numbers = (answers[book.elements], ideal.symbols, leaf_images, windows, images)
        return cls(book.prototypes.float(), *map(torch.from_numpy, numbers))

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint keeps."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def load(cls, state: dict[str, Any]) -> Anchors:
        """From a checkpoint."""
        return cls(**state)

    def loss(self, model: RegularGPT, config: TrainingConfig, left: float) -> tuple[Float[Tensor, ""], float]:
        """Squared distances to the table's prototypes, the answers' cross-entropy, the Jacobian's norm; the share near.

        `anchor_windows` windows of prototypes go through the block, each with noise of its own; as many over the states
        that come out, of each prototype the one farthest off; and all of symbols. The noise falls with `left`, from 1
        to 0, down to `LEAST` of itself. Near is nearer than half the smallest distance of two prototypes. The model and
        the anchors are on one device.
        """
        generator = model.state_noise.next_generator(self.prototypes.device)
        first, children = self.worst(model, config.anchor_windows, config.anchor_noise * max(LEAST, left), generator)
        states = apply(model, children)
        leaves = model.settle(model.layers(0)[0](model.leaves(), self.leaf_windows))
        found, images = torch.cat([states, leaves]), torch.cat([self.images[first], self.leaf_images])
        far = self.far(found, images)
        second, by = self.draw(config.anchor_windows, generator), far[: len(states)].argsort(stable=True)
        again = apply(model, self.over(model, second, first[by], states[by].detach()))
        logits, answers = model.readout(found), self.answers[images]
        loss = far[: len(states)].mean() + far[len(states) :].mean() + self.far(again, self.images[second]).mean()
        loss = loss + F.cross_entropy(logits, answers, ignore_index=UNDEFINED)
        if config.anchor_contraction:
            clean = self.children(model, first).detach()
            loss = loss + config.anchor_contraction * gain(model, clean, self.windows[first], generator)
        return loss, (far.detach().sqrt() < 0.5 * self.separation).double().mean().item()

    def draw(self, n: int, generator: torch.Generator) -> Int[Tensor, "n"]:
        """Windows of the table, by their numbers: about half of them uniform, the others uniform by what they give.

        Three quarters of the windows may give one element, and some elements come of three windows only.
        """
        device = self.windows.device
        order, sizes = self.by_image
        kind = torch.randint(len(sizes), (n,), generator=generator, device=device)
        share, coin = torch.rand(2, n, generator=generator, device=device, dtype=torch.float64)
        return torch.where(coin < 0.5, members(order, sizes, kind, share), (share * len(self.windows)).long())

    def worst(
        self, model: RegularGPT, n: int, level: float, generator: torch.Generator
    ) -> tuple[Int[Tensor, "n"], Float[Tensor, "n C d_model"]]:
        """Windows and their disturbed children: one half at random, the other the farthest off of `CANDIDATES` n.

        It takes a single window to spoil a long word.
        """
        drawn = self.draw(CANDIDATES * n, generator)
        children = self.children(model, drawn) + self.noise(self.windows[drawn], level, generator)
        with torch.no_grad():
            far = self.far(apply(model, children), self.images[drawn])
        kept = torch.cat([far.topk(n // 2).indices, torch.arange(n - n // 2, device=drawn.device)])
        return drawn[kept], children[kept]

    def children(self, model: RegularGPT, windows: Int[Tensor, "n"]) -> Float[Tensor, "n C d_model"]:
        """The prototypes, and the pad, under these windows."""
        return torch.cat([model.pad, self.prototypes])[self.windows[windows]]

    def over(
        self, model: RegularGPT, windows: Int[Tensor, "n"], below: Int[Tensor, "m"], states: Float[Tensor, "m d_model"]
    ) -> Float[Tensor, "n C d_model"]:
        """What is under these windows if the windows `below` gave these `states`; prototypes where none gave any.

        Of several states for one prototype it is the last.
        """
        row = torch.full((1 + len(self.prototypes),), -1, device=states.device)
        # A maximum is the same in whichever order a device takes it.
        row.scatter_reduce_(0, 1 + self.images[below], torch.arange(len(below), device=states.device), "amax")
        rows = row[self.windows[windows]]
        return torch.where((rows >= 0).unsqueeze(-1), states[rows.clamp(min=0)], self.children(model, windows))

    def far(self, states: Float[Tensor, "n d_model"], images: Int[Tensor, "n"]) -> Float[Tensor, "n"]:
        """Squared distances to the prototypes where the states should be."""
        return (states - self.prototypes[images]).square().sum(1)

    def noise(
        self, windows: Int[Tensor, "n C"], level: float, generator: torch.Generator
    ) -> Float[Tensor, "n C d_model"]:
        """Gaussian noise, of another strength for each window; none on the pad, which never moves."""
        device, (n, C), d_model = windows.device, windows.shape, self.prototypes.shape[1]
        strength = level * torch.rand(n, 1, 1, generator=generator, device=device)
        noise = torch.empty(n, C, d_model, device=device).normal_(generator=generator)
        return noise * strength * self.prototypes.square().mean().sqrt() * (windows > 0).unsqueeze(-1)

    @cached_property
    def by_image(self) -> tuple[Int[Tensor, "n"], Int[Tensor, "m"]]:
        """The windows in the order of what they give, and how many give the same."""
        sizes = self.images.bincount()
        return self.images.argsort(stable=True), sizes[sizes > 0]

    @cached_property
    def separation(self) -> float:
        """The smallest distance of two prototypes."""
        return torch.pdist(self.prototypes).min().item() if len(self.prototypes) > 1 else float("inf")

    def to(self, device: torch.device) -> Anchors:
        """On that device."""
        return Anchors(**{name: tensor.to(device) for name, tensor in self.state().items()})


@dataclass(frozen=True)
class Verdict:
    """What a training is told: whether the certificate holds, the shortest wrong word, the table to train on.

    `table`, where there is one, makes it: most askings are of a training that goes on with the table it has. `missed`
    is the share of the true table's windows that are taken for another element.
    """

    certain: bool = False
    table: Callable[[], Anchors] | None = None
    wrong: tuple[int, ...] | None = None
    missed: float = 1.0


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
