"""What a page shows of a run on a text: its measures, and what its network does on the test part, computed now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from languages.errors import UserError, shown
from languages.printable import characters, printable
from regulargpt.config.schema import RunConfig
from regulargpt.findings import Finding
from regulargpt.measurements.options import ReceptiveFieldOptions
from regulargpt.runs.opened import OpenedRun, open_run
from regulargpt.storage.folder import MEASURES, RunFolder
from regulargpt.text.data.segments import TextData
from regulargpt.text.measurements.options import KernelMeasurementOptions

if TYPE_CHECKING:
    from regulargpt.measurements.sample import Sample
    from regulargpt.text.corpora import Corpus

SEGMENTS = 16  # of which the receptive field is the mean
PASSAGE = 1200  # symbols at most that are shown with their surprise
PROMPTS, PROMPT, MORE, TEMPERATURE = 3, 64, 200, 0.8


@dataclass(frozen=True)
class Surprise:
    """A character, or a token, and the bits that it cost; None for the first, which nothing predicts."""

    text: str
    at: int  # its first symbol's number
    bits: float | None


@dataclass(frozen=True)
class Continuation:
    """A prompt of the test part, how the network goes on, and how the text does."""

    prompt: str
    network: str
    text: str


@dataclass(frozen=True)
class TextBehaviour:
    """What the network does on the test part. `share` of the gradient lies on the last `train_len` symbols."""

    field: Finding
    share: float
    passage: tuple[Surprise, ...]
    continuations: tuple[Continuation, ...]


@dataclass(frozen=True)
class TextRun:
    """A finished run on a text. `kernels` are those of its encoding's bias, if it has any.

    Where the text is no longer there, or no longer the same, `behaviour` is None and `reason` says why.
    """

    path: Path
    config: RunConfig
    summary: dict[str, Any]
    digest: str
    behaviour: TextBehaviour | None
    reason: str
    kernels: Finding | None

    page: ClassVar[str] = "regulargpt.text.classroom.text_page"

    @property
    def train_len(self) -> int:
        """The training length."""
        return self.config.data.train_len

    @property
    def lengths(self) -> list[int]:
        """The tested lengths."""
        return sorted(map(int, self.summary["samples"]))


def gather(run: OpenedRun) -> TextRun:
    """All that a page needs of the run. Raises UserError if a file is damaged."""
    folder, summary = run.folder, run.folder.load_summary()
    if summary["extrapolation"] is not None and "bigram" not in summary["extrapolation"]:
        raise UserError(f"{shown(folder.path)} was not tested beside a bigram; make the run anew")
    folder.final_bytes(MEASURES)
    digest = folder.load_environment().get("corpus", {}).get("sha256", "")
    reason, behaviour = "", None
    try:
        behaviour = behaviour_of(folder)
    except UserError as error:
        reason = str(error)
    return TextRun(run.path, run.config, summary, digest, behaviour, reason, kernels_of(run))


def behaviour_of(folder: RunFolder) -> TextBehaviour:
    """What the network does on segments of the test part. UserError if the text is not what it was, or too short."""
    from regulargpt.measurements import receptive_field
    from regulargpt.measurements.sample import segments_of

    run = open_run(folder, on=("text",), scoring="position")
    sample = segments_of(run, None, SEGMENTS, paired=True)
    with run.through():
        passage, continuations = surprises(sample), continued(sample)
    # Last: it makes the model float64.
    field = receptive_field.measure(run, ReceptiveFieldOptions(words=SEGMENTS))
    return TextBehaviour(field, field.values["share_in_train_len"], passage, continuations)


def text_of(sample: Sample) -> TextData:
    """The text that the segments are of."""
    assert isinstance(sample.run.data, TextData)
    return sample.run.data


def surprises(sample: Sample) -> tuple[Surprise, ...]:
    """The first segment's characters, or tokens, with the bits that each cost."""
    import torch

    from regulargpt.text.objectives.language_model import LanguageModel

    symbols = sample.words[:1, : PASSAGE + 1]
    with torch.no_grad():
        nats = LanguageModel(text_of(sample)).losses(sample.run.model, symbols, torch.device("cpu"))[0]
    bits = [None, *(nats.double() / np.log(2)).tolist()]
    surprises, at = [], 0
    for text, count in pieces(text_of(sample).corpus, symbols[0]):
        cost = bits[at : at + count]
        surprises.append(Surprise(text, at, None if None in cost else sum(cost)))  # type: ignore[arg-type]  # no None in it
        at += count
    return tuple(surprises)


def pieces(corpus: Corpus, symbols: np.ndarray) -> list[tuple[str, int]]:
    """What is shown of some symbols, piece by piece, and how many symbols each piece has."""
    if corpus.tokens is None:
        return list(characters(symbols.astype(np.uint8).tobytes()))
    return [(printable(corpus.decode(symbols[i : i + 1])), 1) for i in range(len(symbols))]


def continued(sample: Sample) -> tuple[Continuation, ...]:
    """The beginnings of the next segments, gone on with by the network."""
    from regulargpt.text.generation import Writer, symbols_of

    run = sample.run
    longest = next((n for n in (PROMPT + MORE, run.train_len) if run.config.network.too_long(n) is None), 0)
    longest = min(longest, sample.length)
    prompt = min(PROMPT, longest // 2)
    if not prompt:
        return ()
    writer = Writer(run.model, *symbols_of(text_of(sample).options))
    continuations = []
    for i, segment in enumerate(sample.words[1 : 1 + PROMPTS]):
        begun, rest = segment[:prompt], segment[prompt:longest]
        drawn = writer.continuation(begun, len(rest), temperature=TEMPERATURE, seed=sample.seed + i)
        parts = (begun.tolist(), list(drawn), rest.tolist())
        continuations.append(Continuation(*(printable(writer.decode(part)) for part in parts)))
    return tuple(continuations)


def kernels_of(run: OpenedRun) -> Finding | None:
    """The bias of each head by distance; None without a bias, and where it depends on what is read."""
    from regulargpt.text.measurements import bias_kernels

    try:
        return bias_kernels.measure(run, KernelMeasurementOptions())
    except UserError:
        return None
