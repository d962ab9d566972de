"""The checkpoint that is asked: its tokens, the temperatures of its encoder, and its greedy answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from languages.errors import UserError
from regulargpt.evaluation.temperature import at_temperature
from regulargpt.text.corpora.tokens import Tokens
from regulargpt.text.encoder_decoder.checkpoint import T5, Pretrained
from regulargpt.text.experiments.checkpoint.plan import NONE
from regulargpt.text.pretrained import digest, fitting, folder_of, read_config, tokens_of, weight_files

if TYPE_CHECKING:
    from regulargpt.text.measurements.alignment.ragged import RaggedSetting

# Tokens, as LongEval has it for topics; other answers are one number.
ANSWER_TOKENS = 50
# Of config.json, under its names there.
SIZES = ("vocab_size", "d_model", "d_kv", "d_ff", "num_layers", "num_heads", "relative_attention_num_buckets",
         "relative_attention_max_distance")  # fmt: skip


@dataclass(frozen=True)
class Sharpened:
    """A temperature of the whole encoder, and whether its search ended at a bound."""

    tau: float
    at_bound: bool = False


class Aligned(Protocol):
    """Attention in short and long prompts, from which temperatures are found."""

    def temperature(self, strategy: str) -> Sharpened:
        """The temperature by a strategy."""
        ...


class AnsweringNetwork(Protocol):
    """What is asked of a checkpoint."""

    def aligned(self, short: Sequence[str], long: Sequence[str]) -> Aligned:
        """What temperatures are found from."""
        ...

    def answer(self, text: str, tau: float) -> str:
        """The greedy answer at a temperature of the encoder."""
        ...


@dataclass(frozen=True)
class DiskCheckpoint:
    """A checkpoint as far as its small files say."""

    folder: Path
    sizes: Mapping[str, int]
    tokens: Tokens

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.resolve().name

    @cached_property
    def digest(self) -> str:
        """That of the weights, which are read for it."""
        return digest(self.folder)

    def count(self, text: str) -> int:
        """The tokens of a text, as the encoder reads it: with its end, which the tokenizer adds."""
        return len(self.tokens.tokenizer.encode(text).ids)

    def load(self) -> AnsweringNetwork:
        """With its weights. Raises UserError for tensors that are missing, unknown, of another shape, or damaged."""
        return OfT5(Pretrained.load(self.folder), self.digest)


def on_disk(place: str | Path) -> DiskCheckpoint:
    """The checkpoint in a folder. UserError for none, another architecture, or no tokenizer that fits."""
    folder = folder_of(place)
    if not folder.resolve().name:
        raise UserError(f"{place} has no name of its own; give the checkpoint a folder")
    weight_files(folder)
    tokens, config = tokens_of(folder), read_config(folder, T5)
    sizes = {name: getattr(config, name) for name in SIZES}
    return DiskCheckpoint(folder, sizes, fitting(tokens, sizes["vocab_size"]))


@dataclass(frozen=True)
class OfT5:
    """A loaded checkpoint."""

    loaded: Pretrained
    weights: str

    def aligned(self, short: Sequence[str], long: Sequence[str]) -> PromptAttention:
        """On the encoder, with one temperature for all of its heads, on whole logits."""
        from regulargpt.text.measurements.alignment.ragged import ragged

        # The decoder reads the last symbol: what its answer begins with.
        words, more = ([[*self.loaded.encode(text), self.loaded.start] for text in texts] for texts in (short, long))
        return PromptAttention(ragged(self.loaded.model, self.weights, words, more, unread=1))

    def answer(self, text: str, tau: float) -> str:
        """Without special tokens."""
        attentions = self.loaded.model.attentions
        shape = len(attentions), attentions[0].n_heads
        with at_temperature(self.loaded.model, None if tau == 1 else np.full(shape, tau)):
            return self.loaded.decode(self.loaded.answer(self.loaded.encode(text), ANSWER_TOKENS))


@dataclass(frozen=True)
class PromptAttention:
    """Algorithm 1 of the thesis on prompts of two lengths."""

    setting: RaggedSetting

    def temperature(self, strategy: str) -> Sharpened:
        """By P_max or entropy as at the training length, by the lengths alone, or 1."""
        from regulargpt.text.measurements.alignment.propositions import of_lengths
        from regulargpt.text.measurements.alignment.setting import SEARCHED, search_of

        if strategy == NONE:
            return Sharpened(1.0)
        if strategy not in SEARCHED:
            return Sharpened(of_lengths(*self.setting.lengths))
        search = search_of(self.setting, strategy)
        return Sharpened(float(search.tau[0]), bool(search.at_bound[0]))
