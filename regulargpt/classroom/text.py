"""What a page shows of a run on a text: its measures, and what its network does on the test part, computed now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from languages.errors import UserError, shown
from languages.printable import characters, printable
from regulargpt.classroom.field import Field
from regulargpt.config.schema import RunConfig
from regulargpt.storage.folder import MEASURES, RunFolder

if TYPE_CHECKING:
    from languages.text import Corpus
    from regulargpt.measurements.sample import Sample
    from regulargpt.models.base import Model

SEGMENTS = 16  # of which the receptive field is the mean
PASSAGE = 1200  # symbols at most that are shown with their surprise
PROMPTS, PROMPT, MORE, TEMPERATURE = 3, 64, 200, 0.8
FARTHEST = 8  # times the training length: as far as biases are drawn


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

    field: Field
    share: float
    passage: tuple[Surprise, ...]
    continuations: tuple[Continuation, ...]


@dataclass(frozen=True)
class TextRun:
    """A finished run on a text. `biases` has the bias of each head by distance, one entry a layer, or one for all.

    Where the text is no longer there, or no longer the same, `seen` is None and `reason` says why.
    """

    path: Path
    config: RunConfig
    summary: dict[str, Any]
    digest: str
    seen: TextBehaviour | None
    reason: str
    biases: tuple[np.ndarray, ...]  # of (n_heads, distances)

    @property
    def train_len(self) -> int:
        """The training length."""
        return self.config.data.train_len

    @property
    def lengths(self) -> list[int]:
        """The tested lengths."""
        return sorted(map(int, self.summary["samples"]))


def gather(folder: RunFolder, config: RunConfig) -> TextRun:
    """All that a page needs of the run. Raises UserError if it is not finished, or a file is damaged."""
    from regulargpt.runs.load import load_reader

    summary = folder.load_summary()
    if summary["extrapolation"] is not None and "bigram" not in summary["extrapolation"]:
        raise UserError(f"{shown(folder.path)} was not tested beside a bigram; make the run anew")
    folder.final_bytes(MEASURES)
    digest = folder.load_environment().get("corpus", {}).get("sha256", "")
    biases, reason, seen = biases_of(load_reader(folder), config), "", None
    try:
        seen = look(folder)
    except UserError as error:
        reason = str(error)
    return TextRun(folder.path, config, summary, digest, seen, reason, biases)


def look(folder: RunFolder) -> TextBehaviour:
    """What the network does on segments of the test part. UserError if the text is not what it was, or too short."""
    from regulargpt.measurements.receptive_field import receptive_field
    from regulargpt.measurements.sample import segments_of
    from regulargpt.runs.opened import open_run

    run = open_run(folder, on=("text",), scoring="position")
    sample = segments_of(run, None, SEGMENTS, paired=True)
    with run.through():
        passage, continuations = surprises(sample), continued(sample)
        # Last: it makes the model one of float64.
        field = receptive_field(run.model, sample.read, targets=sample.words[:, -1])
    share = field.share(run.train_len)
    if share is None:
        raise UserError("the prediction depends on no symbol: all gradients are 0 or not finite")
    c, low, high = (tuple(curve.tolist()) for curve in (field.c, field.low, field.high))
    return TextBehaviour(Field(c, low, high, field.erf), share, passage, continuations)


def surprises(sample: Sample) -> tuple[Surprise, ...]:
    """The first segment's characters, or tokens, with the bits that each cost."""
    import torch

    from regulargpt.objectives.language_model import LanguageModel

    symbols = sample.words[:1, : PASSAGE + 1]
    with torch.no_grad():
        nats = LanguageModel(sample.text).losses(sample.run.model, symbols, torch.device("cpu"))[0]
    bits = [None, *(nats.double() / np.log(2)).tolist()]
    found, at = [], 0
    for text, count in pieces(sample.text.corpus, symbols[0]):
        cost = bits[at : at + count]
        found.append(Surprise(text, at, None if None in cost else sum(cost)))  # type: ignore[arg-type]  # no None in it
        at += count
    return tuple(found)


def pieces(corpus: Corpus, symbols: np.ndarray) -> list[tuple[str, int]]:
    """What is shown of some symbols, piece by piece, and how many symbols each piece has."""
    if corpus.tokens is None:
        return list(characters(symbols.astype(np.uint8).tobytes()))
    return [(printable(corpus.decode(symbols[i : i + 1])), 1) for i in range(len(symbols))]


def continued(sample: Sample) -> tuple[Continuation, ...]:
    """The beginnings of the next segments, gone on with by the network."""
    from regulargpt.generation import Writer, symbols_of

    run = sample.run
    longest = next((n for n in (PROMPT + MORE, run.train_len) if run.config.network.too_long(n) is None), 0)
    longest = min(longest, sample.length)
    prompt = min(PROMPT, longest // 2)
    if not prompt:
        return ()
    writer = Writer(run.model, *symbols_of(sample.text.options))
    found = []
    for i, segment in enumerate(sample.words[1 : 1 + PROMPTS]):
        begun, rest = segment[:prompt], segment[prompt:longest]
        drawn = writer.continuation(begun, len(rest), temperature=TEMPERATURE, seed=sample.seed + i)
        parts = (begun.tolist(), list(drawn), rest.tolist())
        found.append(Continuation(*(printable(writer.decode(part)) for part in parts)))
    return tuple(found)


def biases_of(model: Model, config: RunConfig) -> tuple[np.ndarray, ...]:
    """The bias of each head at distances from 0 on; empty without one, and where it depends on what is read."""
    from regulargpt.measurements.bias_kernels import bias_between
    from regulargpt.models.transformer import Transformer

    if not isinstance(model, Transformer):
        return ()
    encoding, far = model.encoding.double().eval(), np.arange(FARTHEST * config.data.train_len + 1, dtype=float)
    try:
        found = [
            bias_between(encoding, "it", far[-1:], far, layer)[:, 0, ::-1]  # (n_heads, distances)
            for layer in range(1 if encoding.shared_bias else encoding.n_layers)
        ]
    except UserError:
        return ()
    model.float()
    return tuple(found)
