"""The training of a recurrent network to be an automaton: first for disturbed points, then for boxes round them.

Table fine-tuning brings what a symbol makes of a disturbed point near to the point that it should be. Interval
fine-tuning (certified training, as in Gowal et al. 2018) lowers by how far the image of a box, by bounds that hold for
all of it, leaves the box that it should lie in. Gates that only hold make every box grow: they are drawn open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from languages.randomness import rng
from regulargpt.certificate.chain.bounded import BoxNetwork, box_network
from regulargpt.certificate.chain.intervals import TensorInterval
from regulargpt.certificate.chain.live import LiveChain
from regulargpt.certificate.chain.target import ChainTarget
from regulargpt.models.lstm import Lstm
from regulargpt.models.recurrent import Recurrent
from regulargpt.training.chain_fine_tuning import ChainFineTuningOptions
from regulargpt.training.optimisers import Adam

# What of the tuner's own a checkpoint keeps.
KEPT = ("widens", "noise", "full_at", "leaves", "last_loss", "loss_before")
# Of its Adam; the second is short, for the errors shrink by orders of magnitude.
BETAS = (0.9, 0.98)
# Copies of each move in a step on disturbed points. Noise rises to the gap of the points, in so many steps in which
# images come nearer to their point than this share of it; in others it falls. Boxes come in once it is full, or after
# so many steps.
COPIES, RISING, FALLING, NEAREST, MOST_TABLE = 8, 500, 0.98, 0.5, 1500
# Points of two states nearer than this are driven apart; nothing is measured by less than the second.
GAP, LEAST_GAP = 1.0, 1e-2
# Rows of a step on boxes at most, each with a Jacobian.
MOST_ROWS = 128
# A gate whose logit is above this only holds. A cell of an LSTM that counts has no point: it begins so near to 0.
# Where tanh is flatter than at this, a unit that has come to the wrong side has no gradient back.
OPEN, STEEP, MOST_CELL = 1.5, 4.0, 2.0
# An image should lie within this share of its box, and its radius, without the offset, within this.
INSIDE, GAIN = 0.9, 0.75
OFFSETS = 0.1
# Units that leave their box are stuck, rather than the network not trained, if they are at most this share of all, and
# the loss is still more than this share of what it was.
MOST_STUCK, STALLED = 0.25, 0.7
# Once the images of boxes lie within so many times their boxes, boxes of their own size may be closed.
NEAR = 2.0


class ChainTuner:
    """Where the training of a network to be an automaton stands: its points, and an optimiser of network and points."""

    def __init__(self, model: Recurrent, target: ChainTarget, points: Float[Tensor, "K D"], seed: int):
        self.target, self.seed, self.chain, self.boxes = target, seed, LiveChain(model), box_network(model)
        self.points = nn.Parameter(points.clone())
        groups = [*model.parameter_groups(), {"params": [self.points]}]
        self.optimiser = Adam([{**group, "weight_decay": 0.0} for group in groups], betas=BETAS, fused=True)
        self.widens = True  # whether errors are lowered by wider gaps, too
        self.noise = 0.0
        self.full_at: int | None = None  # its steps before noise was full: from there on boxes are trained on
        self.loss_before = torch.inf  # when it was asked last whether units are stuck
        self.last_loss = torch.inf  # on boxes
        self.leaves = torch.inf  # how many times their box images of boxes reach, at the last step

    @classmethod
    def begun(
        cls, model: Recurrent, target: ChainTarget, words: list[Int[Tensor, "n length"]], seed: int
    ) -> ChainTuner:
        """With points that are means of states; cells that count are brought back."""
        points = target.means(LiveChain(model), words)
        if isinstance(model, Lstm):
            points[:, points.shape[1] // 2 :].clamp_(-MOST_CELL, MOST_CELL)
        return cls(model, target, points, seed)

    def loss(self, options: ChainFineTuningOptions, done: int) -> tuple[Float[Tensor, ""], dict[str, float]]:
        """What the next step lowers, after `done` of them."""
        if self.full_at is None and (self.noise >= 1 or done >= MOST_TABLE):
            self.full_at = done
        if self.full_at is not None and self.boxes is not None:
            return self.of_boxes(self.boxes, options, done)
        return self.of_table(options, done)

    def of_table(self, options: ChainFineTuningOptions, done: int) -> tuple[Float[Tensor, ""], dict[str, float]]:
        """Disturbed points to the points that they should become, with the right answers there."""
        chain, moves, points = self.chain, self.target.moves, self.points
        source, symbols, target = (x.repeat(COPIES) for x in (moves.source, moves.symbols, moves.target))
        gap = self.gap()
        noise = rng(self.seed, "disturbed points", done).standard_normal((len(source), points.shape[1]))
        width = self.noise * gap.detach() / points.shape[1] ** 0.5
        states = points[source] + width * torch.from_numpy(noise).to(points)
        logits, after = chain.step(states, symbols)
        begins = moves.begins
        of_first, first = chain.step(None, begins)
        apart = ((after - points[target]) ** 2).mean() + ((first - points[moves.first[begins]]) ** 2).mean()
        right = self.target.answers[torch.cat([target, moves.first[begins]])].to(points.device)
        wrong = F.cross_entropy(torch.cat([logits, of_first]), right, ignore_index=-1)
        # In units of the gap, which must not close: it is moved by this, too, or only where it is small.
        apart = apart * points.shape[1] / (gap if self.widens else gap.detach()) ** 2
        loss, far = apart + wrong + (GAP - gap).relu(), float(apart.detach() ** 0.5)
        self.noise = min(1.0, self.noise + 1 / RISING) if far < NEAREST else FALLING * self.noise
        if self.boxes is not None:
            loss = loss + options.gates * held(self.boxes, states, after, symbols)
        return loss, {"apart": far, "disturbed": self.noise}

    def gap(self) -> Float[Tensor, ""]:
        """The least distance of points of two states, by which noise and loss are measured."""
        left, two = (~self.target.alike).triu().nonzero().unbind(1)
        if not len(left):
            return self.points.new_ones(())
        return (self.points[left] - self.points[two]).norm(dim=1).min().clamp(min=LEAST_GAP)

    def of_boxes(
        self, network: BoxNetwork, options: ChainFineTuningOptions, done: int
    ) -> tuple[Float[Tensor, ""], dict[str, float]]:
        """Boxes round points to within the boxes that they should become, with the right answers in all of them."""
        moves, points, r = self.target.moves, self.points, options.radius
        source, symbols, target = moves.source, moves.symbols, moves.target
        if len(source) > MOST_ROWS:
            some = torch.from_numpy(rng(self.seed, "which boxes", done).permutation(len(source))[:MOST_ROWS])
            source, symbols, target = source[some], symbols[some], target[some]
        box = TensorInterval.round(points, torch.full_like(points, r))
        image = network.images(TensorInterval(box.lower[source], box.upper[source]), symbols)
        begins = moves.begins
        first = self.chain.step(None, begins)[1] - points[moves.first[begins]]
        offset, radius = (image.centre - points[target]) / r, image.radius / r
        reach = offset.abs() + radius
        apart = OFFSETS * ((offset**2).mean() + ((first / r) ** 2).mean())
        leaving = ((radius - GAIN).relu() ** 2).mean() + ((reach - INSIDE).relu() ** 2).mean()
        answered, answers = moves.answered, moves.answers.to(points.device)
        margins = network.margins(TensorInterval(box.lower[answered], box.upper[answered]), answers, moves.by)
        wrong = torch.logsumexp(-margins, 1).mean()  # the cross-entropy of the worst logits in the box
        held_shut = held(network, points[source], image.centre, symbols)
        self.leaves = float(torch.maximum(reach.detach().max(), (first.detach().abs() / r).max()))
        loss = leaving + apart + wrong + options.gates * held_shut
        self.last_loss = float(loss.detach())
        return loss, {"leaves": self.leaves}

    @torch.no_grad()
    def renew(self, radius: float) -> int:
        """Begin anew with units that keep leaving their box, if they are few and the loss has stalled; how many did.

        Such a unit holds on to what it has, with gates so far shut that no gradient opens them. Without weights it goes
        to 0 from anywhere, and learns again.
        """
        moves, points, network = self.target.moves, self.points, self.boxes
        before, self.loss_before = self.loss_before, self.last_loss
        if network is None or self.last_loss < STALLED * before:
            return 0
        box = TensorInterval.round(points, torch.full_like(points, radius))
        image = network.images(TensorInterval(box.lower[moves.source], box.upper[moves.source]), moves.symbols)
        to = points[moves.target]
        reach = torch.maximum(image.upper - to, to - image.lower).amax(0)  # (D,)
        shape = network.shape
        stuck = (reach.unflatten(0, shape) > radius).any(0)  # (layers, d_model)
        units = stuck.nonzero().tolist()
        if len(units) > MOST_STUCK * stuck.numel():
            return 0
        for layer, unit in units:
            for weight in network.rows[layer]:
                weight.unflatten(0, (-1, shape[2]))[:, unit] = 0.0  # a row of each gate
            points.unflatten(1, shape)[:, :, layer, unit] = 0.0  # (K, parts, layers, d_model)
        self.loss_before = torch.inf
        return len(units)

    def steps_to_close(self, done: int) -> int:
        """Of `done` steps, those on what is to be closed: on boxes, or on points where there are none."""
        if self.boxes is None:
            return done
        return 0 if self.full_at is None else done - self.full_at

    @property
    def float64_points(self) -> Float[Tensor, "K D"]:
        """Where the points are now, in float64 and on the CPU."""
        return self.points.detach().cpu().double()

    @property
    def may_be_closed(self) -> bool:
        """Whether boxes may be closed, as far as the last step says."""
        return self.leaves < NEAR

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        at = {name: getattr(self, name) for name in KEPT}
        return {"points": self.points.detach(), **at, "optimiser": self.optimiser.state_dict()}

    @classmethod
    def load(cls, state: Mapping[str, Any], model: Recurrent, target: ChainTarget, seed: int) -> ChainTuner:
        """From a checkpoint."""
        tuned = cls(model, target, state["points"].to(next(model.parameters()).device), seed)
        tuned.optimiser.load_state_dict(state["optimiser"])
        for name in KEPT:
            setattr(tuned, name, state[name])
        return tuned


def held(network: BoxNetwork, states: Tensor, after: Tensor, symbols: Int[Tensor, "n"]) -> Float[Tensor, ""]:
    """How far gates that only hold are from open, and sums from where tanh has a slope; 0 where there are none."""
    distance = states.new_zeros(())
    for layer in network.saturated(states, after, symbols):
        distance = (
            distance + ((layer.holding - OPEN).relu() ** 2).mean() + ((layer.inner.abs() - STEEP).relu() ** 2).mean()
        )
    return distance
