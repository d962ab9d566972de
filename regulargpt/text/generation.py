"""Texts continued by a trained model, symbol by symbol."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from languages.errors import UserError
from regulargpt.models.base import device_of
from regulargpt.runs.device import prepare
from regulargpt.runs.opened import Opened, open_run
from regulargpt.storage.folder import RunFolder
from regulargpt.text.data.options import TextOptions
from regulargpt.text.opened import OpenedCheckpoint

if TYPE_CHECKING:
    from regulargpt.models.base import Model
    from regulargpt.text.corpora import Symbols

Decode = Callable[[list[int]], str]
UNFINISHED = "\N{REPLACEMENT CHARACTER}"
LONGEST_CHARACTER = 4
"""The most bytes of a character in UTF-8."""


@dataclass(frozen=True)
class Writer:
    """A trained model, the symbols of its text, and those that end a text."""

    model: Model
    encode: Callable[[str], Symbols]
    decode: Decode
    ends: frozenset[int] = frozenset()

    @classmethod
    def from_run(
        cls, place: RunFolder | Opened, length: int, changes: Mapping[str, Any] = {}, attention: str = "full"
    ) -> Writer:
        """The model of a run on a text, or of a checkpoint, for texts of up to so many symbols.

        `changes` are options that a test may set otherwise, by their keys within `model`. Raises UserError for a run on
        a language, and for a model that has no such positions, or no such attention.
        """
        run = place if isinstance(place, Opened) else open_run(place, on=("text",), reads=False)
        config = run.config.replaced({f"model.{key}": value for key, value in changes.items()})
        if (reason := config.network.too_long(length)) is not None:
            raise UserError(f"prompt and symbols are {length:,} together: {reason}")
        device = prepare(run.config)
        model = run.network(changes).to(device)
        model.set_attention(attention, run.train_len)
        return cls(model, *spelling(run))

    def continuation(
        self, prompt: Symbols, symbols: int, *, temperature: float, seed: int, window: int | None = None
    ) -> Iterator[int]:
        """So many symbols behind the prompt, each drawn from softmax(logits / temperature); 0: the likeliest.

        They are fewer where one of `ends` is drawn, which is left out.
        """
        generator, decoder = torch.Generator().manual_seed(seed), self.model.decoder(window)
        device, read = device_of(self.model), torch.from_numpy(prompt.astype(np.int64))[None]  # (1, of the prompt)
        for _ in range(symbols):
            drawn = draw(decoder.feed(read.to(device))[0].cpu(), temperature, generator)
            if drawn in self.ends:
                return
            read = torch.tensor([[drawn]])
            yield drawn


def spelling(run: Opened) -> tuple[Callable[[str], Symbols], Decode, frozenset[int]]:
    """From text to symbols and back, and those that end a text; of a checkpoint as its tokenizer begins it."""
    assert isinstance(run.config.data, TextOptions)
    encode, decode = symbols_of(run.config.data)
    if not isinstance(run, OpenedCheckpoint):
        return encode, decode, frozenset()
    tokens = run.checkpoint.tokens
    return encode if tokens is None else tokens.prompt, decode, run.checkpoint.ends


def symbols_of(options: TextOptions) -> tuple[Callable[[str], Symbols], Decode]:
    """From text to the numbers that the network reads, and back: bytes, or the tokens of the run's tokenizer."""
    if options.tokenizer:
        from regulargpt.text.corpora.tokens import read_tokens

        tokens = read_tokens(Path(options.tokenizer))
        return tokens.encode, tokens.decode
    # A character that the command line could not read stands for its byte.
    return (
        lambda text: np.frombuffer(text.encode(errors="surrogateescape"), dtype=np.uint8),
        lambda symbols: bytes(symbols).decode(errors="replace"),
    )


def draw(logits: Float[Tensor, "n_outputs"], temperature: float, generator: torch.Generator) -> int:
    """A symbol from softmax(logits / temperature), or the likeliest at temperature 0.

    >>> draw(torch.tensor([0.0, 3.0, 1.0]), 0.0, torch.Generator())
    1
    """
    if temperature == 0:
        return int(logits.argmax())
    # Shifted first: a small temperature must not divide large numbers into infinite ones.
    shares = ((logits.double() - logits.max()) / temperature).softmax(-1)
    return int(torch.multinomial(shares, 1, generator=generator))


def readable(symbols: Iterable[int], decode: Decode) -> Iterator[str]:
    """The text as it comes: a character whose bytes are not all there waits for them.

    >>> list(readable(b"n\\xc3\\xa9\\xff!", lambda some: bytes(some).decode(errors="replace")))
    ['n', 'é', '\\ufffd!']
    """
    waiting: list[int] = []
    for symbol in symbols:
        waiting.append(symbol)
        text = decode(waiting)
        if not text.endswith(UNFINISHED) or len(waiting) >= LONGEST_CHARACTER:
            yield text
            waiting = []
    if waiting:
        yield decode(waiting)


def harmless(text: str) -> str:
    r"""The text with its control characters written out, so that it cannot steer a terminal.

    >>> harmless("a\tb\x1b[2J")
    'a\tb\\x1b[2J'
    """
    kept = "\n\t"
    return "".join(c if c in kept or unicodedata.category(c) != "Cc" else f"\\x{ord(c):02x}" for c in text)
