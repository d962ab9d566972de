"""The options of pd-ssm. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regulargpt.models.mixing.options import MixingOptions
from regulargpt.options import option


@dataclass(frozen=True)
class PdSsmOptions(MixingOptions):
    """pd-ssm; as in the paper there is no MLP behind the mixer, and its norm stands after it.

    >>> PdSsmOptions("pd-ssm").title, PdSsmOptions("pd-ssm", variant="row", dictionary=8, d_state=16).title
    ('pd-ssm', 'row-pd-ssm-8-state-16')
    """

    mlp: Literal["swiglu", "none"] = option("none", "What stands behind each mixer.")
    variant: Literal["column", "row", "bank"] = option(
        "column",
        "What P has one 1 in: each column (the paper), each row (the code behind its table); bank: a symbol chooses "
        "one of the dictionary's matrices and mixes none.",
    )
    dictionary: int = option(
        6, "Matrices that P is made of.", least=1, most=1024, why="a dictionary has at least 1 matrix"
    )
    d_state: int = option(0, "Complex numbers of the state; 0: d_model.", least=0, most=65_536, why="not negative")
    gate_bias: float = option(
        0.0, "Where the last bias of |d| starts: 0, as published: a symbol fades the state by half; 3: by 5 %."
    )

    @property
    def title(self) -> str:
        kind = "" if self.variant == "column" else f"{self.variant}-"
        size = f"-state-{self.d_state}" if self.d_state not in (0, self.d_model) else ""
        return f"{kind}{self.name}" + (f"-{self.dictionary}" if self.dictionary != 6 else "") + size

    def parameters(self) -> int:
        N = self.d_state or self.d_model
        own = self.dictionary * N**2 + 4 * N * (self.d_model + N) + 4 * N * self.d_model
        return self.n_layers * (own + 8 * (self.mlp == "swiglu") * self.d_model**2)
