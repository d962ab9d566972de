"""The options that phases share which end in a proof. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regulargpt.options import option
from regulargpt.training.options import PhaseOptions

STEPS = "give a number of steps"


@dataclass(frozen=True)
class ProofOptions(PhaseOptions):
    """When a proof is tried."""

    every: int = option(
        100, "Steps between attempts at the proof; 0: no attempt.", least=0, why=f"{STEPS}, 0 for never"
    )

    @property
    def is_on(self) -> bool:
        """Whether a proof is requested."""
        return self.every > 0


@dataclass(frozen=True)
class AutomatonOptions(ProofOptions):
    """Of which automaton the proof is."""

    automaton: Literal["known", "learned"] = option(
        "known", "The language's own automaton, or one learned from the network's answers.", needs="every"
    )
    membership_queries_from: int = option(
        0,
        "Step from which the language is queried while no automaton is learned, and errors are taught; 0: never.",
        least=0,
        why="give a step, 0 for never",
        needs="every",
    )
