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
    ('mamba', 'signed-mamba-no-conv')
    """

    mlp: Literal["swiglu", "none"] = option("none", "What stands behind each mixer.")
    d_state: int = option(16, "Numbers of the state a channel.", least=1, most=65_536, why="a channel has at least 1")
    expand: int = option(
        2, "Channels, as a multiple of d_model.", least=1, most=1024, why="there are as many at least as d_model"
    )
    range: Literal["unit", "signed"] = option(
        "unit", "Where the factors of a step lie: from 0 to 1, or from -1 to 1, which can change a sign."
    )
    conv: int = option(
        4, "Symbols that the short convolution reaches; 0: there is none.", least=0, most=64, why="at least 0"
    )

    @property
    def title(self) -> str:
        parts = {
            "signed": self.range == "signed",
            self.name: True,
            f"state-{self.d_state}": self.d_state != 16,
            f"expand-{self.expand}": self.expand != 2,
            f"conv-{self.conv}": self.conv not in (0, 4),
            "no-conv": not self.conv,
        }
        return "-".join(part for part, has in parts.items() if has)

    def parameters(self) -> int:
        E, R = self.expand * self.d_model, -(-self.d_model // 16)
        return super().parameters() + self.n_layers * E * (3 * self.d_model + 2 * R + 3 * self.d_state)
