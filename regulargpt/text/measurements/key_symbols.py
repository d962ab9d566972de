"""Perplexity on key symbols: those that far context helps to predict.

LongPPL (Fang et al. 2025, What is Wrong with Perplexity for Long-context Language Modeling?, arXiv 2410.23771): an
evaluator reads each symbol x behind a long context l and behind a short context s of K symbols. It is a key if

    LSD = ln p(x | l) - ln p(x | s) > alpha   and   LCL = ln p(x | l) > beta,

and LongPPL is exp of the mean of -ln p over the keys. As the authors' code does (PKU-ML/LongPPL), short contexts slide:
they are cut for a few symbols at a time, of which the first has K symbols before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regulargpt.data.base import Words
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.evaluation.interval import FILES, SEEDS, SEGMENTS, Interval
from regulargpt.objectives.measures import exp
from regulargpt.text.data.segments import TextData
from regulargpt.text.evaluation.copies import copied
from regulargpt.text.objectives.language_model import LanguageModel

ALPHA, BETA = 2.0, -2.0
"""Those of the paper, in nats."""
STRIDES = 4
"""A short context of K symbols slides by K over so many (1,024 of 4,096 in the paper)."""
NEAR_STRIDES = 8
"""Near text of L symbols slides by L over so many."""
FEWEST = 30
"""Fewer keys make no number."""
KEYS, KEY_NATS, NEAR_NATS = "keys", "key_nats", "near_nats"
"""Of each segment: how many keys, what they cost, and what they cost the network as trained behind near text."""
Nats = Float[np.ndarray, "segments counted"]
IsKey = Bool[np.ndarray, "segments counted"]
Files = Int[np.ndarray, " segments"] | None


@torch.no_grad()
def nats_of(
    model: nn.Module, objective: LanguageModel, segments: Words, device: torch.device, last: int = 0
) -> Float[np.ndarray, "segments predicted"]:
    """-ln p of the `last` symbols of every segment, in float64; 0: of every symbol but the first."""
    at_once = words_at_once(model.eval(), segments.shape[1] - 1, objective.n_outputs)
    starts = range(0, len(segments), at_once)
    parts = [objective.losses(model, segments[at : at + at_once], device, last) for at in starts]
    return torch.cat(parts).double().cpu().numpy()


def nats_within(
    model: nn.Module,
    objective: LanguageModel,
    segments: Words,
    device: torch.device,
    counted: int,
    most: int,
    stride: int,
) -> Nats:
    """-ln p of the last symbols that count, each behind most - stride + 1 to `most` symbols, or all that there are."""
    parts = [
        nats_of(model, objective, segments[:, start:end], device, end - first)
        for start, first, end in windows(segments.shape[1], counted, most - stride + 1, stride)
    ]
    return np.concatenate(parts, axis=1)  # (segments, counted)


def windows(symbols: int, counted: int, least: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """Where a window begins, its first symbol that counts, and its end: what counts is in a single window each.

    The first that counts in a window has `least` symbols before it. Those with fewer have all that there are.

    >>> list(windows(symbols=12, counted=11, least=4, stride=3))
    [(0, 1, 4), (0, 4, 7), (3, 7, 10), (6, 10, 12)]
    """
    first = symbols - counted
    middle = min(max(first, least), symbols)
    ends = [*([first] if first < middle else []), *range(middle, symbols, stride), symbols]
    for begin, end in pairwise(ends):
        yield max(0, begin - least), begin, end


class KeyChoice(Protocol):
    """What chooses the keys of a text: never the networks that are scored on them."""

    def keys(self, segments: Words, counted: int) -> IsKey:
        """Which of the last symbols that count are keys."""
        ...


@dataclass(frozen=True)
class Copies:
    """Symbols that continue a repeat which stood more than `far` symbols back the last time."""

    repeated: int
    far: int

    def keys(self, segments: Words, counted: int) -> IsKey:
        return copied(segments, self.repeated, self.far)[:, -counted:]


@dataclass(frozen=True, eq=False)
class LongShort:
    """Symbols that the evaluator predicts by more than `alpha` nats better behind a long context than behind a short.

    A short context has `context` symbols, and fewer than `stride` more. A long context has all of the segment, but
    never more than the `longest` symbols that the evaluator was trained on.
    """

    model: nn.Module
    objective: LanguageModel
    device: torch.device
    longest: int
    context: int
    alpha: float = ALPHA
    beta: float = BETA

    @property
    def stride(self) -> int:
        """How many symbols share a window, so few that no short context is longer than the long context."""
        return max(1, min(self.context // STRIDES, (self.longest - self.context + 2) // 2))

    def within(self, segments: Words, counted: int, most: int) -> Nats:
        """-ln p behind contexts of at most so many symbols."""
        return nats_within(self.model, self.objective, segments, self.device, counted, most, self.stride)

    def keys(self, segments: Words, counted: int) -> IsKey:
        symbols = segments.shape[1]
        if symbols <= self.context:  # both contexts are all that there is
            return np.zeros((len(segments), counted), dtype=bool)
        short = self.within(segments, counted, self.context + self.stride - 1)
        # The whole segment in a single pass where the evaluator was trained on as much.
        long = (
            nats_of(self.model, self.objective, segments, self.device, counted)
            if symbols - 1 <= self.longest
            else self.within(segments, counted, self.longest)
        )
        return (short - long > self.alpha) & (-long > self.beta)


@dataclass(frozen=True, eq=False)
class KeySymbols:
    """The keys of a text's segments, chosen once, and what they cost the network as trained behind near text alone.

    Near text is the last `train_len` symbols at most. `model` is the network as it was trained.
    """

    choice: KeyChoice
    model: nn.Module
    objective: LanguageModel
    device: torch.device
    train_len: int
    known: dict[bytes, tuple[IsKey, Nats]] = field(default_factory=dict)

    def chosen(self, segments: Words, counted: int) -> tuple[IsKey, Nats]:
        """Which of the symbols that count are keys, and -ln p of all that count behind near text."""
        which = sha256(segments.tobytes() + f"{segments.shape}".encode()).digest()
        if which not in self.known:
            self.known[which] = self.choice.keys(segments, counted), self.near(segments, counted)
        return self.known[which]

    def near(self, segments: Words, counted: int) -> Nats:
        stride = max(1, self.train_len // NEAR_STRIDES)
        return nats_within(self.model, self.objective, segments, self.device, counted, self.train_len, stride)


class Keyed(LanguageModel):
    """The usual measures of a text, and three sums of each segment over its keys."""

    def __init__(self, data: TextData, symbols: KeySymbols):
        super().__init__(data)
        self.symbols = symbols

    def measure(self, model: nn.Module, words: Words, device: torch.device) -> Mapping[str, Tensor]:
        counted = self.data.counted(words.shape[1] - 1)
        losses = self.losses(model, words, device, counted).double().cpu()
        is_key, near = (torch.from_numpy(each) for each in self.symbols.chosen(words, counted))
        sums = {KEYS: is_key.double(), KEY_NATS: losses * is_key, NEAR_NATS: near * is_key}
        return {**self.means(losses), **{name: each.sum(1) for name, each in sums.items()}}


def perplexity(
    nats: Float[np.ndarray, " segments"], keys: Float[np.ndarray, " segments"], files: Files = None
) -> Interval | None:
    """exp of the mean over all keys of all segments, LongPPL, by each segment's sum and number; None of too few keys.

    Segments have different numbers of keys, some none: the mean is a ratio of two sums, and its interval is that of a
    ratio, over the files or segments that have keys. With differences of sums it is a ratio of perplexities, in pairs.

    >>> found = perplexity(np.log([2.0, 8.0]) * 20, np.array([20.0, 20.0]))
    >>> round(found.value, 6), found.over
    (4.0, {'segments': 2, 'seeds': 1})
    >>> perplexity(np.array([1.0, 2.0]), np.array([1.0, 2.0])) is None
    True
    """
    has_keys = keys > 0
    count = keys[has_keys].astype(int)
    if count.sum() < FEWEST or len(count) < 2:
        return None
    own = np.arange(len(count)) if files is None else files[has_keys]
    is_by_file = files is not None and len(np.unique(own)) > 1
    groups = own if is_by_file else np.arange(len(count))
    # A key a number: those of one segment, or file, are not independent.
    mean = nats[has_keys] / count
    mean_loss = Interval.of_networks([(np.repeat(mean, count), np.repeat(groups, count))])
    over = {FILES if is_by_file else SEGMENTS: mean_loss.over[FILES], SEEDS: 1}
    return replace(mean_loss, over=over).through(exp)
