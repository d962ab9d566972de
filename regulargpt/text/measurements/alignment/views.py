"""The attention that two words get at every temperature of a page, and what the network answers there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.evaluation.temperature import Temperature, at_temperature
from regulargpt.models.transformer import Transformer
from regulargpt.text.measurements.alignment.extent import Extent, extent, shown_lengths
from regulargpt.text.measurements.alignment.questions import QuestionedWord, ask, questions_of
from regulargpt.text.measurements.alignment.setting import Setting
from regulargpt.text.measurements.alignment.stops import Stop, stops, trained
from regulargpt.text.measurements.patterns import rows_at


@dataclass(frozen=True)
class HeadView:
    """A head of a layer; or all heads of a layer, of which the mean is shown. Both count from 0."""

    layer: int
    head: int | None = None


@dataclass(frozen=True)
class Word:
    """A word, its questions, and for each of them, each view and each temperature a row of attention.

    `answers` and `p` are what the network says at each temperature, and the probability of what is right.
    """

    questioned: QuestionedWord
    rows: Float[ndarray, "questions views stops keys"]
    answers: tuple[tuple[str, ...], ...]  # (questions, stops)
    p: Float[ndarray, "questions stops"]

    @property
    def p_max(self) -> Float[ndarray, "questions views stops"]:
        """The largest probability of each row."""
        return self.rows.max(-1)

    @property
    def entropy(self) -> Float[ndarray, "questions views stops"]:
        """The entropy of each row in nats."""
        return -(self.rows * np.log(self.rows, where=self.rows > 0, out=np.zeros_like(self.rows))).sum(-1)

    @property
    def on_needle(self) -> Float[ndarray, "questions views stops"]:
        """The attention to the answer; nan where it stands nowhere."""
        weights = np.full(self.rows.shape[:-1], np.nan)
        for question, place in enumerate(self.questioned.needles):
            if place is not None:
                weights[question] = self.rows[question, :, :, place]
        return weights


@dataclass(frozen=True)
class RunFacts:
    """The run that a page is of, its data, and the seed of its words."""

    config: RunConfig
    source: Data
    seed: int


@dataclass(frozen=True)
class AttentionViews:
    """What the page of an alignment shows: a word of the training length as trained, and a longer one at every stop."""

    run: RunFacts
    setting: Setting
    extent: Extent
    views: tuple[HeadView, ...]
    stops: tuple[Stop, ...]
    short: Word
    long: Word


def look(run: RunFacts, setting: Setting, temperatures: Mapping[str, Temperature]) -> AttentionViews | None:
    """Read both words at every temperature. None where words are too long for a page, or none are longer.

    None for an encoder-decoder too: its encoder reads the document alone, and pays no attention from a question.
    """
    lengths = shown_lengths(run.source, *setting.lengths)
    if lengths is None or not isinstance(setting.model, Transformer):
        return None
    steps = stops(setting.shape, temperatures)
    size = extent(lengths, setting.shape, len(steps), questions_of(run.source))
    views = views_of(setting.shape, size.layers)
    words = [ask(run.source, run.config, run.seed, T, size.questions) for T in lengths]
    short, long = (
        word(setting.model, setting.on, word_of, views, some)
        for word_of, some in zip(words, ([steps[trained(steps)]], steps), strict=True)
    )
    return AttentionViews(run, setting, size, views, tuple(steps), short, long)


def views_of(shape: tuple[int, int], layers: int) -> tuple[HeadView, ...]:
    """The mean of the last layer, then the heads of the last `layers` layers.

    >>> views_of((2, 2), layers=1)
    (HeadView(layer=1, head=None), HeadView(layer=1, head=0), HeadView(layer=1, head=1))
    """
    n_layers, n_heads = shape
    heads = (HeadView(layer, head) for layer in range(n_layers - layers, n_layers) for head in range(n_heads))
    return (HeadView(n_layers - 1), *heads)


def word(model: Transformer, on: str, word: QuestionedWord, views: tuple[HeadView, ...], steps: list[Stop]) -> Word:
    """What a word's questions attend to, and are answered by, at these temperatures."""
    rows, answers, p = [], [], []
    for stop in steps:
        with at_temperature(model, stop.tau, on):
            attention, logits = rows_at(model, word.word, word.at)
        rows.append([seen_by(view, attention.double().numpy()) for view in views])
        names, right = word.reading.said(logits)
        answers.append(names)
        p.append(right)
    whole = np.array(rows).transpose(2, 1, 0, 3)  # (questions, views, stops, keys), stops and views before questions
    return Word(word, whole, tuple(zip(*answers, strict=True)), np.array(p).T)


def seen_by(
    view: HeadView, rows: Float[ndarray, "n_layers n_heads questions keys"]
) -> Float[ndarray, "questions keys"]:
    """The rows of a head, or the mean of all."""
    return rows[view.layer].mean(0) if view.head is None else rows[view.layer, view.head]
