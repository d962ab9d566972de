"""The options of s4d. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regulargpt.models.mixing.options import MixingOptions
from regulargpt.options import option


@dataclass(frozen=True)
class S4dOptions(MixingOptions):
    """s4d; as in the paper a gate stands behind the recurrence, and no MLP.

    >>> S4dOptions("s4d", d_state=16).title
    's4d-state-16'
    """

    mlp: Literal["swiglu", "none"] = option("none", "What stands behind each mixer.")
    d_state: int = option(
        64, "Numbers of the state a channel, in pairs.", least=2, most=65_536, why="a channel has at least one pair"
    )

    @property
    def title(self) -> str:
        return self.name if self.d_state == 64 else f"{self.name}-state-{self.d_state}"

    def parameters(self) -> int:
        return super().parameters() + self.n_layers * 2 * self.d_model * (self.d_model + self.d_state)

    def problems(self) -> Iterator[str]:
        if self.d_state % 2:
            yield f"d_state = {self.d_state}: a complex number is a pair; give an even number"
        yield from super().problems()
