"""The proof of a recurrent network in training: its automaton, then boxes round that automaton's points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from languages.automata import MooreMachine
from languages.convert.machines import AnyMachine
from regulargpt.certificate.chain.bounded import is_bounded
from regulargpt.certificate.chain.box_search import closed
from regulargpt.certificate.chain.intervals import Interval
from regulargpt.certificate.chain.outcome import chain_outcome
from regulargpt.certificate.chain.points import own_error
from regulargpt.certificate.chain.product import Product
from regulargpt.certificate.chain.search import refuse_trivial
from regulargpt.certificate.chain.target import ChainTarget
from regulargpt.certificate.chain.tuning import ChainTuner
from regulargpt.certificate.concluding import Concluding
from regulargpt.certificate.outcome import Outcome, refused
from regulargpt.certificate.tuning.target import TargetAutomaton
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.data.language import LanguageData
from regulargpt.finite.chain import chain_of
from regulargpt.finite.chain_rows import Rows
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
# What of the phase's own a checkpoint keeps.
KEPT = ("began_at", "closed_at", "renewed", "points", "before", "given_up")
# Batches of words whose states are averaged.
BATCHES, WORDS = 4, 128


class ChainFineTuning(Concluding):
    """The phase. `tuned` is the network's training to be its automaton, None while words are trained on.

    The automaton is asked for every `every` steps. Once there is one the network is trained to be it. Training ends
    once boxes round its points are closed, or, where the state has no bounds, once the table over the points holds.
    After the options' `steps` the table is enough; if it does not hold, words are trained on again. Raises UserError
    for a language that has nothing to prove.
    """

    name, timer = "chain_fine_tuning", "certify_seconds"

    def __init__(self, options: ChainFineTuningOptions, config: RunConfig, data: Data):
        assert isinstance(data, LanguageData), "validation refuses what has no automaton"
        self.options, self.data, self.seed = options, data, config.seed

        def target(machine: AnyMachine | None) -> ChainTarget:
            found = specified_machine(data.finite) if machine is None else machine
            assert isinstance(found, MooreMachine), "the language is regular"
            refuse_trivial(found, data.name if machine is None else "the automaton that was learned")
            return ChainTarget.of(found)

        self.sought = TargetAutomaton(options, config.seed, data, target)
        self.tuned: ChainTuner | None = None
        self.began_at: int | None = None
        self.closed_at: int | None = None  # boxes, or the table where there are none
        self.renewed = 0  # units that were stuck, and began anew
        self.before: dict[str, Any] | None = None  # the weights before the fine-tuning
        self.given_up = 0
        self.points: Tensor | None = None  # the middles of closed boxes (K, D), in float64

    @property
    def is_active(self) -> bool:
        """Whether the network is trained to be an automaton."""
        return self.tuned is not None

    def optimiser(self, trainer: Trainer) -> torch.optim.Optimizer:
        """That of network and points."""
        assert self.tuned is not None, "whoever asks trains"
        return self.tuned.optimiser

    def lr(self, trainer: Trainer) -> float:
        """Rising, then constant; again where boxes come in."""
        assert self.tuned is not None, "whoever asks trains"
        return self.options.lr * min(1.0, (1 + self.done(trainer) - (self.tuned.full_at or 0)) / WARMUP)

    def done(self, trainer: Trainer) -> int:
        """Its steps so far."""
        assert self.began_at is not None, "whoever asks trains"
        return trainer.step_count - self.began_at

    def noise(self) -> float:
        """None but that on the points, which it makes itself."""
        return 0.0

    def backward(self, trainer: Trainer) -> tuple[float, Mapping[str, float]]:
        """Gradients of the loss on points or boxes."""
        assert self.tuned is not None, "whoever asks trains"
        # Without dropout: the map that is proven has none.
        loss, measured = self.tuned.loss(recurrent(trainer.model).eval(), self.options, self.done(trainer))
        loss.backward()
        return loss.item(), measured

    def after(self, trainer: Trainer, loss: float) -> None:
        """Only the step counts."""

    def between(self, trainer: Trainer) -> None:
        """Ask for the automaton, and begin; then ask for boxes, and end."""
        step, is_last = trainer.step_count, trainer.step_count >= trainer.config.training.steps
        has_boxes = is_bounded(trainer.model)
        if self.tuned is None:
            if (step % self.options.every == 0 or is_last) and self.has_automaton(trainer) and not is_last:
                self.begin(trainer)
                # A state without bounds has no boxes: where the points hold as trained, there is nothing to tune.
                if self.tuned is not None and not has_boxes and self.table_holds(trainer.model):
                    self.closed_at = step
            return
        done, is_last = self.done(trainer), is_last or self.done(trainer) == self.options.steps
        since = done if not has_boxes else -1 if self.tuned.full_at is None else done - self.tuned.full_at
        if since > 0 and (is_last or since % ATTEMPTS == 0) and self.holds(trainer.model, done):
            self.closed_at = step
        elif since > 0 and since % RENEWED == 0 and not is_last and is_bounded(trainer.model):
            self.renewed += self.tuned.renew(trainer.model, self.options.radius)
        # A network that only its table makes right has lost what words taught it.
        if (
            is_last
            and self.closed_at is None
            and not (self.table_holds(trainer.model) and self.is_right(trainer.model))
        ):
            self.give_up(trainer)

    def has_automaton(self, trainer: Trainer) -> bool:
        """Whether the answers give an automaton; where there was one before, whether all short words are right."""
        is_known = self.sought.goal is not None
        # After the first of the two ways the other is tried at once.
        return self.sought.find(trainer) and (not is_known or self.given_up % 2 == 1 or self.is_right(trainer.model))

    def is_right(self, model: nn.Module) -> bool:
        """Whether the network, its states not replaced, answers all short words as the automaton does."""
        assert self.sought.goal is not None, "it was found"
        return own_error(chain_of(model, self.data.tree_task.n_symbols), self.sought.goal.machine) is None

    def begin(self, trainer: Trainer) -> None:
        """Train the network to be the automaton from here on."""
        if self.options.steps:
            assert self.sought.goal is not None, "it was found"
            model, words = recurrent(trainer.model), list(map(self.words, range(BATCHES)))
            self.tuned = ChainTuner.begun(model, self.sought.goal, words, self.seed)
            # Neither way of measuring errors leads to closed boxes on every language: they take turns.
            self.tuned.widens = self.given_up % 2 == 0
            self.began_at = trainer.step_count
            # Copied: a state dict shares its tensors with the model, which goes on being trained.
            self.before = deepcopy(trainer.model.state_dict())

    def give_up(self, trainer: Trainer) -> None:
        """Words again, with the weights from before a fine-tuning that came to nothing."""
        assert self.before is not None, "kept when it began"
        trainer.model.load_state_dict(self.before)
        self.tuned = self.began_at = self.before = None
        self.given_up += 1

    def words(self, number: int) -> Int[Tensor, "n length"]:
        """A batch of words whose states are averaged."""
        lengths = self.data.lengths(self.data.options.train_len)
        return torch.from_numpy(np.asarray(self.data.batch(self.seed, "points", number, lengths, WORDS))).long()

    def holds(self, model: nn.Module, done: int) -> bool:
        """Whether boxes are closed now, whose middles are kept; of a state without bounds, whether the table holds."""
        assert self.tuned is not None, "whoever asks trains"
        assert self.sought.goal is not None, "it was found"
        if not is_bounded(model):
            return self.table_holds(model)
        if not self.tuned.may_be_closed:
            return False
        slack = SLACK if 2 * done < self.options.steps else SLACK / 10  # better a little than none
        found: Interval | None = closed(as_float64(model), self.sought.goal.moves, slack)
        self.points = None if found is None else found.centre
        return found is not None

    def table_holds(self, model: nn.Module) -> bool:
        """Whether the network is the automaton, its states replaced by the points that it was trained at."""
        assert self.tuned is not None, "whoever asks trains"
        assert self.sought.goal is not None, "it was found"
        chain = chain_of(model, self.data.tree_task.n_symbols)
        points = self.tuned.points.detach().cpu().double()
        return Product.of(Rows.of(chain, points), self.sought.goal.machine).is_proven

    def last_step(self, trainer: Trainer) -> int:
        """Where it was closed; before, after all its steps."""
        if self.closed_at is not None:
            return self.closed_at
        steps = trainer.config.training.steps
        return steps if self.began_at is None else min(steps, self.began_at + self.options.steps)

    def known_end(self, trainer: Trainer) -> int | None:
        """Known once boxes are closed."""
        return self.closed_at

    def awaited(self, trainer: Trainer) -> list[str]:
        """A proof, and what the network is doing for it."""
        if self.tuned is None:
            tried = f"tried every {self.options.every} steps" if self.sought.goal is not None else self.sought.awaited
            return [f"waits for a proof ({tried})", *trainer.words.awaited(trainer)]
        of = "points" if self.tuned.full_at is None else "boxes"
        return [f"waits for a proof (fine-tuning {self.done(trainer):,} of {self.options.steps:,}, on {of})"]

    def columns(self) -> dict[str, Any]:
        """Nothing of its own."""
        return {}

    def summary(self) -> dict[str, Any]:
        """What summary.json has of this phase: steps, proof, learned automaton."""
        found = {"began_at": self.began_at, "closed_at": self.closed_at, "proven_unquantised": self.proven_unquantised}
        if self.given_up:
            found["given_up"] = self.given_up
        if self.unproven is not None:
            found["unproven"] = self.unproven
        learned = self.sought.summary()
        return found | learned | ({"is_language": self.is_language} if learned else {})

    def state(self) -> dict[str, Any]:
        """Where it stands, and what it trains on."""
        tuned = None if self.tuned is None else self.tuned.state()
        at = {name: getattr(self, name) for name in KEPT}
        return {"tuned": tuned, **at, **self.sought.state()}

    def load(self, state: Mapping[str, Any], model: nn.Module) -> None:
        """Where it stood."""
        self.sought.load(state)
        for name in KEPT:
            setattr(self, name, state[name])
        if state["tuned"] is not None:
            assert self.sought.goal is not None, "it was found before"
            self.tuned = ChainTuner.load(state["tuned"], recurrent(model), self.sought.goal, self.seed)

    def outcome(self, model: nn.Module, weights: bytes, network: bytes, on_check: Callable[..., None]) -> Outcome:
        """The certificate of the trained model, or why there is none."""
        if self.sought.goal is None:
            return refused(weights, {"reason": self.sought.uncertified})
        files, known = {"weights": weights, "network": network}, self.points
        if known is None and self.tuned is not None:
            known = self.tuned.points.detach().cpu().double()
        return chain_outcome(model, self.data, self.seed, files, on_check, self.sought.learned, known)


def recurrent(model: nn.Module) -> Recurrent:
    """The model as what it is here."""
    assert isinstance(model, Recurrent), "validation refuses others"
    return model
