"""The options of looped. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regulargpt.models.options import TransformerOptions
from regulargpt.options import option


@dataclass(frozen=True)
class LoopedOptions(TransformerOptions):
    """looped; `n_layers` are the blocks of one pass.

    >>> [LoopedOptions("looped", **of).title for of in ({}, {"loops": 4}, {"loops_by": "length"})]
    ['looped', 'looped-4', 'length-looped']
    """

    loops: int = option(
        0,
        "Passes through the blocks; 0: more for longer words, as loops_by says.",
        least=0,
        most=1024,
        why="0: more for longer words",
    )
    loops_by: Literal["log", "length"] = option(
        "log", "Passes of a word of T symbols where loops = 0: ceil(log2 T) + 1, or T."
    )

    @property
    def title(self) -> str:
        if self.loops:
            return f"{self.name}-{self.loops}"
        return self.name if self.loops_by == "log" else f"{self.loops_by}-{self.name}"
