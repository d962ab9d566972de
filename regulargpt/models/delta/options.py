"""The options of delta. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from regulargpt.models.mixing.options import HeadsOptions
from regulargpt.options import option


@dataclass(frozen=True)
class DeltaOptions(HeadsOptions):
    """delta.

    >>> DeltaOptions("delta").title, DeltaOptions("delta", range="signed", gate=True, householders=2).title
    ('delta', 'signed-gated-delta-product-2')
    >>> DeltaOptions("delta", gate=True, output_gate="no", conv=0).title
    'gated-delta-no-output-gate-no-conv'
    """

    householders: int = option(
        1, "Keys, values and strengths of a symbol: DeltaProduct has more than 1.", least=1, most=4, why="at least 1"
    )
    gate: bool = option(False, "Whether a symbol also shrinks the state: Gated DeltaNet.")
    range: Literal["unit", "signed"] = option(
        "unit", "Eigenvalues of a step along a key: between 0 and 1, or between -1 and 1."
    )
    output_gate: Literal["auto", "yes", "no"] = option(
        "auto", "Whether outputs have a gate; auto: as published, where the state has one."
    )
    conv: int = option(
        4, "Symbols that the short convolution reaches; 0: there is none.", least=0, most=64, why="at least 0"
    )

    def arguments(self) -> dict[str, Any]:
        return super().arguments() | {"output_gate": "yes" if self.gates_outputs else "no"}

    @property
    def gates_outputs(self) -> bool:
        """Whether outputs have a gate."""
        return self.gate if self.output_gate == "auto" else self.output_gate == "yes"

    @property
    def title(self) -> str:
        parts = {
            "signed": self.range == "signed",
            "gated": self.gate,
            self.name: True,
            f"product-{self.householders}": self.householders > 1,
            "output-gate": self.gates_outputs and not self.gate,
            "no-output-gate": self.gate and not self.gates_outputs,
            f"conv-{self.conv}": self.conv not in (0, 4),
            "no-conv": not self.conv,
        }
        return "-".join(part for part, has in parts.items() if has)

    def parameters(self) -> int:
        return super().parameters() + self.n_layers * (self.householders - 1) * 2 * self.d_model**2
