"""The options of a training phase. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from regulargpt.options import Options

if TYPE_CHECKING:
    from regulargpt.models.options import ModelOptions
    from regulargpt.objectives.options import ObjectiveOptions


@dataclass(frozen=True)
class PhaseOptions(Options):
    """The options of a phase beside the training on words."""

    name: str

    @property
    def is_on(self) -> bool:
        """Whether the phase takes part."""
        return True

    def refuse(self, model: ModelOptions, objective: ObjectiveOptions, language: str) -> str | None:
        """Why this model or objective cannot be trained so on a language or text; None if it can."""
        return None
