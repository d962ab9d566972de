"""A proof as a phase of a training: it is sought while words are trained on, then the network is trained for it.

What is sought, and how a network is trained for it, is a strategy: of trees, of recurrent networks, of stacks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor, nn

from languages.errors import UserError, shown
from regulargpt.certificate.outcome import Outcome, Progress
from regulargpt.certificate.verdict import Verdict, replaces_none, verdict
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.data.language import LanguageData
from regulargpt.storage.folder import RunFolder
from regulargpt.training.phase import Steps

if TYPE_CHECKING:
    from regulargpt.training.trainer import Trainer

Weights = Mapping[str, Tensor]
Report = Mapping[str, Any]


@dataclass(frozen=True)
class Open:
    """Where the proof stands while it is not closed. So many trainings for it were `given_up`."""

    given_up: int = field(default=0, kw_only=True)

    def last_step(self, trainer: Trainer) -> int:
        """The step at which training ends, as far as is known: that of all steps."""
        return trainer.config.training.steps

    def known_end(self, trainer: Trainer) -> int | None:
        """That step, if it no longer depends on what comes; else None."""
        return None

    def awaited(self, trainer: Trainer, tried: str) -> list[str]:
        """What it waits for: a proof, which is `tried` so, and what words wait for."""
        return [f"waits for a proof ({tried})", *trainer.words.awaited(trainer)]


class Seeking(Open):
    """Words are trained on, and the proof is tried now and then."""


@dataclass(frozen=True)
class Tuning(Open, Steps):
    """The network is trained for the proof, by steps of its own."""

    def after(self, trainer: Trainer, loss: float) -> None:
        """Only the step counts."""


T = TypeVar("T", bound=Tuning)


@dataclass(frozen=True)
class Closed(Generic[T]):
    """Training ends at this step; `last` is how it stood then."""

    last: Seeking | T
    at: int


class Strategy(ABC, Generic[T]):
    """What the proof of one kind of network needs."""

    replaces_states: ClassVar[bool] = True
    """Whether a certificate may be about the network with its states replaced only."""
    noise: float = 0.0
    """Of each step for the proof, for a model that has some."""

    def __init__(self, options: Any, config: RunConfig, data: LanguageData):
        self.options, self.seed, self.data = options, config.seed, data

    @abstractmethod
    def seek(self, now: Seeking, trainer: Trainer) -> Seeking | T | Closed[T]:
        """A step on words was taken: try the proof, if it is time; where the training stands then."""

    @abstractmethod
    def tune(self, now: T, trainer: Trainer) -> Seeking | T | Closed[T]:
        """A step for the proof was taken: where the training stands then."""

    @abstractmethod
    def tried(self) -> str:
        """When the proof is tried, or what the last attempt came to."""

    def columns(self) -> dict[str, Any]:
        """What a row of metrics.jsonl says of it."""
        return {}

    @abstractmethod
    def summary(self, now: Seeking | T | Closed[T], report: Report) -> dict[str, Any]:
        """What summary.json says of it; `report` is that of the conclusion, empty before."""

    @abstractmethod
    def notes(self) -> dict[str, Any]:
        """What a checkpoint keeps beside where the training stands."""

    @abstractmethod
    def recall(self, notes: Mapping[str, Any]) -> None:
        """Go back to what `notes` gave."""

    @abstractmethod
    def saved(self, now: T) -> dict[str, Any]:
        """A training for the proof, for a checkpoint."""

    @abstractmethod
    def loaded(self, saved: Mapping[str, Any], given_up: int, model: nn.Module) -> T:
        """The training that was `saved`; what `notes` gave has been recalled before."""

    @abstractmethod
    def outcome(self, now: Open, model: nn.Module, files: Mapping[str, bytes], on_check: Progress) -> Outcome:
        """The certificate of the trained model, by its files `weights` and `network`; or why there is none."""


class ProofPhase(Generic[T]):
    """The phase: where the proof stands (`now`), and the strategy that says how to go on from there.

    Raises what the strategy raises for a language that has nothing to prove.
    """

    timer = "certify_seconds"
    name: ClassVar[str]
    strategy_of: ClassVar[type[Strategy[Any]]]

    def __init__(self, options: Any, config: RunConfig, data: Data):
        assert isinstance(data, LanguageData), "validation refuses what has no automaton"
        self.strategy: Strategy[T] = self.strategy_of(options, config, data)
        self.now: Seeking | T | Closed[T] = Seeking()
        self.report: Report = {}

    @property
    def last(self) -> Seeking | T:
        """Where it stands, or stood as it was closed."""
        return self.now.last if isinstance(self.now, Closed) else self.now

    @property
    def is_active(self) -> bool:
        """Whether the network is trained for the proof."""
        return not isinstance(self.last, Seeking)

    def steps(self, trainer: Trainer) -> Steps:
        """What takes the next step: the training for the proof, words before."""
        return trainer.words if isinstance(last := self.last, Seeking) else last

    def optimiser(self, trainer: Trainer) -> torch.optim.Optimizer:
        """What moves the weights in the next step."""
        return self.steps(trainer).optimiser(trainer)

    def lr(self, trainer: Trainer) -> float:
        """The learning rate of the next step."""
        return self.steps(trainer).lr(trainer)

    def noise(self) -> float:
        """The noise of the next step."""
        return self.strategy.noise

    def backward(self, trainer: Trainer) -> tuple[float, Mapping[str, float]]:
        """Gradients of the next step."""
        return self.steps(trainer).backward(trainer)

    def after(self, trainer: Trainer, loss: float) -> None:
        """A step was taken."""
        self.steps(trainer).after(trainer, loss)

    def between(self, trainer: Trainer) -> None:
        """Go on as the strategy says."""
        if isinstance(self.now, Seeking):
            self.now = self.strategy.seek(self.now, trainer)
        elif not isinstance(self.now, Closed):
            self.now = self.strategy.tune(self.now, trainer)

    def last_step(self, trainer: Trainer) -> int:
        """Where it was closed; before, as far as is known."""
        return self.now.at if isinstance(self.now, Closed) else self.now.last_step(trainer)

    def known_end(self, trainer: Trainer) -> int | None:
        """Known once it is closed, or where it will be."""
        return self.now.at if isinstance(self.now, Closed) else self.now.known_end(trainer)

    def awaited(self, trainer: Trainer) -> list[str]:
        """A proof, and what the network is doing for it."""
        return self.last.awaited(trainer, self.strategy.tried())

    def columns(self) -> dict[str, Any]:
        """What a row of metrics.jsonl says of it."""
        return self.strategy.columns()

    def summary(self) -> dict[str, Any]:
        """What summary.json has of this phase."""
        return self.strategy.summary(self.now, self.report)

    def state(self) -> dict[str, Any]:
        """Where it stands, and what the strategy notes."""
        last, at = self.last, self.now.at if isinstance(self.now, Closed) else None
        tuning = None if isinstance(last, Seeking) else self.strategy.saved(last)
        return {"given_up": last.given_up, "tuning": tuning, "closed_at": at, **self.strategy.notes()}

    def load(self, state: Mapping[str, Any], model: nn.Module) -> None:
        """Where it stood."""
        self.strategy.recall(state)
        saved, given_up, at = state["tuning"], state["given_up"], state["closed_at"]
        last = Seeking(given_up=given_up) if saved is None else self.strategy.loaded(saved, given_up, model)
        self.now = last if at is None else Closed(last, at)

    def conclude(self, model: nn.Module, weights: bytes, network: bytes, on_check: Progress) -> Outcome:
        """What is proven of the trained model, by the files that say what it is."""
        outcome = self.strategy.outcome(self.last, model, {"weights": weights, "network": network}, on_check)
        self.report = outcome.report
        return outcome

    @classmethod
    def restore(cls, folder: RunFolder, summary: dict[str, Any]) -> dict[str, Any]:
        """Write the certificate, or why there is none, if that is missing; the summary with what the checker says now.

        Raises UserError where a proof that there was is not found again.
        """
        if folder.owes_outcome(summary):
            from regulargpt.runs.certify import certificate_report

            report = certificate_report(folder)
            if summary["proven"] and not report["proven"]:
                raise UserError(f"{shown(folder.path)} was proven, and is not again: {report['reason']}; train it anew")
        if summary.get("proven") is None:
            return summary
        checked, phases = verdict(folder, summary["language"]), summary["phases"]
        of_phase = {**phases.get(cls.name, {}), **cls.said_now(folder, checked)}
        return summary | {"proven": checked.proven, "phases": {**phases, cls.name: of_phase}}

    @classmethod
    def said_now(cls, folder: RunFolder, checked: Verdict) -> dict[str, Any]:
        """What the checker says now, as a summary has it."""
        replaces = cls.strategy_of.replaces_states
        if not checked.is_accepted:
            return {**({"proven_unquantised": None} if replaces else {}), "unproven": checked.reason}
        return {"is_language": checked.proven, "proven_unquantised": replaces_none(folder)} if replaces else {}


def kept(model: nn.Module) -> Weights:
    """The weights, to go back to: copied, for a state dict shares its tensors with the model, which is trained on."""
    return deepcopy(model.state_dict())


def unproven(report: Report) -> dict[str, str]:
    """Why there is no certificate, as a summary has it."""
    return {"unproven": report["reason"]} if "reason" in report else {}


def is_last(trainer: Trainer) -> bool:
    """Whether the training has had all its steps."""
    return trainer.step_count >= trainer.config.training.steps
