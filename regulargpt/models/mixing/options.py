"""The options that every network of mixers has. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regulargpt.models.options import RecurrentOptions
from regulargpt.options import option


@dataclass(frozen=True)
class MixingOptions(RecurrentOptions):
    """Pre-norm blocks of a mixer, which carries a state from symbol to symbol, and an MLP."""

    n_layers: int = option(2, "Blocks.", least=1, most=1024, why="a model has at least 1 layer", flag="--n-layers")
    mlp: Literal["swiglu", "none"] = option("swiglu", "What stands behind each mixer.")
    init: Literal["fan-in", "fla"] = option(
        "fan-in", "Start of matrices: N(0, 1/inputs), or N(0, 0.02^2) as flash-linear-attention has it."
    )

    def parameters(self) -> int:
        return self.n_layers * (4 + 8 * (self.mlp == "swiglu")) * self.d_model**2


@dataclass(frozen=True)
class HeadsOptions(MixingOptions):
    """Those whose mixer has heads."""

    n_heads: int = option(4, "Heads of the state.", least=1, most=65_536, why="a state has at least 1 head")

    def problems(self) -> Iterator[str]:
        if self.d_model % self.n_heads:
            yield f"d_model = {self.d_model} is not a multiple of model.n_heads = {self.n_heads}"
        yield from super().problems()
