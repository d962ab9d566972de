"""A strategy for a proof about an automaton: the language's, or that of the network's own answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Generic

from torch import nn

from languages.convert.machines import AnyMachine
from regulargpt.certificate.outcome import Outcome, Progress, refused
from regulargpt.certificate.proof_phase import Closed, Open, Report, Seeking, Strategy, T, unproven
from regulargpt.certificate.tuning.target import Goal, TargetAutomaton
from regulargpt.config.schema import RunConfig
from regulargpt.data.language import LanguageData
from regulargpt.training.proof_options import AutomatonOptions

Files = Mapping[str, bytes]


class TowardsAutomaton(Strategy[T], Generic[T, Goal]):
    """A strategy whose proof is about an automaton that is known or learned (`sought`)."""

    def __init__(self, options: AutomatonOptions, config: RunConfig, data: LanguageData):
        super().__init__(options, config, data)
        self.sought = TargetAutomaton(options, config.seed, data, self.goal_of)

    @abstractmethod
    def goal_of(self, machine: AnyMachine | None) -> Goal:
        """What a network has to be for a learned machine, or for the language's. Raises UserError where that is too
        large, or trivial."""

    @abstractmethod
    def facts(self, now: Seeking | T | Closed[T]) -> dict[str, Any]:
        """What the summary has of the steps, where `proven_unquantised` stands, and of what was given up."""

    @abstractmethod
    def certificate(self, goal: Goal, now: Open, model: nn.Module, files: Files, on_check: Progress) -> Outcome:
        """The certificate that a model is what it has to be, or why there is none."""

    def tried(self) -> str:
        """When the proof is tried, or why there is no automaton yet."""
        return self.sought.awaited if self.sought.goal is None else f"tried every {self.options.every} steps"

    def summary(self, now: Seeking | T | Closed[T], report: Report) -> dict[str, Any]:
        """Steps, proof, learned automaton."""
        as_it_is = {"proven_unquantised": report.get("unquantised", {}).get("proven")}
        learned, equal = self.sought.summary(), report.get("learned", {}).get("equal")
        return self.facts(now) | as_it_is | unproven(report) | learned | ({"is_language": equal} if learned else {})

    def notes(self) -> dict[str, Any]:
        """What there is of a learned automaton."""
        return self.sought.state()

    def recall(self, notes: Mapping[str, Any]) -> None:
        """What there was of it."""
        self.sought.load(notes)

    def outcome(self, now: Open, model: nn.Module, files: Files, on_check: Progress) -> Outcome:
        """The certificate of the trained model, or why there is none: maybe no automaton was learned."""
        if self.sought.goal is None:
            return refused(files["weights"], {"reason": self.sought.uncertified})
        return self.certificate(self.sought.goal, now, model, files, on_check)
