"""What is aligned, a trained model of attention and words of two lengths, and how temperatures are found for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from languages.errors import UserError
from regulargpt.data.base import Words
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.temperature import Temperature, at_temperature
from regulargpt.measurements.sample import refuse_many, why_not
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.runs.opened import Opened, open_run
from regulargpt.storage.atomic import shown
from regulargpt.storage.folder import RunFolder
from regulargpt.text.measurements.alignment import propositions
from regulargpt.text.measurements.alignment.search import HALVINGS, Groups, TemperatureSearch, search
from regulargpt.text.measurements.alignment.statistics import ByHead, Sharpness, sharpness

# Words that attention is measured on.
SEGMENTS = 8
# By how many the training length is multiplied where nobody says otherwise.
TIMES = 8
# Pairs of positions take time; memory would allow more.
LONGEST = 1 << 15
SEARCHED = ("p_max", "entropy")


@dataclass(frozen=True)
class Setting:
    """What is aligned: a network and the digest of its weights, words of the training length and of the longer length.

    `unread` is how many symbols at the end of a word attention does not see: those that a decoder reads. `heard` is
    told, after each pass, how many symbols it has read.
    """

    model: Attentive
    weights: str
    short: Words
    long: Words
    by: str
    on: str
    unread: int = 0
    heard: Callable[[int], None] = lambda symbols: None

    @property
    def shape(self) -> tuple[int, int]:
        """Layers and heads."""
        return len(self.model.attentions), self.model.attentions[0].n_heads

    @property
    def lengths(self) -> tuple[int, int]:
        """That of training and the greater length."""
        return self.short.shape[1] - self.unread, self.long.shape[1] - self.unread

    @property
    def words(self) -> dict[str, Words]:
        """Both, by name."""
        return {"short": self.short, "long": self.long}

    @cached_property
    def before(self) -> dict[str, Sharpness]:
        """How sharp attention is in both without a temperature."""
        return {name: self.sharpness(name) for name in self.words}

    def sharpness(self, name: str) -> Sharpness:
        """How sharp attention is in the short or the long words, as the model is set."""
        sharp = sharpness(self.model, self.words[name])
        self.heard(self.words[name].size)
        return sharp

    def groups(self, values: ByHead) -> Groups:
        """The means of the groups that share a temperature."""
        n_layers, n_heads = self.shape
        sizes = {"model": (1, n_layers * n_heads), "layer": (n_layers, n_heads), "head": (n_layers * n_heads, 1)}
        return values.reshape(sizes[self.by]).mean(1)  # (groups,)

    def spread(self, tau: Groups) -> ByHead:
        """A number for each head from that of its group."""
        n_layers, n_heads = self.shape
        return np.repeat(tau, n_layers * n_heads // len(tau)).reshape(n_layers, n_heads)  # from (groups,)

    def at(self, tau: Groups) -> Sharpness:
        """How sharp attention is in the long words at these temperatures."""
        with at_temperature(self.model, self.spread(tau), self.on):
            return self.sharpness("long")

    def temperature(self, tau: Groups, strategy: str) -> Temperature:
        """As it is kept in a file."""
        rows = tuple(tuple(layer) for layer in self.spread(tau).tolist())
        return Temperature(rows, self.on, strategy, self.by, *self.lengths, self.weights)


@dataclass(frozen=True)
class AlignmentTarget:
    """What is aligned, which network and text that is, a title, and the test at the greater length."""

    setting: Setting
    facts: Mapping[str, str]
    title: str
    point: Callable[[Temperature | None], Point]


def as_measured(place: RunFolder | Opened) -> Opened:
    """What is open already, or the run in a folder, every position of which sees what it may."""
    return place if isinstance(place, Opened) else open_run(place, attention="full")


def setting_of(
    place: RunFolder | Opened,
    length: int | None = None,
    words: int = SEGMENTS,
    by: str = "model",
    on: str = "all",
    seed: int | None = None,
) -> Setting:
    """The run, and its words.

    Raises UserError for a run that is not finished, a model without attention, lengths without words, or a length that
    is not longer than the training words.
    """
    run = as_measured(place)
    config, source = run.config, run.data
    train_len = max(source.lengths(config.data.train_len), default=0)
    length = default_length(run) if length is None else length
    if length <= train_len:
        raise UserError(f"--length {length}: the run was trained on up to {train_len} symbols; choose a longer one")
    for T in (train_len, length):
        if not source.is_tested(T):
            raise UserError(f"--length {T}: {source.describe_length(T)}")
    if (reason := config.network.too_long(length)) is not None:
        raise UserError(f"--length {length}: {reason}")
    if length > LONGEST:
        raise UserError(f"--length {length}: at most {LONGEST:,}, since all pairs count; choose a shorter one")
    refuse_many(length, words, "words")
    model = run.model
    if not isinstance(model, Attentive):
        raise UserError(
            f"{shown(run.path)} is a run of {config.model.title}: it has no softmax over positions; "
            "choose a transformer's"
        )
    seed = config.seed if seed is None else seed
    # Of the training part, so that nothing is fitted to what is tested; a text has the symbol behind a segment too.
    short, long = (source.batch(seed, "alignment", 0, [T], words)[:, :T] for T in (train_len, length))
    return Setting(model, run.weights, short, long, by, on)


def default_length(run: Opened) -> int:
    """8, 4 or 2 times the training length, the first that is possible; of a language always 8 times.

    Raises UserError for a text or a network without any of them.
    """
    train_len, is_text = run.train_len, run.data.kind == "text"
    for length in (times * train_len for times in (TIMES, 4, 2)):
        if not is_text or (length <= LONGEST and why_not(run, length) is None):
            return length
    if 2 * train_len > LONGEST:
        reason = f"at most {LONGEST:,} symbols are aligned"
    else:
        reason = (why_not(run, 2 * train_len) or "").removesuffix("; choose a shorter length, or a longer text")
    raise UserError(f"nothing longer than the training length {train_len:,} can be aligned: {reason}")


def symbols_of_search(train_len: int, length: int, words: int = SEGMENTS, tried: int = HALVINGS) -> int:
    """How many symbols are read to find a temperature: both words without one, and the longer at each that is tried.

    >>> symbols_of_search(64, 128, words=1)
    1472
    """
    return words * (train_len + (1 + tried) * length)


def search_of(setting: Setting, name: str) -> TemperatureSearch:
    """The temperatures that restore a statistic: P_max falls with them, entropy rises."""
    target, start = (setting.groups(getattr(setting.before[which], name)) for which in ("short", "long"))
    return search(lambda tau: setting.groups(getattr(setting.at(tau), name)), target, start, rises=name == "entropy")


def find(setting: Setting, strategy: str) -> Temperature:
    """The temperature by one strategy: p_max, entropy or log."""
    if strategy not in SEARCHED:
        return setting.temperature(np.array([propositions.of_lengths(*setting.lengths)]), strategy)
    return setting.temperature(search_of(setting, strategy).tau, strategy)
