"""The options of ldru. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regulargpt.models.tree.options import Shape, TreeOptions, noise_growth, noise_loss, state_noise, tree_shape
from regulargpt.models.tree.shape import Side
from regulargpt.options import option


@dataclass(frozen=True)
class LdruOptions(TreeOptions):
    """ldru, a binary tree of one operator.

    >>> LdruOptions("ldru").label, LdruOptions("ldru", operator="sum").label
    ('ldru', 'ldru-sum')
    """

    operator: Literal["mlp", "gated-sum", "sum", "linear"] = option("mlp", "How the states of two nodes become one.")
    d_model: int = option(
        64, "Width of a state.", least=1, most=65_536, why="a state has at least 1 number", flag="--d-model"
    )
    dropout: float = option(
        0.1, "Share of entries dropped in training.", least=0, below=1, why="it is a share, 0 to below 1"
    )
    state_noise: float = state_noise()
    noise_loss: float = noise_loss()
    noise_growth: float = noise_growth()
    tree: Shape = tree_shape()

    @property
    def label(self) -> str:
        return self.name if self.operator == "mlp" else f"{self.name}-{self.operator}"

    @property
    def shortest(self) -> int:
        return 2

    @property
    def chunk_size(self) -> int:
        return 2

    @property
    def aligned(self) -> Side:
        return "left"

    def parameters(self) -> int:
        return 39 * self.d_model**2

    def why_no_certificate(self) -> str | None:
        return None
