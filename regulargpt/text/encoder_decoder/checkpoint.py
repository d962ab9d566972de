"""T5 checkpoints of `transformers` as an `EncoderDecoder`: T5, T5 1.1, Flan-T5, mT5, CodeT5, CodeT5+ up to 770M."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from regulargpt.text.corpora.tokens import Tokens
from regulargpt.text.pretrained import (
    CheckpointFamily,
    digest,
    fitting,
    folder_of,
    read_config,
    read_network,
    refused,
    tokens_of,
)

if TYPE_CHECKING:
    from regulargpt.text.encoder_decoder.model import EncoderDecoder

# Those whose every layer has the first layer's bias: the others have a network of their own.
T5 = CheckpointFamily("AutoModelForSeq2SeqLM", ("t5", "mt5"), "T5", ", encoder and decoder")
ANSWER_TOKENS = 64
"""Tokens of an answer where nothing else is said."""


@dataclass(frozen=True)
class Pretrained:
    """The network of a checkpoint, the token that an answer begins with, those that end it, and the tokenizer."""

    folder: Path
    model: EncoderDecoder
    start: int
    ends: tuple[int, ...]

    @classmethod
    def load(cls, place: str | Path) -> Pretrained:
        """From a folder, which may be written `hf:PATH`, in float32 and for evaluation.

        Raises UserError for no such folder, another architecture, weights that are a pickle, tensors that are missing,
        unknown, of another shape, or damaged; and CorpusError without the extra `hf`.
        """
        folder = folder_of(place)
        theirs = read_network(folder, read_config(folder, T5), T5)

        from regulargpt.text.encoder_decoder.from_transformers import converted, special_tokens

        with refused(folder, T5):
            start, ends = special_tokens(theirs)
            return cls(folder, converted(theirs), start, ends)

    @property
    def vocabulary_size(self) -> int:
        """The tokens that the network has an embedding of."""
        return self.model.embedding.num_embeddings

    @cached_property
    def tokens(self) -> Tokens:
        """The tokenizer beside the weights. UserError if there is none that fits."""
        return fitting(tokens_of(self.folder), self.vocabulary_size)

    @cached_property
    def digest(self) -> str:
        return digest(self.folder)

    def encode(self, text: str) -> list[int]:
        """The tokens that the encoder reads, with those that the tokenizer puts around a text."""
        return self.tokens.tokenizer.encode(text).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of an answer, without special tokens."""
        return self.tokens.tokenizer.decode(list(tokens), skip_special_tokens=True)

    def answer(self, source: Sequence[int], most: int = ANSWER_TOKENS) -> list[int]:
        """The most probable token after token, up to a token that ends an answer, which is left out, or `most` of them.

        Raises UserError for a source without tokens, or with a token that the network has no embedding of.
        """
        from regulargpt.text.encoder_decoder.greedy import greedy

        return greedy(self.model, source, start=self.start, ends=self.ends, most=most)
