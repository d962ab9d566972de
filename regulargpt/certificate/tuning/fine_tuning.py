"""Table fine-tuning: once a network is certified, or nearly, training on the finite table that it is or should become.

The certificate replaces the state of each node above the symbols by a prototype and finds the table of all windows of
prototypes that occur. Here the block is trained on that table itself, prototypes disturbed by noise as inputs, the
prototype that the table says as target. No words are needed: what the block does near the prototypes is what it does at
every depth, so states no longer drift and long words are answered right without replacing anything. Where a few entries
of the table are still wrong, the table of the true elements says what they should be, and fine-tuning mends them.

Nothing here knows how a table is found: the search (certify.py) builds it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from languages.automata.moore import UNDEFINED
from regulargpt.models.tree.base import Tree
from regulargpt.training.kinds import stratified_row

# The noise falls with the learning rate, but no further: what lies near a prototype shall still come back to it.
LEAST_NOISE = 0.1
# How far states (n, d_model) are from what they should be (n,), each an error (n,).
Errors = Callable[[Tensor, Tensor], Tensor]
# So many windows, by their numbers.
Draw = Callable[[int, torch.Generator], Tensor]
# What is added to the children (n, C, d_model) of windows (n, C).
Disturb = Callable[[Tensor, torch.Generator], Tensor]
# Of so many times the windows of a step, those with the largest error are taken.
CANDIDATES = 4
# A drift is followed over so many levels of so many nodes.
ROUNDS, NODES = 16, 4096


@dataclass(frozen=True)
class TrainingTable:
    """A table: prototypes, what windows of symbols and of prototypes give, the answers, -1 where no word needs one.

    Windows count from 1 by offset, 0 is an absent place; images count from 0. In trees that follow brackets symbols
    stand beside prototypes: they count from K + 1 on.
    """

    prototypes: Float[Tensor, "K d_model"]
    answers: Int[Tensor, "K"]
    leaf_windows: Int[Tensor, "m C"]
    leaf_images: Int[Tensor, "m"]
    windows: Int[Tensor, "n C"]
    images: Int[Tensor, "n"]

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint keeps."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def load(cls, state: dict[str, Any]) -> TrainingTable:
        """From a checkpoint."""
        return cls(**state)

    def over(self, prototypes: Float[Tensor, "K d_model"]) -> TrainingTable:
        """The same table over other prototypes."""
        table = dataclasses.replace(self, prototypes=prototypes)
        vars(table)["by_image"] = self.by_image  # sorting the windows of a large table takes longer than a step
        return table

    def loss(
        self, model: Tree, n_windows: int, noise: float, contraction: float, left: float
    ) -> tuple[Float[Tensor, ""], float]:
        """Squared distances to the table's prototypes, the answers' cross-entropy, the Jacobian's norm; the share near.

        `n_windows` windows of prototypes go through the block, each with noise of its own; as many over the states
        that come out, of each prototype that farthest off; and all of symbols. `noise` is the largest, as a share of
        the prototypes' RMS; it falls with `left`, from 1 to 0, down to `LEAST_NOISE` of itself. `contraction` weighs
        the Jacobian. Near is nearer than half the smallest distance of two prototypes. The model and the table are on
        one device.
        """
        generator = model.state_noise.next_generator(self.prototypes.device)
        level = noise * max(LEAST_NOISE, left)
        disturb = partial(self.noise, level=level)
        first, children = self.draw_hard(model, n_windows, disturb, generator, self.squared_errors)
        states = apply_map(model, children, self.windows[first])
        leaves = model.merge(model.leaves(), self.leaf_windows)
        all_states, images = torch.cat([states, leaves]), torch.cat([self.images[first], self.leaf_images])
        errors = self.squared_errors(all_states, images)
        # A second step from where the first ended: an error shall shrink on its way up the tree, not grow.
        second = self.draw(n_windows, generator)
        worst = self.farthest_of(self.images[first], states, errors[: len(states)]).detach()
        below = rows(model, worst)[self.windows[second]]
        again = apply_map(model, below, self.windows[second])
        logits, answers = model.readout(all_states), self.answers[images]
        # Means apart, so that leaves count as much as nodes, however many there are of each.
        loss = errors[: len(states)].mean() + errors[len(states) :].mean()
        loss = loss + self.squared_errors(again, self.images[second]).mean()
        loss = loss + F.cross_entropy(logits, answers, ignore_index=UNDEFINED)
        if contraction:
            clean = self.children(model, first).detach()
            loss = loss + contraction * squared_jacobian(
                model, clean, self.windows[first], len(self.prototypes), generator
            )
        return loss, (errors.detach().sqrt() < 0.5 * self.separation).double().mean().item()

    @torch.no_grad()
    def drift(self, model: Tree, seed: int) -> float:
        """How far states go astray on their way up, in units of half the smallest distance of two prototypes.

        `ROUNDS` levels are built one on the other, from prototypes: all windows, or `NODES` random ones of a large
        table, over the states of the level below, of each prototype the farthest off. Of all nodes it is the farthest;
        not a number where a state is none, infinite where two prototypes are equal.
        """
        # On the CPU, the same for every device.
        generator, device = torch.Generator().manual_seed(seed), self.windows.device
        worst, farthest = self.prototypes, self.prototypes.new_zeros(())
        for _ in range(ROUNDS):
            n = len(self.windows)
            drawn = (torch.arange(n) if n <= NODES else torch.randint(n, (NODES,), generator=generator)).to(device)
            images = self.images[drawn]
            states = model.merge(rows(model, worst), self.windows[drawn])
            errors = self.squared_errors(states, images)
            farthest = torch.maximum(farthest, errors.max().sqrt())
            worst = self.farthest_of(images, states, errors)
        return farthest.item() / (0.5 * self.separation) if self.separation else float("inf")

    def farthest_of(
        self, images: Int[Tensor, "n"], states: Float[Tensor, "n d_model"], errors: Float[Tensor, "n"]
    ) -> Float[Tensor, "K d_model"]:
        """For each prototype the state with the largest of these errors; itself where there is none."""
        order = errors.argsort(stable=True)
        row = torch.full((len(self.prototypes),), -1, device=states.device)
        # A maximum is the same in whichever order a device takes it.
        row.scatter_reduce_(0, images[order], torch.arange(len(order), device=states.device), "amax")
        return torch.where((row >= 0).unsqueeze(-1), states[order][row.clamp(min=0)], self.prototypes)

    def draw(self, n: int, generator: torch.Generator) -> Int[Tensor, "n"]:
        """Windows of the table, by their numbers: about half of them uniform, the others uniform by what they give.

        Three quarters of the windows may give one element, and some elements come of three windows only.
        """
        device = self.windows.device
        order, sizes = self.by_image
        kind = torch.randint(len(sizes), (n,), generator=generator, device=device)
        share, coin = torch.rand(2, n, generator=generator, device=device, dtype=torch.float64)
        return torch.where(coin < 0.5, stratified_row(order, sizes, kind, share), (share * len(self.windows)).long())

    def draw_hard(
        self,
        model: Tree,
        n: int,
        disturb: Disturb,
        generator: torch.Generator,
        errors_of: Errors,
        draw: Draw | None = None,
    ) -> tuple[Int[Tensor, "n"], Float[Tensor, "n C d_model"]]:
        """Windows and their disturbed children: half at random, the others with the largest errors of `CANDIDATES` n.

        It takes a single window to spoil a long word. `errors_of` gives the error of states by what they should be,
        `draw` the windows to choose from, of all where it is None.
        """
        drawn = (draw or self.draw)(CANDIDATES * n, generator)
        children = self.children(model, drawn) + disturb(self.windows[drawn], generator)
        with torch.no_grad():  # only to choose: the chosen go through the block once more, with gradients
            errors = errors_of(apply_map(model, children, self.windows[drawn]), self.images[drawn])
        kept = torch.cat([errors.topk(n // 2).indices, torch.arange(n - n // 2, device=drawn.device)])
        return drawn[kept], children[kept]

    def children(self, model: Tree, windows: Int[Tensor, "n"]) -> Float[Tensor, "n C d_model"]:
        """The prototypes, and what stands for absent places, under these windows."""
        return rows(model, self.prototypes)[self.windows[windows]]

    def squared_errors(self, states: Float[Tensor, "n d_model"], images: Int[Tensor, "n"]) -> Float[Tensor, "n"]:
        """Squared distances to the prototypes where the states should be."""
        return (states - self.prototypes[images]).square().sum(1)

    def noise(
        self, windows: Int[Tensor, "n C"], generator: torch.Generator, level: float
    ) -> Float[Tensor, "n C d_model"]:
        """Gaussian noise, of another strength for each window; none on the pad and on symbols, which never move."""
        device, (n, C), d_model = windows.device, windows.shape, self.prototypes.shape[1]
        strength = level * torch.rand(n, 1, 1, generator=generator, device=device)
        noise = torch.empty(n, C, d_model, device=device).normal_(generator=generator)
        return noise * strength * self.prototypes.square().mean().sqrt() * moving(windows, len(self.prototypes))

    @cached_property
    def by_image(self) -> tuple[Int[Tensor, "n"], Int[Tensor, "m"]]:
        """The windows in the order of what they give, and how many give the same."""
        sizes = self.images.bincount()
        return self.images.argsort(stable=True), sizes[sizes > 0]

    @cached_property
    def separation(self) -> float:
        """The smallest distance of two prototypes."""
        return torch.pdist(self.prototypes).min().item() if len(self.prototypes) > 1 else float("inf")

    def to(self, device: torch.device) -> TrainingTable:
        """On that device."""
        return TrainingTable(**{name: tensor.to(device) for name, tensor in self.state().items()})


@dataclass(frozen=True)
class CertificationAttempt:
    """An attempt to certify a network in training: whether it holds, the shortest wrong word, the table to train on.

    `table`, if any, makes it: most attempts are of a training that goes on with the table it has. `missed`
    is the share of the true table's windows that are taken for another element.
    """

    certain: bool = False
    table: Callable[[], TrainingTable] | None = None
    wrong: tuple[int, ...] | None = None
    missed: float = 1.0


def rows(model: Tree, states: Float[Tensor, "K d_model"]) -> Float[Tensor, "rows d_model"]:
    """What windows count: what is absent, these states, and in trees that follow brackets the symbols."""
    above = torch.cat([model.absent, states])
    return above if model.direction is None else torch.cat([above, model.leaves()[1:]])


def moving(windows: Int[Tensor, "n C"], K: int) -> Bool[Tensor, "n C 1"]:
    """Where a node of windows over K prototypes can move: not the pad, nor symbols."""
    return ((windows > 0) & (windows <= K)).unsqueeze(-1)  # (n, C, 1)


def apply_map(
    model: Tree, children: Float[Tensor, "n C d_model"], windows: Int[Tensor, "n C"]
) -> Float[Tensor, "n d_model"]:
    """The model's map on windows that have rows of their own; where `windows` is 0, there is no node."""
    own = 1 + torch.arange(windows.numel(), device=children.device).view_as(windows)  # (n, C): which row is where
    rows = torch.cat([model.absent, children.flatten(0, 1)])  # (1 + n * C, d_model)
    return model.merge(rows, own * (windows > 0))


def squared_jacobian(
    model: Tree, clean: Float[Tensor, "n C d_model"], windows: Int[Tensor, "n C"], K: int, generator: torch.Generator
) -> Float[Tensor, ""]:
    """An unbiased estimate of the squared Frobenius norm of the Jacobian, a mean over the windows: E ||J^T v||^2.

    Only children that can move count, not the pad and symbols. Source: Hutchinson's estimator, 1989.
    """
    clean = clean.requires_grad_()
    states = apply_map(model, clean, windows)
    v = torch.empty_like(states).normal_(generator=generator)
    # One product with J^T instead of the whole Jacobian; `create_graph`, for the loss is derived once more.
    # Of a sum: torch imports sympy, half a second, for gradients that are handed in.
    (back,) = torch.autograd.grad((states * v).sum(), clean, create_graph=True)
    return (back * moving(windows, K)).square().sum() / len(windows)
