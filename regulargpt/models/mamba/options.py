"""The options of mamba. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regulargpt.models.mixing.options import MixingOptions
from regulargpt.options import option


@dataclass(frozen=True)
class MambaOptions(MixingOptions):
    """mamba; as in the paper there is no MLP behind the mixer.

    >>> MambaOptions("mamba").title, MambaOptions("mamba", range="signed", conv=0).title
    ('mamba', 'signed-mamba-conv0')
    """

    mlp: Literal["swiglu", "none"] = option("none", "What stands behind each mixer.")
    d_state: int = option(16, "Numbers of the state a channel.", least=1, most=65_536, why="a channel has at least 1")
    expand: int = option(
        2, "Channels, as a multiple of d_model.", least=1, most=1024, why="there are as many at least as d_model"
    )
    range: Literal["unit", "signed"] = option(
        "unit", "Where the factors of a step lie: from 0 to 1, or from -1 to 1, which can change a sign."
    )
    conv: Literal[0, 4] = option(4, "Symbols that a convolution sees before the recurrence; 0: there is none.")

    @property
    def title(self) -> str:
        return ("signed-" * (self.range == "signed")) + self.name + ("-conv0" * (self.conv == 0))

    def parameters(self) -> int:
        E, R = self.expand * self.d_model, -(-self.d_model // 16)
        return super().parameters() + self.n_layers * E * (3 * self.d_model + 2 * R + 3 * self.d_state)
