"""The options of the measurements, from which their verbs are made. Never imports torch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from regulargpt.options import Options, option

if TYPE_CHECKING:
    from regulargpt.runs.opened import HasResults, Opened, OpenedRun
    from regulargpt.storage.folder import RunFolder

LONGEST = 500
HELD, REACH = 0.99, 4
"""The share that an empirical receptive field holds, and the length that it is measured at, in training lengths."""
SEED = "the run's"


def length_of(what: str, usual: str, least: int = 1, most: int | None = None) -> Any:
    """The option length."""
    return option(None, f"Length of the {what}.", least=least, most=most, usual=usual)


def seed_of(what: str) -> Any:
    """The option seed."""
    return option(None, f"Seed of the {what}.", least=0, usual=SEED)


def device() -> Any:
    """The option device."""
    return option("auto", "Where the network computes.")


def text() -> Any:
    """The option text."""
    return option(None, "Of hf:PATH: the text, a file or folder of yours, or text:code.")


def train_len() -> Any:
    """The option train_len."""
    return option(
        None,
        "Of hf:PATH: what it was trained on, if its config does not say so.",
        least=2,
        usual="its config's positions",
    )


def attention() -> Any:
    """The option attention."""
    return option("full", "What a position of a Transformer sees: full, bca, sliding:W, sinks:S:W, self-extend:G:W.")


@dataclass(frozen=True)
class MeasurementOptions(Options):
    """The options of a measurement; the docstring is the help of its verb.

    `argument` is what the verb is given. `on` are the kinds of data that the run may be on; one that `reads` no data is
    measured where they are gone, too. `through` is the attention without an option of that name, `scoring` that of a
    text, "" the run's own; `files` the folder of the results in RUN, if not that of its name; `page` the function that
    writes a page of the finding, as "module:NAME". One that `takes_checkpoints` can be given hf:PATH for a run. A
    measurement outside derives its options from this class.
    """

    argument: ClassVar[str] = "RUN"
    on: ClassVar[tuple[str, ...]] = ("words", "text", "retrieval")
    reads: ClassVar[bool] = True
    through: ClassVar[str] = "full"
    scoring: ClassVar[str] = "position"
    files: ClassVar[str] = ""
    page: ClassVar[str] = ""
    takes_checkpoints: ClassVar[bool] = False

    def subject(self, place: str | None) -> Any:
        """What is measured: the run in this folder. UserError for what speaks against it, before torch is imported."""
        from regulargpt.storage.folder import RunFolder

        return self.opened(RunFolder.open(Path(place or "")))

    def opened(self, folder: RunFolder) -> OpenedRun:
        """The run in a folder, opened as this measurement needs it."""
        from regulargpt.runs.opened import open_run

        through, device = getattr(self, "attention", self.through), getattr(self, "device", None) or "cpu"
        # A segment is drawn whole, whatever part of it the run's own test scores.
        how = {"attention": through, "scoring": self.scoring, "device": device}
        return open_run(folder, on=self.on, reads=self.reads, **how)


@dataclass(frozen=True)
class MeasuredTextOptions(MeasurementOptions):
    """What is measured of a network and a text: that of a run, or a checkpoint's and one that is named."""

    takes_checkpoints: ClassVar[bool] = True
    text: str | None = text()
    train_len: int | None = train_len()
    device: Literal["auto", "cpu", "cuda"] = device()

    def subject(self, place: str | None) -> Opened | HasResults:
        """The run in this folder, or the checkpoint at hf:PATH."""
        from regulargpt.runs.places import is_checkpoint, open_checkpoint, refuse_text

        if is_checkpoint(str(place)):
            through = getattr(self, "attention", self.through)
            how = {"attention": through, "scoring": self.scoring, "device": self.device}
            return open_checkpoint(str(place), self.text, self.train_len, **how)
        refuse_text(self.text, self.train_len)
        return super().subject(place)


@dataclass(frozen=True)
class ClusterOptions(MeasurementOptions):
    """Hold the clusters of a model's hidden states against the language's automaton, and certify it for every length.

    The states of a tree's nodes are held against transition functions (along brackets, elements of the language's
    algebra), those of a network that reads from left to right against the automaton's states. The certificate is
    written into RUN, as certificate.json; uncertified.json says why there is none.
    """

    on: ClassVar[tuple[str, ...]] = ("words",)
    files: ClassVar[str] = "verify"
    length: int | None = length_of("words", f"the longest up to {LONGEST}")
    words: int = option(32, "How many words.", least=2)
    seed: int | None = seed_of("words")
    colour: Literal["transition", "state", "symbol", "depth", "prefix"] | None = option(
        None,
        "What a state should say: the transition function of its sub-word, the automaton's state after the sub-word or "
        "after the whole prefix, the last symbol, the depth.",
        usual="transition of trees, else state",
    )
    at: str | None = option(
        None,
        "Hook point where states are taken, as blocks.0.mlp.hook_post: the FFN's units.",
        usual="the state that goes on",
    )
    level: str | None = option(None, "Only these levels of a tree, or blocks, as in 1,2.", usual="all")
    method: Literal["pca", "lda"] = option(
        "pca",
        "The plane that is drawn: where states differ most, or, found on half of the words, where classes do.",
    )

    def problems(self) -> Iterator[str]:
        """Levels that are none."""
        if self.level is not None and not re.fullmatch(r"\s*\d{1,4}\s*(,\s*\d{1,4}\s*)*", self.level, re.ASCII):
            yield f"--level {self.level!r:.40}: write levels in digits, as in 1,2"

    @property
    def levels(self) -> list[int] | None:
        """The chosen levels; None for all."""
        return None if self.level is None else sorted({int(part) for part in self.level.split(",")})


@dataclass(frozen=True)
class ReceptiveFieldOptions(MeasuredTextOptions):
    """Measure how far back a trained model's prediction depends on the word, or on the text before it.

    Differentiated is the margin of the answer that the model gives, of a text that of the symbol that comes next.
    """

    on: ClassVar[tuple[str, ...]] = ("words", "text")
    length: int | None = length_of("words", f"the longest up to {LONGEST}; of a text 8 times the training's")
    words: int | None = option(None, "How many words.", least=1, usual="32; 48 segments of a text")
    seed: int | None = seed_of("words")
    attention: str = attention()
