"""`regulargpt align hf:PATH`: the encoder of a T5 checkpoint on a text, in the tokens of its own tokenizer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray
from torch.nn import functional as F

from languages.errors import UserError
from languages.randomness import rng
from regulargpt.data.base import Words
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.temperature import Temperature, at_temperature
from regulargpt.measurements.sample import refuse_many
from regulargpt.models.base import device_of
from regulargpt.objectives.answers import to_tensor
from regulargpt.objectives.measures import measure
from regulargpt.runs import device
from regulargpt.text import corpora as text
from regulargpt.text.corpora import Corpus
from regulargpt.text.corpora.corpus import Part
from regulargpt.text.encoder_decoder.checkpoint import Pretrained
from regulargpt.text.measurements.alignment.setting import LONGEST, TIMES, AlignmentTarget, Setting
from regulargpt.text.measurements.options import AlignOptions
from regulargpt.text.opened import T5OnText
from regulargpt.text.pretrained import place_of

TRAIN_LEN = 512
"""What T5, Flan-T5 and CodeT5 were trained on."""
CONTINUED = 32
"""Tokens behind what the encoder reads, which the decoder predicts."""


@dataclass(frozen=True)
class ContinuationTest:
    """How well the decoder predicts the tokens of a text behind those that the encoder has read, shown each in turn.

    It is a score for checkpoints that were trained on it, as the LM-adapted T5 of the thesis's Table 5.3.
    """

    loaded: Pretrained
    segments: Words  # (segments, read + CONTINUED)

    def point(self, temperature: Temperature | None) -> Point:
        """The perplexity at a temperature, or without a temperature."""
        tau, on = (None, "all") if temperature is None else (np.array(temperature.tau), temperature.on)
        with at_temperature(self.loaded.model, tau, on):
            nll = np.array(
                [self.loss(to_tensor(segment[None], device_of(self.loaded.model))) for segment in self.segments]
            )
        value = Interval.of_mean(nll).through(measure("perplexity").of_mean)
        read = self.segments.shape[1] - CONTINUED
        return Point(read, len(nll), {"perplexity": value}, of_words={"nll": nll})

    @torch.no_grad()
    def loss(self, segment: Int[torch.Tensor, "1 symbols"]) -> float:
        """The mean of -ln p over the predicted tokens of a segment."""
        read, target = segment[:, :-CONTINUED], segment[:, -CONTINUED:]
        start = torch.full_like(target[:, :1], self.loaded.start)
        # The decoder reads each token behind which it predicts the next token.
        given = torch.cat([read, start, target[:, :-1]], dim=1)  # (1, symbols)
        return float(F.cross_entropy(self.loaded.model.answers(given, CONTINUED)[0], target[0]))


def target_of(target: T5OnText, options: AlignOptions) -> AlignmentTarget:
    """A T5 on a text.

    Attention is measured on segments of the text's training part. The score is the perplexity of the tokens behind as
    many segments of its test part.

    Raises UserError for a checkpoint that cannot be read, a checkpoint without a tokenizer, a text that is too short,
    or a length that is not longer than the training length.
    """
    train_len, words, seed = target.train_len or TRAIN_LEN, options.words, options.seed or 0
    length = options.length or TIMES * train_len
    if not train_len < length <= LONGEST:
        raise UserError(f"--length {length}: choose one above --train-len {train_len}, and at most {LONGEST:,}")
    refuse_many(length, words, "words")
    place, loaded = device.device_named(target.device), Pretrained.load(target.place)
    corpus, model = text_of(loaded, target.text), loaded.model.to(place)
    short, long = (drawn(corpus, loaded.start, seed, T, words) for T in (train_len, length))
    setting = Setting(model, loaded.digest, short, long, options.by, options.part, unread=1)
    name = loaded.folder.resolve().name
    facts = {"run_dir": str(loaded.folder), "language": corpus.name, "model": name}
    continued = ContinuationTest(loaded, segments(corpus, "test", seed, length + CONTINUED, words))
    return AlignmentTarget(setting, facts, f"{name}, {corpus.name}", continued.point)


def text_of(loaded: Pretrained, named: str) -> Corpus:
    """The text in the tokens of the checkpoint."""
    return text.corpus(place_of(named), loaded.tokens.path)


def drawn(corpus: Corpus, start: int, seed: int, length: int, count: int) -> Words:
    """What the encoder reads, and behind it the symbol that the decoder reads first: (count, length + 1)."""
    words = segments(corpus, "train", seed, length, count).astype(np.int64)
    return np.concatenate([words, np.full((count, 1), start)], axis=1)


def segments(corpus: Corpus, part: Part, seed: int, length: int, count: int) -> Int[ndarray, "count length"]:
    """Segments that begin anywhere in a part of the text; CorpusError if it is too short."""
    corpus.require(part, length)
    starts = rng(seed, "alignment", length).integers(len(corpus.part(part)) - length + 1, size=count)
    return corpus.segments(part, length, starts)
