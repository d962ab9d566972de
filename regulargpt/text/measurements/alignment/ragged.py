"""Alignment on words that differ in length, as prompts of a task do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regulargpt.data.base import Words
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.text.measurements.alignment.setting import Setting
from regulargpt.text.measurements.alignment.statistics import Sharpness, sharpness


@dataclass(frozen=True, kw_only=True)
class RaggedSetting(Setting):
    """A setting whose words end at `sizes`, by the names of `words`; what stands behind is padding, and never read.

    A word is read by itself, and each query counts once: the means are over all of them, as in Algorithm 1.
    """

    sizes: Mapping[str, tuple[int, ...]]

    @property
    def lengths(self) -> tuple[int, int]:
        """The mean lengths, in whole symbols."""
        short, long = (round(float(np.mean(self.sizes[name])) - self.unread) for name in ("short", "long"))
        return short, long

    def sharpness(self, name: str) -> Sharpness:
        """The means over the words, weighted by their queries."""
        words = zip(self.words[name], self.sizes[name], strict=True)
        sharp = [sharpness(self.model, word[None, :size]) for word, size in words]
        queries = [size - self.unread for size in self.sizes[name]]
        p_max, entropy = (
            np.average([getattr(sharp, key) for sharp in sharp], axis=0, weights=queries)
            for key in ("p_max", "entropy")
        )
        return Sharpness(p_max, entropy)


def ragged(
    model: Attentive,
    weights: str,
    short: Sequence[Sequence[int]],
    long: Sequence[Sequence[int]],
    by: str = "model",
    on: str = "all",
    unread: int = 0,
) -> RaggedSetting:
    """The setting of these words, each a list of symbols, of a bidirectional model.

    >>> from regulargpt.text.encoder_decoder import EncoderDecoder
    >>> model = EncoderDecoder(5, 5, d_model=8, n_heads=2, d_ff=16)
    >>> setting = ragged(model, "", [[1, 2, 0]], [[1, 2, 3, 4, 0], [4, 3, 2, 1, 2, 3, 0]], unread=1)
    >>> setting.lengths, setting.long.tolist()[0]
    ((2, 5), [1, 2, 3, 4, 0, 0, 0])
    """
    sizes = {name: tuple(map(len, words)) for name, words in (("short", short), ("long", long))}
    return RaggedSetting(model, weights, padded(short), padded(long), by, on, unread, sizes=sizes)


def padded(words: Sequence[Sequence[int]]) -> Words:
    """The words below each other, with zeros at their ends."""
    rows = np.zeros((len(words), max(map(len, words))), dtype=np.int64)
    for row, word in zip(rows, words, strict=True):
        row[: len(word)] = word
    return rows
