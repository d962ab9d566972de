"""The options of the objectives, and what each asks of the task and the model. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from languages.errors import one_of
from regulargpt.data.kinds import KINDS
from regulargpt.options import Options, option

if TYPE_CHECKING:
    from regulargpt.data.base import Data
    from regulargpt.models.options import ModelOptions

Reading = Literal["largest", "member"]

ROWS = "'transduction'"
"""The usual objective of a language whose words have a row of answers."""


def suited(kind: str) -> str:
    """The usual objective of a kind of data.

    >>> suited("words"), suited("text")
    ("'last'", "'language_model'")
    """
    return f"'{'last' if kind == 'words' else KINDS[kind].objective}'"


@dataclass(frozen=True)
class ObjectiveOptions(Options):
    """The options of an objective.

    `measures` names what it says of a test (regulargpt/objectives/measures.py); the first makes the score.
    """

    name: str

    @property
    def measures(self) -> tuple[str, ...]:
        """What a test is measured by."""
        return ("accuracy",)

    @property
    def asks_of(self) -> str:
        """The kind of data that it is about: "words", "text" or "retrieval"."""
        return "words"

    @property
    def answers_prefixes(self) -> bool:
        """Whether the model is asked at every position."""
        return False

    @property
    def reading(self) -> Reading | None:
        """How the machine's answer to a word is read off the logits at its end; None if it does not stand there.

        `largest` is the answer of the largest logit; `member` is accept where the last logit is positive, else reject.
        """
        return "largest"

    @property
    def asks_for_rows(self) -> bool:
        """Whether words are answered by a row of symbols."""
        return False

    def no_map_of_words(self) -> str | None:
        """Why the network is no map from words to answers, read at the last symbol; None if it is."""
        return f"the run answers '{self.name}', not the word at its end" if self.answers_prefixes else None

    def refuse(self, data: Data, model: ModelOptions) -> Iterator[str]:
        """Why this data or model cannot be queried so: the reason and the remedy."""
        if data.kind != self.asks_of:
            yield f"it asks about {self.asks_of}, and {data.name} is {data.kind}; choose {suited(data.kind)}"
            return
        if data.has_rows != self.asks_for_rows:
            other, choose = ("one answer", suited("words")) if self.asks_for_rows else ("a row of answers", ROWS)
            yield f"{data.name} has {other} to a word; choose {choose}"
            return
        if self.asks_of == "words" and (reason := model.why_no_words()) is not None:
            yield f"it asks about words: {reason}"
        if self.answers_prefixes and not getattr(getattr(data, "task", None), "answers_prefixes", True):
            yield f"{data.name} has one answer to a word, at its end; choose {suited('words')}"
        # Behind the word every position may see all of it.
        reason = None if self.asks_for_rows else model.why_no_prefixes()
        if self.answers_prefixes and reason is not None:
            yield f"it asks at every position: {reason}"


@dataclass(frozen=True)
class LastOptions(ObjectiveOptions):
    """The answer to the word."""

    output_token: bool = option(False, "Read the answer at a symbol of no other meaning after the word.")
    bracketings: float = option(
        0.0, "Share of the batches that go through random trees.", least=0, most=1, why="it is a share, 0 to 1"
    )
    merged: float = option(
        0.5,
        "Share of a random tree's windows that are merged at a time: the fewer, the deeper it is.",
        least=0,
        most=1,
        needs="bracketings",
        why="it is a share, 0 to 1",
    )

    def refuse(self, data: Data, model: ModelOptions) -> Iterator[str]:
        """Random trees need one map for all levels."""
        yield from super().refuse(data, model)
        if self.bracketings and (reason := model.why_no_certificate()) is not None:
            yield f"objective.bracketings = {self.bracketings:g} needs one map that makes any tree: {reason}"

    def no_map_of_words(self) -> str | None:
        """An output token is no symbol."""
        if self.output_token:
            return "the run reads its answer at an output token, which is no symbol of the language"
        return super().no_map_of_words()


@dataclass(frozen=True)
class PrefixesOptions(ObjectiveOptions):
    """The answer to every prefix."""

    @property
    def measures(self) -> tuple[str, ...]:
        """The last answer, all answers, and whole words."""
        return ("accuracy", "accuracy_by_position", "words")

    @property
    def answers_prefixes(self) -> bool:
        """At every position."""
        return True


@dataclass(frozen=True)
class NextOptions(PrefixesOptions):
    """The set of legal next symbols after every prefix."""

    @property
    def measures(self) -> tuple[str, ...]:
        """Whole words by their sets, as published, and sets; then what `prefixes` has."""
        return ("next_sets", "next_sets_by_position", *super().measures)

    @property
    def reading(self) -> Reading | None:
        """A word that may end is a member."""
        return "member"

    def refuse(self, data: Data, model: ModelOptions) -> Iterator[str]:
        """Only members have symbols that may follow."""
        yield from super().refuse(data, model)
        task = getattr(data, "task", None)
        if data.has_brackets:
            yield f"it needs a finite automaton, and {data.name} has brackets of any depth: choose 'prefixes'"
        elif task is not None and not task.is_classification:
            answers = one_of(task.output_names, 5)
            yield f"it needs members; {task.name} answers {answers}: choose 'prefixes'"


@dataclass(frozen=True)
class TransductionOptions(ObjectiveOptions):
    """A row of answers behind the word."""

    @property
    def measures(self) -> tuple[str, ...]:
        """Whole words make the score: one wrong answer of 500 is 99.8 % of the answers."""
        return ("words", "accuracy_by_position")

    @property
    def answers_prefixes(self) -> bool:
        """At every position behind the word."""
        return True

    @property
    def reading(self) -> Reading | None:
        """The answers stand behind the word."""
        return None

    @property
    def asks_for_rows(self) -> bool:
        """Whether words are answered by a row of symbols."""
        return True
