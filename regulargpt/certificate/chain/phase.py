"""The proof of a recurrent network in training: its automaton, then boxes round that automaton's points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from languages.automata import MooreMachine
from languages.convert.machines import AnyMachine
from regulargpt.certificate.chain.bounded import box_network
from regulargpt.certificate.chain.box_search import closed
from regulargpt.certificate.chain.outcome import chain_outcome
from regulargpt.certificate.chain.points import Candidate
from regulargpt.certificate.chain.search import refuse_trivial
from regulargpt.certificate.chain.target import ChainTarget
from regulargpt.certificate.chain.tuning import ChainTuner
from regulargpt.certificate.outcome import Outcome, Progress
from regulargpt.certificate.proof_phase import Closed, Open, ProofPhase, Seeking, Tuning, Weights, is_last, kept
from regulargpt.certificate.towards_automaton import Files, TowardsAutomaton
from regulargpt.finite.chain import chain_of
from regulargpt.finite.float64_network import as_float64
from regulargpt.finite.specification import specified_machine
from regulargpt.models.recurrent import Recurrent
from regulargpt.training.chain_fine_tuning import ChainFineTuningOptions

if TYPE_CHECKING:
    from regulargpt.training.trainer import Trainer

# Its steps begin small: the first ones of Adam are as long as the later ones.
WARMUP = 50
# Steps between attempts at boxes, and the slack with which they are to be closed: 16 bits round states between -1 and 1
# by less.
ATTEMPTS, SLACK = 25, 1e-3
# Steps on boxes after which units that are stuck begin anew.
RENEWED = 300
# What of the training's own a checkpoint keeps.
KEPT = ("began_at", "before", "middles")
# Batches of words whose states are averaged.
BATCHES, WORDS = 4, 128


@dataclass(frozen=True)
class ChainTuning(Tuning):
    """The training to be an automaton since a step: its points, and the weights to go back to.

    Once boxes round the points are closed, `middles` are the middles of these (K, D), in float64.
    """

    tuner: ChainTuner
    began_at: int
    before: Weights
    options: ChainFineTuningOptions
    middles: Float[Tensor, "K D"] | None = None

    def done(self, trainer: Trainer) -> int:
        """Its steps so far."""
        return trainer.step_count - self.began_at

    def optimiser(self, trainer: Trainer) -> torch.optim.Optimizer:
        """That of network and points."""
        return self.tuner.optimiser

    def lr(self, trainer: Trainer) -> float:
        """Rising, then constant; again where boxes come in."""
        return self.options.lr * min(1.0, (1 + self.done(trainer) - (self.tuner.full_at or 0)) / WARMUP)

    def backward(self, trainer: Trainer) -> tuple[float, Mapping[str, float]]:
        """Gradients of the loss on points or boxes."""
        trainer.model.eval()  # without dropout: the map that is proven has none
        loss, measured = self.tuner.loss(self.options, self.done(trainer))
        loss.backward()
        return loss.item(), measured

    def last_step(self, trainer: Trainer) -> int:
        """After all its steps."""
        return min(super().last_step(trainer), self.began_at + self.options.steps)

    def awaited(self, trainer: Trainer, tried: str) -> list[str]:
        """A proof, and what the network is trained on."""
        of = "points" if self.tuner.full_at is None else "boxes"
        return [f"waits for a proof (fine-tuning {self.done(trainer):,} of {self.options.steps:,}, on {of})"]

    @property
    def points(self) -> Float[Tensor, "K D"]:
        """Those by which it is proven: the middles of closed boxes, else those that it is trained at."""
        return self.tuner.float64_points if self.middles is None else self.middles


Now = Seeking | ChainTuning | Closed[ChainTuning]


class Chains(TowardsAutomaton[ChainTuning, ChainTarget]):
    """The automaton is requested every `every` steps. Once there is one the network is trained to be it.

    Training ends once boxes round its points are closed, or, where the state has no bounds, once the table over the
    points holds. After the options' `steps` the table is enough; if it does not hold, words are trained on again.
    Raises UserError for a language that has nothing to prove.
    """

    def goal_of(self, machine: AnyMachine | None) -> ChainTarget:
        """The automaton's moves between points."""
        specified = specified_machine(self.data.finite) if machine is None else machine
        assert isinstance(specified, MooreMachine), "the language is regular"
        refuse_trivial(specified, self.data.name if machine is None else "the automaton that was learned")
        return ChainTarget.from_machine(specified)

    def seek(self, now: Seeking, trainer: Trainer) -> Now:
        """Ask for the automaton, and train the network to be it from here on."""
        if trainer.step_count % self.options.every and not is_last(trainer):
            return now
        target = self.target(now, trainer)
        if target is None or is_last(trainer) or not self.options.steps:
            return now
        begun = self.begun(now, target, recurrent(trainer.model), trainer.step_count)
        # A state without bounds has no boxes: where the points hold as trained, there is nothing to tune.
        if begun.tuner.boxes is None and self.table_holds(begun, trainer.model):
            return Closed(begun, trainer.step_count)
        return begun

    def target(self, now: Seeking, trainer: Trainer) -> ChainTarget | None:
        """What the network is to be; where it was trained to be that before, only if all short words are right."""
        before, target = self.sought.goal, self.sought.seek(trainer)
        # After the first of the two ways the other is tried at once.
        if target is None or before is None or now.given_up % 2 == 1 or self.is_right(trainer.model, target):
            return target
        return None

    def begun(self, now: Seeking, target: ChainTarget, model: Recurrent, step: int) -> ChainTuning:
        """The training to be it."""
        tuner = ChainTuner.begun(model, target, list(map(self.words, range(BATCHES))), self.seed)
        # Neither way of measuring errors leads to closed boxes on every language: they take turns.
        tuner.widens = now.given_up % 2 == 0
        return ChainTuning(tuner, step, kept(model), self.options, given_up=now.given_up)

    def words(self, number: int) -> Int[Tensor, "n length"]:
        """A batch of words whose states are averaged."""
        lengths = self.data.lengths(self.data.options.train_len)
        return torch.from_numpy(np.asarray(self.data.batch(self.seed, "points", number, lengths, WORDS))).long()

    def tune(self, now: ChainTuning, trainer: Trainer) -> Now:
        """Ask for boxes, or for the table where there are none; let units that are stuck begin anew; end."""
        model, done = trainer.model, now.done(trainer)
        since, at_end = now.tuner.steps_to_close(done), is_last(trainer) or done == self.options.steps
        if since and (at_end or since % ATTEMPTS == 0) and (boxes := self.closed(now, model, done)) is not None:
            return Closed(boxes, trainer.step_count)
        if not at_end:
            if since and since % RENEWED == 0:
                now.tuner.renew(self.options.radius)
            return now
        # A network that only its table makes right has lost what words taught it.
        if self.table_holds(now, model) and self.is_right(model, now.tuner.target):
            return now
        model.load_state_dict(now.before)
        return Seeking(given_up=now.given_up + 1)

    def closed(self, now: ChainTuning, model: nn.Module, done: int) -> ChainTuning | None:
        """With the middles of boxes that are closed now; of a state without bounds, as it is, if the table holds."""
        if now.tuner.boxes is None:
            return now if self.table_holds(now, model) else None
        network = box_network(as_float64(recurrent(model))) if now.tuner.may_be_closed else None
        slack = SLACK if 2 * done < self.options.steps else SLACK / 10  # better a little than none
        boxes = None if network is None else closed(network, now.tuner.target.moves, slack)
        return None if boxes is None else replace(now, middles=boxes.centre)

    def table_holds(self, now: ChainTuning, model: nn.Module) -> bool:
        """Whether the network is the automaton, its states replaced by the points that it was trained at."""
        return self.candidate(model, now.tuner.target).product(now.tuner.float64_points).is_proven

    def is_right(self, model: nn.Module, target: ChainTarget) -> bool:
        """Whether the network, its states not replaced, answers all short words as the automaton does."""
        return self.candidate(model, target).own_error() is None

    def candidate(self, model: nn.Module, target: ChainTarget) -> Candidate:
        """The network as it is now, and the automaton that it is to be."""
        return Candidate(chain_of(model, self.data.tree_task.n_symbols), target.machine)

    def facts(self, now: Now) -> dict[str, Any]:
        """When it began, and when boxes were closed, or the table held where there are none."""
        last, at = (now.last, now.at) if isinstance(now, Closed) else (now, None)
        began = last.began_at if isinstance(last, ChainTuning) else None
        facts = {"began_at": began, "closed_at": at, "proven_unquantised": None}
        return facts | ({"given_up": last.given_up} if last.given_up else {})

    def saved(self, now: ChainTuning) -> dict[str, Any]:
        """What it trains on."""
        return {name: getattr(now, name) for name in KEPT} | {"tuner": now.tuner.state()}

    def loaded(self, saved: Mapping[str, Any], given_up: int, model: nn.Module) -> ChainTuning:
        """As it was saved."""
        tuner = ChainTuner.load(saved["tuner"], recurrent(model), self.sought.needed(), self.seed)
        at = {name: saved[name] for name in KEPT}
        return ChainTuning(tuner, options=self.options, given_up=given_up, **at)

    def certificate(self, goal: ChainTarget, now: Open, model: nn.Module, files: Files, on_check: Progress) -> Outcome:
        """By the points that it was trained at, if any."""
        known = now.points if isinstance(now, ChainTuning) else None
        return chain_outcome(model, self.data, self.seed, files, on_check, self.sought.learned, known)


class ChainFineTuning(ProofPhase[ChainTuning]):
    """The proof of a recurrent network."""

    name, strategy_of = "chain_fine_tuning", Chains


def recurrent(model: nn.Module) -> Recurrent:
    """The model as what it is here."""
    assert isinstance(model, Recurrent), "validation refuses others"
    return model
