"""The options of mlstm and slstm. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regulargpt.models.mixing.options import HeadsOptions
from regulargpt.options import option

CONV = "Symbols that a convolution before the gates reaches; 0: none."
BEHIND = "What stands behind each mixer."
BOUNDS = {"least": 0, "most": 64, "why": "give a number of symbols, 0 for none"}


@dataclass(frozen=True)
class XlstmOptions(HeadsOptions):
    """What mlstm and slstm share."""

    conv: int = option(4, CONV, **BOUNDS)
    blocks: str = option("", "The blocks in turn, as ms: m for mLSTM, s for sLSTM; empty: those of the name.")

    @property
    def kinds(self) -> str:
        """m or s for each block."""
        return "".join((self.blocks or self.name[0])[i % len(self.blocks or "m")] for i in range(self.n_layers))

    @property
    def title(self) -> str:
        usual = type(self).__dataclass_fields__["conv"].default
        mixed = "" if set(self.kinds) == {self.name[0]} else f"-{self.kinds}"
        conv = "" if self.conv == usual else f"-conv-{self.conv}" if self.conv else "-no-conv"
        return f"{self.name}{mixed}{conv}"

    def problems(self) -> Iterator[str]:
        if set(self.blocks) - set("ms"):
            yield f"blocks = {self.blocks!r}; write m for mLSTM and s for sLSTM, as ms"
            return
        if "m" in self.kinds and self.d_model % 2:
            yield f"d_model = {self.d_model} is odd; q, k and v of mLSTM are made of 2 d_model numbers, four at a time"
        if "s" in self.kinds and self.d_model == self.n_heads:
            yield f"n_heads = {self.n_heads} leaves a head of sLSTM one number, of which its norm makes 0"
        yield from super().problems()


@dataclass(frozen=True)
class MlstmOptions(XlstmOptions):
    """mlstm.

    >>> MlstmOptions("mlstm").title, MlstmOptions("mlstm", blocks="ms", n_layers=3).title
    ('mlstm', 'mlstm-msm')
    """

    mlp: Literal["swiglu", "none"] = option("none", BEHIND)


@dataclass(frozen=True)
class SlstmOptions(XlstmOptions):
    """slstm. Published runs on formal languages have no convolution.

    >>> SlstmOptions("slstm").title, SlstmOptions("slstm", conv=4).title
    ('slstm', 'slstm-conv-4')
    """

    conv: int = option(0, CONV, **BOUNDS)
