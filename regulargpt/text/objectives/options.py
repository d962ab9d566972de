"""The options of the wing's objectives. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regulargpt.objectives.options import ObjectiveOptions, Reading

if TYPE_CHECKING:
    from regulargpt.data.base import Data
    from regulargpt.models.options import ModelOptions


@dataclass(frozen=True)
class LanguageModelOptions(ObjectiveOptions):
    """The symbol that comes next in a text."""

    @property
    def measures(self) -> tuple[str, ...]:
        """All three say the same of a text; bits per byte can be compared between alphabets."""
        return ("bits_per_byte", "nll", "perplexity")

    def no_map_of_words(self) -> str | None:
        """A text has no right answers that a certificate could be about."""
        return "a text has no automaton, so nothing can be proven of it"

    @property
    def asks_of(self) -> str:
        """A text."""
        return "text"

    @property
    def reading(self) -> Reading | None:
        """There is no machine."""
        return None

    @property
    def answers_prefixes(self) -> bool:
        """At every position."""
        return True

    def refuse(self, data: Data, model: ModelOptions) -> Iterator[str]:
        """Some models read no texts."""
        if data.kind == self.asks_of and (reason := model.why_no_texts()) is not None:
            yield f"it asks for the next symbol of a text: {reason}"
            return
        yield from super().refuse(data, model)


@dataclass(frozen=True)
class RetrieveOptions(ObjectiveOptions):
    """The answers to the questions behind a document."""

    @property
    def measures(self) -> tuple[str, ...]:
        """The share of what is found."""
        return ("exact_match",)

    @property
    def asks_of(self) -> str:
        """Documents with questions."""
        return "retrieval"

    @property
    def reading(self) -> Reading | None:
        """There is no machine."""
        return None

    def no_map_of_words(self) -> str | None:
        """A retrieval task has no automaton that a certificate could be about."""
        return "a retrieval task has no automaton, so nothing can be proven of it"

    def refuse(self, data: Data, model: ModelOptions) -> Iterator[str]:
        """Answers are no symbols of a tied readout."""
        yield from super().refuse(data, model)
        if data.kind == self.asks_of and (reason := model.why_no_words()) is not None:
            yield reason
