"""The proof of a stack network in training: tried now and then, its wrong words trained on, until it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from regulargpt.certificate.outcome import Outcome, Progress
from regulargpt.certificate.proof_phase import (
    Closed,
    Open,
    ProofPhase,
    Report,
    Seeking,
    Strategy,
    Tuning,
    Weights,
    kept,
    unproven,
)
from regulargpt.certificate.stack.fewer import Fewer
from regulargpt.certificate.stack.outcome import reason_of, stack_outcome
from regulargpt.certificate.stack.search import attempt, machine_of
from regulargpt.config.schema import RunConfig
from regulargpt.data.language import LanguageData
from regulargpt.finite.stack_product import Proven, UndecidedProduct, Word
from regulargpt.models.stack_rnn.model import StackRnn
from regulargpt.training.stack_proof import StackProofOptions

if TYPE_CHECKING:
    from regulargpt.training.trainer import Trainer

BACKS_OFF = 3  # times the loss below which noise grows, from which on a hardened network gets less of it
SOONER = 5  # times as often a proof is tried that rounding alone, or the size of the product, was in the way of
ADVANCE = 0.05  # of hardening, that has to come within the patience of the phase
WAITS = 5  # times `every` steps between two tries with fewer units, which take as long as hundreds of steps


@dataclass(frozen=True)
class Hard(Tuning):
    """Training has hardened the network: words are trained on as before, at a `share` of the rate."""

    share: float
    full_noise: float

    def optimiser(self, trainer: Trainer) -> torch.optim.Optimizer:
        """That of the words."""
        return trainer.optimiser

    def lr(self, trainer: Trainer) -> float:
        """A share of that of the words."""
        return self.share * trainer.words.lr(trainer)

    def backward(self, trainer: Trainer) -> tuple[float, Mapping[str, float]]:
        """As on words."""
        return trainer.words.backward(trainer)

    def after(self, trainer: Trainer, loss: float) -> None:
        """A step on words was taken; what loss there is on words near wrong ones says nothing of the others."""
        words = trainer.words
        if not words.wrong_at(trainer.step_count - 1):
            words.after(trainer, loss)
            # A hard network unlearns more by growing soft again than by a loss that is a little too high.
            if words.progress.loss < BACKS_OFF * words.plan.noise.loss:
                words.progress = replace(words.progress, noise=self.full_noise)


@dataclass(frozen=True)
class Cooling(Hard):
    """The proof held at a step, with the weights `before`: the rate falls to 0 in `steps` steps, up to `end`.

    Should the proof be lost on the way, the network is `taken_back`.
    """

    proven_at: int
    before: Weights
    end: int
    steps: int
    taken_back: bool = False

    def lr(self, trainer: Trainer) -> float:
        """Falling to 0."""
        return self.share * ((self.end - trainer.step_count) / max(1, self.steps)) * trainer.words.lr(trainer)

    def last_step(self, trainer: Trainer) -> int:
        """The end of the cooldown."""
        return self.end

    def known_end(self, trainer: Trainer) -> int | None:
        """Known since the proof holds."""
        return self.end

    def after(self, trainer: Trainer, loss: float) -> None:
        """Only the step counts."""


@dataclass(frozen=True)
class HardeningProgress:
    """How far hardening has come, and at which step it last came farther."""

    hardest: float = 0.0
    at: int = 0

    def after(self, level: float, step: int, full: float) -> HardeningProgress:
        """After a step at this level of noise: the loss under such noise is about the one above which noise shrinks.

        With next to none of it, the words are still being learned, or again.
        """
        if level < ADVANCE or level >= min(full, self.hardest + ADVANCE):
            return HardeningProgress(max(level, self.hardest), step)
        return self

    def stuck(self, at: int) -> dict[str, Any]:
        """That training ended for it at a step, as a summary has it."""
        waited = at - self.at
        why = f"hardening came to {self.hardest:.2f} of 1, and not {ADVANCE} farther in {waited:,} steps"
        return {
            "at": at,
            "hardest": round(self.hardest, 3),
            "since": self.at,
            "why": f"{why}; try another --seed",
        }


@dataclass
class Notes:
    """What the attempts came to: how many there were, the whole questions that were wrong, the latest last, and how
    many in all; why the last was no proof, and whether that was undecided; how many units were held constant, if that
    made it a proof, and from which step on that is tried again."""

    attempts: int = 0
    wrong: list[Word] = field(default_factory=list)
    n_wrong: int = 0
    reason: str | None = None
    is_undecided: bool = False
    held: int | None = None
    fewer_from: int = 0


Now = Seeking | Hard | Closed[Hard]


class Stacks(Strategy[Hard]):
    """It begins once training has hardened the network, and trains on words as before, at a lower rate.

    Every `every` steps the product is tried. Wrong words go among the training words. Where rounding alone is in the
    way, units that no answer needs are held constant. Once it is a proof, the rate falls to 0. Raises UserError for a
    language whose machine has no stack, or nothing to prove.
    """

    replaces_states = False

    def __init__(self, options: StackProofOptions, config: RunConfig, data: LanguageData):
        super().__init__(options, config, data)
        self.last, self.machine = config.training.steps, machine_of(data.task)
        # This phase is of networks that are hardened: all of it.
        self.noise = 0.0 if config.model.noise is None else config.model.noise.full
        self.noted, self.hardening = Notes(), HardeningProgress()

    def seek(self, now: Seeking, trainer: Trainer) -> Now:
        """Where the network is hard, try the proof if it is time; where hardening stands still, end."""
        words, step, options = trainer.words, trainer.step_count, self.options
        self.hardening = self.hardening.after(words.progress.noise, step, self.noise)
        # Noise that grows with a low loss shrinks with a high loss: then the words have it back.
        if words.in_last_stage and words.progress.noise >= self.noise:
            share = options.rate if self.noise else 1.0  # what is not hardened has only begun
            if self.is_due(step) and self.prove(trainer, self.last):
                end = min(self.last, step + options.cooldown)
                return Cooling(share, self.noise, step, kept(trainer.model), end, options.cooldown)
            return Hard(share, self.noise)
        return Closed(now, step) if 0 < options.patience <= step - self.hardening.at else Seeking()

    def tune(self, now: Hard, trainer: Trainer) -> Now:
        """The same again; at the end of the cooldown, whether the proof still holds."""
        if not isinstance(now, Cooling):
            return self.seek(Seeking(), trainer)
        if trainer.step_count < now.end:
            return now
        if self.prove(trainer, now.end):
            return Closed(now, now.end)
        trainer.model.load_state_dict(now.before)
        return Closed(replace(now, taken_back=True), now.end)

    def is_due(self, step: int) -> bool:
        """Whether the proof is to be tried now, of a network that is as hard as training makes it."""
        every = self.options.every
        soon = self.noted.is_undecided and step % max(1, every // SOONER) == 0
        return step % every == 0 or step == self.last or soon

    def prove(self, trainer: Trainer, last: int) -> bool:
        """Try the proof, of a training up to the step `last`; train on words near wrong ones. Whether it holds."""
        options, noted = self.options, self.noted
        tried = attempt(trainer.model, self.machine, options.lag, options.pairs, max(1, options.words))
        noted.attempts, noted.is_undecided = noted.attempts + 1, isinstance(tried.verdict, UndecidedProduct)
        if isinstance(tried.verdict, Proven) or (noted.is_undecided and self.prove_with_fewer(trainer, last)):
            noted.reason = None
            return True
        noted.reason = reason_of(tried, self.data.task)
        if tried.wrong:
            self.learn(tried.wrong, trainer)
        return False

    def prove_with_fewer(self, trainer: Trainer, last: int) -> bool:
        """Try it with fewer units, and keep to these if it is a proof."""
        step, options, noted = trainer.step_count, self.options, self.noted
        if step < noted.fewer_from and step != last:
            return False
        noted.fewer_from = step + WAITS * options.every
        assert isinstance(trainer.model, StackRnn), "validation refuses others"
        fewer = Fewer(trainer.model, self.machine, options.lag, options.pairs, noted.wrong)
        if not fewer.proven():
            return False
        trainer.model.load_state_dict(fewer.model.state_dict())
        noted.held = fewer.held
        return True

    def learn(self, wrong: Sequence[Word], trainer: Trainer) -> None:
        """Train on words near wrong ones, and near those before, the latest `words` that are no longer than others."""
        longest, noted = trainer.config.data.train_len, self.noted
        new = dict.fromkeys(word for word in map(self.data.whole, wrong) if self.data.symbols(word) <= longest)
        noted.n_wrong += len(new.keys() - noted.wrong)
        known = [*(word for word in noted.wrong if word not in new), *new]
        noted.wrong = known[len(known) - min(len(known), self.options.words) :]
        trainer.words.wrong, trainer.words.trains_on_errors = noted.wrong, True

    def tried(self) -> str:
        """What the last attempt came to."""
        return f"tried every {self.options.every} steps" if self.noted.reason is None else self.noted.reason

    def columns(self) -> dict[str, Any]:
        """How many wrong words there were."""
        return {"wrong_words": self.noted.n_wrong}

    def summary(self, now: Now, report: Report) -> dict[str, Any]:
        """When the proof held, attempts, wrong words trained on."""
        last = now.last if isinstance(now, Closed) else now
        proven_at, taken_back = (last.proven_at, last.taken_back) if isinstance(last, Cooling) else (None, False)
        summary: dict[str, Any] = {
            "proven_at": proven_at,
            "attempts": self.noted.attempts,
            "wrong_words": self.noted.n_wrong,
        }
        if self.noted.held is not None:
            summary["units_held"] = self.noted.held
        if taken_back:
            summary["taken_back"] = True
        if isinstance(now, Closed) and isinstance(last, Seeking):
            summary["stuck"] = self.hardening.stuck(now.at)
        return summary | unproven(report)

    def notes(self) -> dict[str, Any]:
        """What attempts came to, and hardening."""
        return {"noted": dataclasses.asdict(self.noted), "hardening": dataclasses.asdict(self.hardening)}

    def recall(self, notes: Mapping[str, Any]) -> None:
        """What they came to."""
        self.noted, self.hardening = Notes(**notes["noted"]), HardeningProgress(**notes["hardening"])
        self.noted.wrong = [tuple(word) for word in self.noted.wrong]

    def saved(self, now: Hard) -> dict[str, Any]:
        """The weights that were proven, if there are any."""
        return {each.name: getattr(now, each.name) for each in dataclasses.fields(now)}

    def loaded(self, saved: Mapping[str, Any], given_up: int, model: nn.Module) -> Hard:
        """As it was saved."""
        return Cooling(**saved) if "proven_at" in saved else Hard(**saved)

    def outcome(self, now: Open, model: nn.Module, files: Mapping[str, bytes], on_check: Progress) -> Outcome:
        """By the whole product."""
        weights, network = files["weights"], files["network"]
        return stack_outcome(self.data.task, model, weights, network, on_check, self.options.lag)


class StackProof(ProofPhase[Hard]):
    """The proof of a stack network."""

    name, strategy_of = "stack_proof", Stacks
