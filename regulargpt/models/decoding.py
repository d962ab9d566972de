"""Reading a text bit by bit, with the logits of what comes next after each bit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy

import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.errors import UserError


class Decoder(ABC):
    """What has been read of some texts (batch) so far, in whatever form the model needs to go on."""

    @abstractmethod
    def feed(self, symbols: Int[Tensor, "batch some"]) -> Float[Tensor, "batch n_outputs"]:
        """Read on, at least one symbol of each text; the logits after the last."""

    def fork(self) -> Decoder:
        """Another reader, which has read the same and reads on by itself; nothing is copied before it does."""
        return copy(self)  # what was read is replaced by each `feed`, never changed


class Recomputing(Decoder):
    """Works for every model: it keeps the symbols and computes all of them again, or the last `window` of them.

    >>> from regulargpt.models.rnn import Rnn
    >>> model, word = Rnn(2, 3, d_model=4), torch.tensor([[0, 1, 1]])
    >>> decoder = Recomputing(model)
    >>> for symbol in word.split(1, dim=1):
    ...     logits = decoder.feed(symbol)
    >>> torch.equal(logits, model(word))
    True
    """

    def __init__(self, model: Callable[[Tensor], Tensor], window: int | None = None):
        self.model, self.window = model, checked(window)
        self.symbols: Int[Tensor, "batch seen"] | None = None

    @torch.no_grad()
    def feed(self, symbols: Int[Tensor, "batch some"]) -> Float[Tensor, "batch n_outputs"]:
        seen = symbols if self.symbols is None else torch.cat([self.symbols, symbols], dim=1)
        self.symbols = seen if self.window is None else seen[:, -self.window :]
        return self.model(self.symbols)


def checked(window: int | None) -> int | None:
    """The window; UserError for a window that holds nothing."""
    if window is not None and window < 1:
        raise UserError(f"window = {window}; a window has at least 1 position")
    return window
