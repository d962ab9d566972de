"""What the perplexities of a test on a text are held against: the network as it was trained, and a bigram."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn

from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.encodings.base import Encoding
from regulargpt.evaluation.by_length import point_at, samples_at
from regulargpt.evaluation.segments import NLL
from regulargpt.objectives.answers import Objective
from regulargpt.text.corpora import Corpus
from regulargpt.text.corpora.bigram import Bigram


class Segments(Data, Protocol):
    """The data of a text, as far as they are needed here."""

    @property
    def corpus(self) -> Corpus:
        """The text."""
        ...

    def counted(self, length: int) -> int:
        """How many symbols at the end of a segment count."""
        ...


@dataclass(frozen=True, eq=False)
class Reference:
    """Nats a symbol of each test segment at the training length: of the network as it was trained, and of a bigram.

    `files` is the file of the text that each segment lies in, None where that is not known.
    """

    trained: Float[np.ndarray, "segments"]
    bigram: Float[np.ndarray, "segments"]
    files: Int[np.ndarray, "segments"] | None = None


@torch.no_grad()
def reference(
    model: nn.Module,
    words: Segments,
    objective: Objective,
    config: RunConfig,
    seed: int,
    device: torch.device,
    length: int = 0,
) -> Reference | None:
    """Those of the segments of this test, of `length` or else the config's training length; None where that is too long
    for the text.

    `model` has the options of its training, and no temperature.
    """
    length = length or config.data.train_len
    if not words.is_tested(length):
        return None
    samples = samples_at(length, config.evaluation)
    with as_trained(model):
        point = point_at(model, words, objective, length, samples, seed, device)
    bigram = Bigram.fit(words.corpus.train, words.corpus.vocabulary_size)
    ends = words.test(seed, length, samples)[:, -words.counted(length) - 1 :]  # (segments, counted + 1)
    return Reference(point.of_words[NLL], bigram.nats(ends).mean(1), point.files)


@contextmanager
def as_trained(model: nn.Module) -> Iterator[None]:
    """Let encodings do what they did in training: a scaling of rotary positions is of tests alone."""
    model.eval()
    encodings = [part for part in model.modules() if isinstance(part, Encoding)]
    for encoding in encodings:
        encoding.train()
    try:
        yield
    finally:
        model.eval()
