"""The proof of a stack network in training: tried now and then, its wrong words trained on, until it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from regulargpt.certificate.outcome import Outcome
from regulargpt.certificate.restored import restored
from regulargpt.certificate.stack.fewer import Fewer
from regulargpt.certificate.stack.outcome import reason_of, stack_outcome
from regulargpt.certificate.stack.search import attempt, machine_of
from regulargpt.certificate.verdict import Verdict
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.data.language import LanguageData
from regulargpt.finite.stack_product import Proven, Undecided, Word
from regulargpt.models.stack_rnn.model import StackRnn
from regulargpt.storage.folder import RunFolder
from regulargpt.training.stack_proof import StackProofOptions

if TYPE_CHECKING:
    from regulargpt.training.trainer import Trainer


def now(folder: RunFolder, found: Verdict) -> dict[str, Any]:
    """What the checker says now, as a summary has it."""
    return {} if found.is_accepted else {"unproven": found.reason}


BACKS_OFF = 3  # times the loss below which noise grows, from which on a hardened network gets less of it
SOONER = 5  # times as often a proof is tried that rounding alone, or the size of the product, was in the way of
ADVANCE = 0.05  # of hardening, that has to come within the patience of the phase
WAITS = 5  # times `every` steps between two tries with fewer units, which take as long as hundreds of steps


class StackProof:
    """The phase. It begins once training has hardened the network, and trains on words as before, at a lower rate.

    Every `every` steps the product is tried. Wrong words go among the training words. Where rounding alone is in the
    way, units that no answer needs are held constant. Once it is a proof, the rate falls to 0. Raises UserError for a
    language whose machine has no stack, or nothing to prove.
    """

    name, timer = "stack_proof", "certify_seconds"

    def __init__(self, options: StackProofOptions, config: RunConfig, data: Data):
        assert isinstance(data, LanguageData), "validation refuses what has no machine"
        self.options, self.data, self.steps = options, data, config.training.steps
        self.machine = machine_of(data.task)
        self.full_noise = 0.0 if config.model.noise is None else config.model.noise.full
        self.attempts = 0
        self.wrong: list[Word] = []  # whole questions, the latest last
        self.n_wrong = 0
        self.reason: str | None = None  # why the last attempt was no proof
        self.is_active = False
        self.is_undecided = False  # and not wrong, in the last attempt
        self.was_near = False  # whether the last step was on words near wrong ones
        self.held: int | None = None  # units that were held constant, if that made it a proof
        self.fewer_from = 0  # the step from which it is tried with fewer units
        self.proven_at: int | None = None
        self.hardest, self.harder_at = 0.0, 0  # how far hardening has come, and at which step it last came farther
        self.stuck_at: int | None = None  # the step at which it had come no farther for too long
        self.before: dict[str, Any] | None = None  # the weights that were proven
        self.taken_back = False

    def optimiser(self, trainer: Trainer) -> torch.optim.Optimizer:
        """That of the words."""
        return trainer.optimiser

    def lr(self, trainer: Trainer) -> float:
        """A share of that of the words, falling to 0 once the proof holds."""
        share = self.options.rate if self.full_noise else 1.0  # what is not hardened has only begun
        if self.proven_at is not None:
            share *= (self.last_step(trainer) - trainer.step_count) / max(1, self.options.cooldown)
        return share * trainer.words.lr(trainer)

    def noise(self) -> float:
        """All of it: this phase is of networks that are hardened."""
        return self.full_noise

    def backward(self, trainer: Trainer) -> tuple[float, Mapping[str, float]]:
        """As on words."""
        self.was_near = trainer.words.near_wrong(trainer.step_count) is not None
        return trainer.words.backward(trainer)

    def after(self, trainer: Trainer, loss: float) -> None:
        """A step on words was taken; what loss there is on words near wrong ones says nothing of the others."""
        words = trainer.words
        if self.proven_at is None and not self.was_near:
            words.after(trainer, loss)
            # A hard network unlearns more by growing soft again than by a loss that is a little too high.
            if words.progress.loss < BACKS_OFF * words.plan.noise.loss:
                words.progress = replace(words.progress, noise=self.full_noise)

    def between(self, trainer: Trainer) -> None:
        """Try the proof, if it is time; at the end of the cooldown, whether it still holds."""
        if self.proven_at is not None:
            if trainer.step_count == self.last_step(trainer) and not self.holds(trainer):
                assert self.before is not None, "kept when the proof held"
                trainer.model.load_state_dict(self.before)
                self.taken_back = True
            return
        words = trainer.words
        # Noise that grows with a low loss shrinks with a high one: then the words have it back.
        self.is_active = words.in_last_stage and words.progress.noise >= self.full_noise
        self.watch_hardening(words.progress.noise, trainer.step_count)
        if self.asks(trainer) and self.holds(trainer):
            self.proven_at = trainer.step_count
            # Copied: a state dict shares its tensors with the model, which goes on being trained.
            self.before = deepcopy(trainer.model.state_dict())

    def watch_hardening(self, level: float, step: int) -> None:
        """Notice where it stands still: the loss under such noise is about the one above which noise shrinks.

        With next to none of it, the words are still being learned, or again.
        """
        if level < ADVANCE or level >= min(self.full_noise, self.hardest + ADVANCE):
            self.hardest, self.harder_at = max(level, self.hardest), step
        elif self.options.patience and step - self.harder_at >= self.options.patience:
            self.stuck_at = step

    def asks(self, trainer: Trainer) -> bool:
        """Whether the proof is to be tried now: of a network that is as hard as training makes it."""
        step, every = trainer.step_count, self.options.every
        soon = self.is_undecided and step % max(1, every // SOONER) == 0
        return self.is_active and (step % every == 0 or step == self.last_step(trainer) or soon)

    def holds(self, trainer: Trainer) -> bool:
        """Try the proof; of a wrong word, that words near it are trained on."""
        options = self.options
        found = attempt(trainer.model, self.machine, options.lag, options.pairs, max(1, options.words))
        self.attempts, self.is_undecided = self.attempts + 1, isinstance(found.verdict, Undecided)
        if isinstance(found.verdict, Proven):
            self.reason = None
            return True
        if self.is_undecided and self.holds_with_fewer(trainer):
            self.reason = None
            return True
        self.reason = reason_of(found, self.data.task)
        if found.wrong:
            self.learn(found.wrong, trainer)
        return False

    def holds_with_fewer(self, trainer: Trainer) -> bool:
        """Try it with fewer units, and keep to these if it is a proof."""
        step, options = trainer.step_count, self.options
        if step < self.fewer_from and step != self.last_step(trainer):
            return False
        self.fewer_from = step + WAITS * options.every
        assert isinstance(trainer.model, StackRnn), "validation refuses others"
        fewer = Fewer(trainer.model, self.machine, options.lag, options.pairs, self.wrong)
        if not fewer.proven():
            return False
        trainer.model.load_state_dict(fewer.model.state_dict())
        self.held = fewer.held
        return True

    def learn(self, wrong: Sequence[Word], trainer: Trainer) -> None:
        """Train on words near wrong ones, and near those before, the latest `words` that are no longer than others."""
        longest = trainer.config.data.train_len
        new = dict.fromkeys(word for word in map(self.data.whole, wrong) if self.data.symbols(word) <= longest)
        self.n_wrong += len(new.keys() - self.wrong)
        kept = [*(word for word in self.wrong if word not in new), *new]
        self.wrong = kept[len(kept) - min(len(kept), self.options.words) :]
        trainer.words.wrong, trainer.words.trains_on_errors = self.wrong, True

    def last_step(self, trainer: Trainer) -> int:
        """The end of the cooldown once the proof holds; before, where hardening got stuck, or that of all steps."""
        if self.proven_at is not None:
            return min(self.steps, self.proven_at + self.options.cooldown)
        return self.steps if self.stuck_at is None else self.stuck_at

    def known_end(self, trainer: Trainer) -> int | None:
        """Known once the proof holds."""
        return None if self.proven_at is None else self.last_step(trainer)

    def awaited(self, trainer: Trainer) -> list[str]:
        """A proof, and what the last attempt came to."""
        tried = f"tried every {self.options.every} steps" if self.reason is None else self.reason
        return [f"waits for a proof ({tried})", *trainer.words.awaited(trainer)]

    def columns(self) -> dict[str, Any]:
        """How many wrong words there were."""
        return {"wrong_words": self.n_wrong}

    def summary(self) -> dict[str, Any]:
        """What summary.json has of this phase: attempts, wrong words trained on, when the proof held."""
        found: dict[str, Any] = {"proven_at": self.proven_at, "attempts": self.attempts, "wrong_words": self.n_wrong}
        if self.held is not None:
            found["units_held"] = self.held
        if self.taken_back:
            found["taken_back"] = True
        if self.stuck_at is not None:
            waited = self.stuck_at - self.harder_at
            why = f"hardening came to {self.hardest:.2f} of 1, and not {ADVANCE} farther in {waited:,} steps"
            why += "; try another --seed"
            found["stuck"] = {
                "at": self.stuck_at,
                "hardest": round(self.hardest, 3),
                "since": self.harder_at,
                "why": why,
            }
        return found | ({} if self.reason is None else {"unproven": self.reason})

    def state(self) -> dict[str, Any]:
        """Where it stands, and the weights that were proven."""
        return {
            "is_active": self.is_active,
            "is_undecided": self.is_undecided,
            "attempts": self.attempts,
            "wrong": self.wrong,
            "n_wrong": self.n_wrong,
            "reason": self.reason,
            "held": self.held,
            "fewer_from": self.fewer_from,
            "hardest": self.hardest,
            "harder_at": self.harder_at,
            "stuck_at": self.stuck_at,
            "proven_at": self.proven_at,
            "before": self.before,
            "taken_back": self.taken_back,
        }

    def load(self, state: Mapping[str, Any], model: nn.Module) -> None:
        """Where it stood."""
        for name, value in state.items():
            setattr(self, name, value)
        self.wrong = [tuple(word) for word in state["wrong"]]

    @staticmethod
    def restore(folder: RunFolder, summary: dict[str, Any]) -> dict[str, Any]:
        """The certificate, or why there is none; the summary with what the checker says of it now."""
        return restored(folder, summary, StackProof.name, now)

    def conclude(self, model: nn.Module, weights: bytes, network: bytes, on_check: Callable[..., None]) -> Outcome:
        """What is proven of the trained model, by the files that say what it is."""
        found = stack_outcome(self.data.task, model, weights, network, on_check, self.options.lag)
        self.reason = found.report.get("reason")
        return found
