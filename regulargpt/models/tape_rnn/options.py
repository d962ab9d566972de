"""The options of tape-rnn. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass

from regulargpt.models.options import ModelOptions
from regulargpt.options import option


@dataclass(frozen=True)
class TapeRnnOptions(ModelOptions):
    """tape-rnn."""

    d_model: int = option(
        64, "Units of the controller.", least=1, most=65_536, why="a controller has at least 1 unit", flag="--d-model"
    )
    tape_width: int = option(8, "Numbers in a cell.", least=1, most=65_536, why="a cell has at least 1 number")
    tapes: int = option(1, "Tapes.", least=1, most=1024, why="there is at least 1 tape")

    def parameters(self) -> int:
        """Those that grow with the square of the width."""
        return self.d_model * (self.d_model + 2 * self.tapes * self.tape_width)

    def why_no_prefixes(self) -> str | None:
        """Its jumps are as long as the word."""
        return "its jumps are as long as the whole word; choose 'last', or model.name = 'stack-rnn'"

    def why_no_texts(self) -> str | None:
        """A text has no end that it could be told of."""
        return "its jumps are as long as the word before the answer; choose model.name = 'stack-rnn'"
