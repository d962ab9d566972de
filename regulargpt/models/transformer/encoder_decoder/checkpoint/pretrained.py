"""A T5 checkpoint as one uses it: a text in, its answer out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from languages.text.tokens import Tokens
from regulargpt.models.transformer.encoder_decoder.checkpoint.config import folder_of, read_config
from regulargpt.models.transformer.encoder_decoder.checkpoint.loading import network
from regulargpt.models.transformer.encoder_decoder.checkpoint.stored import digest
from regulargpt.models.transformer.encoder_decoder.checkpoint.tokenizer import tokens_of
from regulargpt.models.transformer.encoder_decoder.greedy import greedy
from regulargpt.models.transformer.encoder_decoder.model import EncoderDecoder

MOST = 64
"""Tokens of an answer where nobody says otherwise."""


@dataclass(frozen=True)
class Pretrained:
    """The network of a checkpoint, the token that an answer begins with, those that end it, and the tokenizer."""

    folder: Path
    model: EncoderDecoder
    start: int
    ends: tuple[int, ...]

    @classmethod
    def load(cls, place: str | Path) -> Pretrained:
        """From a folder, or as written `hf:PATH`; UserError as `load` says."""
        folder = folder_of(place)
        config = read_config(folder)
        return cls(folder, network(folder, config), config.start, config.ends)

    @property
    def vocabulary_size(self) -> int:
        """The tokens that the network knows."""
        return self.model.embedding.num_embeddings

    @cached_property
    def tokens(self) -> Tokens:
        """The tokenizer beside the weights, by the extra `hf`. UserError if there is none that fits."""
        return tokens_of(self.folder, self.vocabulary_size)

    @cached_property
    def digest(self) -> str:
        """That of the weights."""
        return digest(self.folder)

    def encode(self, text: str) -> list[int]:
        """The tokens that the encoder reads, with those that the tokenizer puts around a text."""
        return self.tokens.tokenizer.encode(text).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of an answer, without special tokens."""
        return self.tokens.tokenizer.decode(list(tokens), skip_special_tokens=True)

    def answer(self, source: Sequence[int], most: int = MOST) -> list[int]:
        """The most probable token after token, up to one that ends an answer, which is left out, or `most` of them.

        Raises UserError for a source without tokens, or with one that the network does not know.
        """
        return greedy(self.model, source, start=self.start, ends=self.ends, most=most)
