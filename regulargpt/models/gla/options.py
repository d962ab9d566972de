"""The options of gla. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regulargpt.models.mixing.options import HeadsOptions
from regulargpt.options import option


@dataclass(frozen=True)
class GlaOptions(HeadsOptions):
    """gla.

    >>> [GlaOptions("gla", decay=decay).title for decay in ("channel", "head", "retention")]
    ['gla', 'head-gla', 'retnet']
    """

    decay: Literal["channel", "head", "retention"] = option(
        "channel", "How the state decays: a gate a key channel, a gate a head, or RetNet's constants and rotary angles."
    )

    @property
    def title(self) -> str:
        return {"channel": self.name, "head": f"head-{self.name}"}.get(self.decay, "retnet")

    def problems(self) -> Iterator[str]:
        yield from super().problems()
        if not self.d_model % self.n_heads and self.d_model // self.n_heads % 2:
            yield f"d_model = {self.d_model} is not a multiple of 2 x model.n_heads = {2 * self.n_heads}"
