"""The options that every network of mixers has. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

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
    backend: Literal["own", "fla"] = option(
        "own", "What computes the recurrence in training: our own form, or flash-linear-attention's GPU kernels."
    )

    widest: ClassVar[int | None] = None
    """The most channels of a head that its kernel takes."""

    def record(self) -> dict[str, Any]:
        return {key: value for key, value in super().record().items() if key != "backend"}

    def why_not_on(self, device: str) -> str | None:
        """The kernels need a GPU and their package.

        >>> HeadsOptions("gla", backend="fla").why_not_on("cpu")
        "model.backend = 'fla' trains on a GPU; choose --device cuda where there is one, or backend = 'own'"
        """
        if self.backend == "own":
            return None
        if device != "cuda":
            return "model.backend = 'fla' trains on a GPU; choose --device cuda where there is one, or backend = 'own'"
        missing = [name for name in ("fla", "einops", "triton") if find_spec(name) is None]
        said = "model.backend = 'fla': {} is not installed; pip install 'fla-core[cuda]', or choose 'own'"
        return said.format(missing[0]) if missing else None

    def problems(self) -> Iterator[str]:
        if self.d_model % self.n_heads:
            yield f"d_model = {self.d_model} is not a multiple of model.n_heads = {self.n_heads}"
        if self.backend == "fla" and self.widest and self.d_model // self.n_heads > self.widest:
            yield f"backend = 'fla': its kernel takes heads of at most {self.widest} channels; give more n_heads"
        yield from super().problems()
