"""The options of the wing's measurements, from which their verbs are made. Never imports torch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from languages.errors import UserError
from regulargpt.measurements.options import (
    MeasuredTextOptions,
    MeasurementOptions,
    attention,
    device,
    length_of,
    seed_of,
    train_len,
)
from regulargpt.options import option
from regulargpt.options.names import read_names

if TYPE_CHECKING:
    from regulargpt.runs.opened import HasResults, Opened, OpenedRun
    from regulargpt.text.corpora.retrieval.prompts import NeedleTask

USUAL = (1024, 2048, LONGEST_USUAL := 4096)
"""Tokens of the documents that a network is asked about that was trained on longer ones."""
SHARPEN = "File of `regulargpt align`: sharpen attention so."


@dataclass(frozen=True)
class AlignOptions(MeasuredTextOptions):
    """Sharpen a trained model's attention where greater length has flattened it.

    Finds the temperature at which attention is as sharp as at the training length, by its largest probability, by its
    entropy and by the lengths alone; says the score with each and without; writes files for `evaluate --temperature`.

    RUN may be hf:PATH, the folder of a checkpoint on disk: a decoder, or a T5. Of a T5, usually trained on 512 tokens,
    the encoder is sharpened, and the score is the perplexity of the tokens that follow in the text.
    """

    scoring: ClassVar[str] = ""
    length: int | None = option(None, "The greater length.", least=2, usual="8 times the training length")
    by: Literal["model", "layer", "head"] = option("model", "What shares a temperature.")
    part: Literal["all", "content"] = option(
        "all", "Divide all of a logit, or its content without the bias.", flag="--on"
    )
    fixed: float | None = option(
        None, "Try a temperature of yours, too.", least=1e-6, why="a temperature is a number above 0"
    )
    words: int = option(8, "How many words or segments attention is measured on.", least=1)
    seed: int | None = seed_of("words")

    def subject(self, place: str | None) -> Opened | HasResults:
        """The same, or a T5 and a text."""
        from regulargpt.runs.places import is_checkpoint
        from regulargpt.text.opened import T5OnText, refuse_no_text
        from regulargpt.text.pretrained import is_decoder

        if not is_checkpoint(str(place)) or is_decoder(str(place)):
            return super().subject(place)
        return T5OnText(str(place), refuse_no_text(str(place), self.text), self.train_len, self.device)


@dataclass(frozen=True)
class KernelMeasurementOptions(MeasurementOptions):
    """Say what kernel an encoding's bias is: definiteness, the constant that repairs it, its effective length.

    Learned biases are taken as they are before training; of a run, before and after it.
    """

    argument: ClassVar[str] = "ENCODING|RUN"
    reads: ClassVar[bool] = False
    heads: int | None = option(None, "How many heads; a run has its own.", least=1, most=64, usual="8")
    length: int | None = option(
        None,
        "Positions of the kernel matrix, distances of a run.",
        least=2,
        most=1024,
        usual="128; 8 times the training length",
    )
    seed: int | None = option(None, "Draws learned parameters; a run has its own.", least=0, usual="0")

    def subject(self, place: str | None) -> OpenedRun | str:
        """The run, or the encoding as it is written: it has no slash in its name, and goes before a folder."""
        from regulargpt.encodings import ENCODINGS

        name = str(place).partition(":")[0]
        if name and name not in ENCODINGS and (os.sep in name or Path(str(place)).is_dir()):
            if self.heads is not None or self.seed is not None:
                raise UserError(f"{place} is a run, with heads and a seed of its own; leave out --heads and --seed")
            return super().subject(place)
        ENCODINGS.options(place, "encoding")  # refused before torch is imported
        return str(place)


@dataclass(frozen=True)
class MethodOptions(MeasuredTextOptions):
    """Compare what can be done to a trained network in a test, so that it reads longer texts.

    `regulargpt list methods` lists the methods. Each is held against the network as it was trained, segment by segment.
    Results are kept one by one: the same command goes on where it was stopped.
    """

    on: ClassVar[tuple[str, ...]] = ("text",)
    scoring: ClassVar[str] = ""
    page: ClassVar[str] = "regulargpt.text.classroom.methods_page:write"
    lengths: str | None = option(None, "Lengths, as in 512,1024,4096.", usual="the training length and its doubles")
    methods: str | None = option(None, "Methods, as in yarn,bca.", usual="all that the network can be tested by")
    words: int = option(32, "How many segments a length.", least=2)
    bias: Path | None = option(None, "File of `regulargpt lengthen`, for the method kerple.")  # noqa: RUF009
    seed: int | None = seed_of("segments")
    key_by: str | None = option(
        None, "Score key symbols, too, chosen by copies, self, or an evaluator hf:PATH (LongPPL).", usual="none"
    )
    key_repeat: int | None = option(None, "Of copies: symbols repeated before.", least=1, most=1000, usual="8")
    key_context: int | None = option(
        None, "Of an evaluator: symbols of a short context.", least=1, usual="train_len; where that is all, a quarter"
    )
    key_alpha: float | None = option(
        None, "Of an evaluator: nats that long contexts gain.", least=0.01, most=100, usual="2"
    )
    key_beta: float | None = option(
        None, "Of an evaluator: least ln p behind long contexts.", least=-100, most=0, usual="-2"
    )

    def problems(self) -> Iterator[str]:
        """Options of keys that change nothing."""
        idle = ("key_context", "key_alpha", "key_beta") if self.key_by == "copies" else ("key_repeat",)
        if self.key_by is None:
            idle = ("key_repeat", "key_context", "key_alpha", "key_beta")
        for name in idle:
            if (value := getattr(self, name)) is not None:
                by = "without key_by" if self.key_by is None else f"with key_by = {self.key_by}"
                yield f"{name} = {value} changes nothing {by}; leave it out"


@dataclass(frozen=True)
class NeedleOptions(MeasurementOptions):
    """Say how often a network finds what it is asked for, by the length of the document and the depth in it.

    RUN is a run on a retrieval task. With its seed the documents are those of its own test.

    RUN may be hf:PATH, a folder of GPT-2, GPT-NeoX, Llama, Mistral, Qwen2 or Qwen3 on disk. Then documents are English,
    in its tokens, and methods of `regulargpt list methods` are compared. Kinds: passkey, line (LongEval), single,
    multikey, multivalue, multiquery and variables (RULER). Results are kept one by one.
    """

    on: ClassVar[tuple[str, ...]] = ("retrieval",)
    through: ClassVar[str] = ""
    takes_checkpoints: ClassVar[bool] = True
    lengths: str | None = option(
        None,
        "Lengths, as in 64,128,256.",
        usual=f"the run's; of hf:PATH the training length and its doubles to {LONGEST_USUAL:,}, of longer ones "
        + ", ".join(f"{T:,}" for T in USUAL),
    )
    bins: int = option(10, "Parts of a document.", least=1, most=100)
    words: int | None = option(None, "Documents a length.", least=1, usual="128; 40 of hf:PATH")
    temperature: Path | None = option(  # noqa: RUF009  # a path is immutable
        None, f"{SHARPEN[:-1]}; of hf:PATH for the method alignment."
    )
    seed: int | None = option(None, "Seed of the documents.", least=0, usual="the run's; 0 of hf:PATH")
    kinds: str | None = option(None, "Of hf:PATH: kinds, as in passkey,multikey.", usual="passkey")
    methods: str | None = option(
        None, "Of hf:PATH: methods, as in yarn,bca.", usual="all that can be tried, beyond its training length"
    )
    score: Literal["exact", "choice"] | None = option(
        None, "Of hf:PATH: exact reads what it writes; choice asks which of 4 answers is likeliest.", usual="exact"
    )
    bias: Path | None = option(None, "Of hf:PATH: file of `regulargpt lengthen`, for the method kerple.")  # noqa: RUF009
    train_len: int | None = train_len()
    device: Literal["auto", "cpu", "cuda"] = device()

    def subject(self, place: str | None) -> Opened:
        """The run in this folder, or the checkpoint at hf:PATH."""
        from regulargpt.runs.places import is_checkpoint, refuse_text
        from regulargpt.text.opened import open_alone

        if is_checkpoint(str(place)):
            kinds_of(self.kinds)
            return open_alone(str(place), self.train_len, device=self.device)
        refuse_text(None, self.train_len)
        for name in ("kinds", "methods", "score", "bias"):
            if (given := getattr(self, name)) is not None:
                raise UserError(f"--{name} {given}: of a checkpoint only; leave it out, or give one as hf:PATH")
        return super().subject(place)


def kinds_of(written: str | None) -> list[NeedleTask]:
    """The kinds of needles between the commas; UserError for a kind that there is not.

    >>> [task.name for task in kinds_of("line,multikey")]
    ['line', 'multikey']
    """
    from regulargpt.text.corpora.retrieval.prompts import NEEDLES

    return [NEEDLES[name] for name in read_names(written or "passkey", NEEDLES, "kind")]


@dataclass(frozen=True)
class PositionOptions(MeasuredTextOptions):
    """Measure what a symbol costs by its position, and whether context beyond the training length helps.

    A Transformer is compared with itself, restricted to the last symbols of the training length.
    """

    on: ClassVar[tuple[str, ...]] = ("text",)
    length: int | None = length_of("segments", "8 times the training length")
    words: int = option(128, "How many segments.", least=2)
    seed: int | None = seed_of("segments")


@dataclass(frozen=True)
class PositionVarianceOptions(MeasurementOptions):
    """Simulate how a random model without encodings knows positions, and probe its layers for them.

    Each lemma of chapter 2 stands beside what is measured. quick takes a minute; the probe of thesis wants a GPU. With
    a RUN on a text, trained with --encoding none, its own layers are measured and probed.
    """

    argument: ClassVar[str] = "[RUN]"
    on: ClassVar[tuple[str, ...]] = ("text",)
    preset: Literal["quick", "thesis"] | None = option(None, "Sizes and draws of a simulation.", usual="quick")
    length: int | None = option(None, "Positions of a run.", least=2, usual="its training length")
    updates: int | None = option(
        None, "Of the probe; 0 leaves it out.", least=0, most=1_000_000, usual="the preset's; of a run 500"
    )
    seed: int | None = option(None, "Draws it all.", least=0, usual="0; of a run its own")
    device: Literal["cpu", "cuda"] | None = option(None, "Where a simulation's probe trains.", usual="cpu")

    def subject(self, place: str | None) -> OpenedRun | None:
        """The run; None for a simulation."""
        if place is None and self.length is not None:
            raise UserError("--length is of a run; name one, or choose a --preset")
        if place is not None and (self.preset is not None or self.device is not None):
            raise UserError("--preset and --device are of a simulation; leave them out, or leave out the run")
        return None if place is None else super().subject(place)


@dataclass(frozen=True)
class ResolutionOptions(MeasuredTextOptions):
    """Measure how well a trained Transformer's attention tells distances apart (attention resolution).

    R is computed from the mean logits at each distance, head by head, at the training length and its doubles.
    """

    on: ClassVar[tuple[str, ...]] = ("text",)
    length: int | None = length_of("segments", "8 times the training length")
    words: int = option(8, "How many segments.", least=2)
    seed: int | None = seed_of("segments")
    attention: str = attention()
