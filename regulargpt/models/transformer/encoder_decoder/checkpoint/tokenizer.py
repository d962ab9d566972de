"""The tokenizer beside the weights of a checkpoint."""

from __future__ import annotations

from pathlib import Path

from languages.errors import UserError, shown
from languages.text.tokens import Tokens, read_tokens

TOKENIZER = "tokenizer.json"


def tokens_of(folder: Path, known: int) -> Tokens:
    """The tokenizer of a network that knows so many tokens, by the extra `hf`. UserError if there is none that fits."""
    path = folder / TOKENIZER
    if not path.is_file():
        raise UserError(
            f"{shown(folder)} has no {TOKENIZER}; save the fast tokenizer beside the weights: "
            "AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)"
        )
    found = read_tokens(path)
    if found.vocabulary_size > known:
        raise UserError(f"{shown(path)} has {found.vocabulary_size:,} tokens, and the network knows {known:,}")
    return found
