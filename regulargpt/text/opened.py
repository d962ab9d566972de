"""A decoder that others trained, opened as a run is: `hf:PATH` on a text, in the tokens of its own tokenizer.

Nothing here imports torch until the weights are read, so that refusals need no more than `transformers`' config.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError, shown
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import refuse_attention
from regulargpt.data.base import Data
from regulargpt.runs.opened import Opened
from regulargpt.text.data.options import TextOptions
from regulargpt.text.data.segments import TextData
from regulargpt.text.decoders.checkpoint import BYTES, DecoderCheckpoint, refuse_no_name
from regulargpt.text.decoders.families import NAME
from regulargpt.text.pretrained import folder_of, place_of

if TYPE_CHECKING:
    from torch import Tensor

    from regulargpt.models.base import Model
    from regulargpt.objectives.answers import Objective

NO_TEXT = "text:code"
"""What stands in the config of a checkpoint that is asked without a text; it is not read."""
NEEDS_TEXT = "name a file or folder of yours, or text:code, with --text"


@dataclass(frozen=True, eq=False)
class OpenedCheckpoint(Opened):
    """A checkpoint and a text. All models of it share their weights."""

    checkpoint: DecoderCheckpoint

    @property
    def path(self) -> Path:
        return self.checkpoint.folder

    @property
    def learned_len(self) -> int:
        """No less than its config has positions for, whatever training length was given."""
        return max(self.train_len, self.checkpoint.train_len)

    @property
    def trained_on(self) -> str:
        return super().trained_on + " as given" * bool(self.notes)

    @property
    def notes(self) -> list[str]:
        """That a training length was given which is not the config's."""
        given, own = self.train_len, self.checkpoint.train_len
        return [] if given == own else [f"its config says {own:,} positions; you gave --train-len {given}"]

    def results(self, name: str) -> Path:
        """Not in the checkpoint's folder: it belongs to others."""
        return Path(name) / self.checkpoint.name

    @property
    def weights(self) -> str:
        return self.checkpoint.digest

    @cached_property
    def parameters(self) -> Mapping[str, Tensor]:
        """The weights by our names."""
        return self.checkpoint.load().state_dict()

    def network(self, changes: Mapping[str, Any] = {}) -> Model:
        import torch

        from regulargpt.text.decoders.model import DecoderOnly

        options = self.config.replaced({f"model.{key}": value for key, value in changes.items()}).network
        symbols = self.checkpoint.vocabulary_size
        with torch.device("meta"):  # nothing is drawn
            model = DecoderOnly(symbols, symbols, **options.arguments())
        model.load_state_dict(self.parameters, assign=True)
        return model.eval()

    def refuse_words(self, words: Data) -> None:
        """Another tokenizer's numbers would be other words to the network; bytes have none."""
        own, given = self.trained.data, words.options if isinstance(words, TextData) else None
        assert isinstance(own, TextOptions)
        if given is None or given.tokenizer != own.tokenizer:
            tokens = own.tokenizer or f"its {BYTES} symbols are bytes"
            raise UserError(f"{shown(self.path)} reads texts in tokens of its own ({tokens}); leave out data.tokenizer")

    def refuse_objective(self, objective: Objective, name: str) -> None:
        """It tells the next symbol, and nothing else: validation refuses what does not go with a text."""

    def facts(self, *keys: str) -> dict[str, Any]:
        return super().facts(*keys) | {"model": self.checkpoint.name, "config_len": self.checkpoint.train_len}


@dataclass(frozen=True)
class T5OnText:
    """A T5 at hf:PATH and a text, of which nothing is read yet. It was trained on `train_len` tokens, usually 512."""

    place: str
    text: str
    train_len: int | None = None
    device: str = "cpu"

    def results(self, name: str) -> Path:
        """As those of the others."""
        return Path(name) / folder_of(self.place).resolve().name


def refuse_no_text(place: str | Path, named: str | None) -> str:
    """The text that is named for a checkpoint; UserError for none."""
    if named is None:
        raise UserError(f"{place} needs a text; {NEEDS_TEXT}")
    return named


def open_checkpoint(
    place: str | Path,
    named: str | None,
    train_len: int | None = None,
    *,
    attention: str = "",
    scoring: str = "",
    device: str = "cpu",
) -> OpenedCheckpoint:
    """The checkpoint in a folder, on a text: a file, folder or name of a text.

    It was trained on `train_len` tokens, by default as many as its config has positions for. Raises UserError, before
    the weights are read, for a folder or text that cannot be read, and an attention that there is not.
    """
    named = refuse_no_text(place, named)
    checkpoint = DecoderCheckpoint.open(place)
    refuse_no_name(checkpoint)
    config = config_of(checkpoint, place_of(named), train_len)
    changes = {"evaluation.attention": attention or "full", "device": device}
    measured = config.replaced(changes | ({"data.scoring": scoring} if scoring else {}))
    if (reason := refuse_attention(measured)) is not None:
        raise UserError(reason)
    return OpenedCheckpoint(config, measured, checkpoint)


def open_alone(place: str | Path, train_len: int | None = None, *, device: str = "cpu") -> OpenedCheckpoint:
    """The checkpoint in a folder for what needs no text: it has no data. Refusals as of `open_checkpoint`."""
    return open_checkpoint(place, NO_TEXT, train_len, device=device)


def config_of(checkpoint: DecoderCheckpoint, text: str, train_len: int | None) -> RunConfig:
    """The config of a run that would have trained it: the recipe of texts, with its own network and tokens."""
    tokens, longest = checkpoint.tokens, train_len or checkpoint.train_len
    usual = resolve("text", NAME, text)
    assert isinstance(usual.data, TextOptions)
    data = replace(usual.data, train_len=longest, tokenizer="" if tokens is None else str(tokens.path))
    config = replace(usual, data=data, model=checkpoint.options, device="cpu", threads=cores())
    # A table of positions ends: beyond it nothing is tested, unless somebody says how.
    is_endless = config.network.too_long(config.test_len) is None
    return config if is_endless else config.replaced({"evaluation.test_len": longest})


def cores() -> int:
    """The threads that a network of this size may have: as many as OMP_NUM_THREADS says, or the process has cores."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdecimal() and int(given) else len(os.sched_getaffinity(0))
