"""The options of rwkv7. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regulargpt.models.mixing.options import HeadsOptions
from regulargpt.options import option


@dataclass(frozen=True)
class Rwkv7Options(HeadsOptions):
    """rwkv7.

    >>> Rwkv7Options("rwkv7").title, Rwkv7Options("rwkv7", range="signed").title
    ('rwkv7', 'signed-rwkv7')
    """

    range: Literal["unit", "signed"] = option(
        "unit", "What a symbol removes along its key: a times it, or twice that, which reaches the factor -1."
    )

    @property
    def title(self) -> str:
        return self.name if self.range == "unit" else f"{self.range}-{self.name}"

    def problems(self) -> Iterator[str]:
        yield from super().problems()
        if self.d_model == self.n_heads:
            yield f"n_heads = {self.n_heads} leaves heads of 1 channel; give fewer, heads have at least 2"
