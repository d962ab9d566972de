"""The options of mamba2. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regulargpt.models.mixing.options import HeadsOptions
from regulargpt.options import option


@dataclass(frozen=True)
class Mamba2Options(HeadsOptions):
    """mamba2; as in its paper there is no MLP behind the mixer. Mamba-3 is published with `mlp=swiglu`.

    >>> Mamba2Options("mamba2").title, Mamba2Options("mamba2", version=3, d_state=8).title
    ('mamba2', 'mamba3-state-8')
    """

    mlp: Literal["swiglu", "none"] = option("none", "What stands behind each mixer.")
    version: int = option(
        2,
        "Of Mamba-2, or with 3 the update of Mamba-3, which also turns the state.",
        least=2,
        most=3,
        why="there are versions 2 and 3",
    )
    d_state: int = option(32, "Rows of the state of a head.", least=1, most=65_536, why="a state has at least 1 row")
    expand: int = option(
        2, "Channels, as a multiple of d_model.", least=1, most=1024, why="there are as many at least as d_model"
    )
    conv: int = option(
        4, "Symbols that the convolution of version 2 reaches; 0: there is none.", least=0, most=64, why="at least 0"
    )

    @property
    def title(self) -> str:
        has_conv = self.version == 2
        parts = {
            self.name if self.version == 2 else "mamba3": True,
            f"state-{self.d_state}": self.d_state != 32,
            f"expand-{self.expand}": self.expand != 2,
            f"conv-{self.conv}": has_conv and self.conv not in (0, 4),
            "no-conv": has_conv and not self.conv,
        }
        return "-".join(part for part, has in parts.items() if has)

    def parameters(self) -> int:
        return super().parameters() + self.n_layers * self.d_model * (3 * self.expand * self.d_model + 2 * self.d_state)

    def problems(self) -> Iterator[str]:
        if self.version == 3 and self.d_state % 2:
            yield f"d_state = {self.d_state}: version = 3 turns pairs of rows; give an even number"
        yield from super().problems()
