"""Decoders of `transformers` as a `DecoderOnly`: GPT-2, GPT-NeoX (Pythia), Llama, Mistral, Qwen2 and Qwen3."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError, shown
from regulargpt.text.corpora.tokens import Tokens
from regulargpt.text.decoders.families import FAMILIES, options, trained_length
from regulargpt.text.decoders.options import DecoderOnlyOptions
from regulargpt.text.pretrained import (
    TOKENIZER,
    CheckpointFamily,
    digest,
    fitting,
    folder_of,
    read_config,
    read_network,
    refused,
    tokens_of,
    weight_files,
)

if TYPE_CHECKING:
    from regulargpt.text.decoders.model import DecoderOnly

DECODER = CheckpointFamily("AutoModelForCausalLM", tuple(FAMILIES), "decoder")
BYTES = 256


@dataclass(frozen=True, eq=False)
class DecoderCheckpoint:
    """A folder whose config can be read, and which has weights. The weights are not read yet."""

    folder: Path
    config: Any

    @classmethod
    def open(cls, place: str | Path) -> DecoderCheckpoint:
        """That in a folder, which may be written `hf:PATH`.

        Raises UserError for no such folder, another architecture, and weights that are a pickle or not there; and
        CorpusError without the extra `hf`.
        """
        folder = folder_of(place)
        config = read_config(folder, DECODER)
        weight_files(folder)
        checkpoint = cls(folder, config)
        _ = checkpoint.options, checkpoint.train_len  # refused now
        return checkpoint

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.resolve().name

    @cached_property
    def options(self) -> DecoderOnlyOptions:
        """Those of the network."""
        with refused(self.folder, DECODER):
            return options(self.config)

    @property
    def train_len(self) -> int:
        """The training length, as far as the config says it."""
        return trained_length(self.config)

    @property
    def vocabulary_size(self) -> int:
        """The symbols that the network has an embedding of."""
        return self.config.vocab_size

    @cached_property
    def tokens(self) -> Tokens | None:
        """The tokenizer beside the weights; None where there is none and symbols are bytes. UserError if it is lacking
        or does not fit."""
        if self.vocabulary_size == BYTES and not (self.folder / TOKENIZER).is_file():
            return None
        return fitting(tokens_of(self.folder), self.vocabulary_size)

    @property
    def ends(self) -> frozenset[int]:
        """The tokens behind which a text is at its end: one, several or none, as its config says."""
        tokens = self.config.eos_token_id
        return frozenset([] if tokens is None else [tokens] if isinstance(tokens, int) else tokens)

    @cached_property
    def digest(self) -> str:
        return digest(self.folder)

    def load(self) -> DecoderOnly:
        """The network in float32, for evaluation.

        Raises UserError for tensors that are missing, unknown, of another shape, or damaged.
        """
        theirs = read_network(self.folder, self.config, DECODER)

        from regulargpt.text.decoders.from_transformers import converted

        with refused(self.folder, DECODER):
            return converted(theirs)


def refuse_no_name(checkpoint: DecoderCheckpoint) -> None:
    """UserError for a folder without a name, after which files would be called."""
    if not checkpoint.name:
        raise UserError(f"{shown(checkpoint.folder)} has no name of its own; give the checkpoint a folder")
