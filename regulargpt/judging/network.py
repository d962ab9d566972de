"""A module of somebody else's, as the networks of this package are asked."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.models.base import Model
from regulargpt.models.hooks import HookPoint
from regulargpt.models.layers import Readout
from regulargpt.models.recurrent import Recurrent

CELL = ("start", "step", "readout")
WAYS = "a cell has start(batch), step(state, symbols) and readout(state); any other network forward(words)"


class Cell(Recurrent):
    """A cell: `start(batch)` is the state before the first symbol, `step(state, symbols)` the one after a symbol of
    each word, and `readout(state)` the logits there.

    A state is a tensor (batch, ..), or tuples, lists and dictionaries of them.

    >>> class Sum(nn.Module):
    ...     def start(self, batch):
    ...         return torch.zeros(batch, 1)
    ...     def step(self, state, symbols):
    ...         return state + symbols[:, None]
    ...     def readout(self, state):
    ...         return torch.cat([-state, state], 1)
    >>> Cell(Sum(), 2)(torch.tensor([[0, 1, 1]]))
    tensor([[-2.,  2.]])
    """

    def __init__(self, module: nn.Module, n_symbols: int):
        Model.__init__(self)
        self.hook_embed, self.hook_output = HookPoint(), HookPoint()
        self.module: Any = module
        self.n_symbols = n_symbols
        self.readout = nn.Identity()  # what `advance` gives are logits

    @property
    def own(self) -> nn.Module:
        """The module, whose weights have the names that its author gave them."""
        return self.module

    def start(self, batch: int) -> Any:
        """The state before the first symbol."""
        return self.module.start(batch)

    def advance(
        self, piece: Int[Tensor, "batch part"], state: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch read n_outputs"], Any]:
        state, logits = self.start(len(piece)) if state is None else state, list[Tensor]()
        for place, symbols in enumerate(piece.unbind(1), 1):
            state = self.module.step(state, symbols)
            if readout == "all" or place == piece.shape[1]:
                logits.append(self.module.readout(state))
        return torch.stack(logits, 1), state  # (batch, 1 or part, n_outputs)


class Whole(Model):
    """A network that reads whole words (batch, length) and gives logits, of the last position or of all."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        logits = self.module(words)
        return logits[:, -1] if readout == "last" and logits.dim() == 3 else logits


def as_network(module: nn.Module, n_symbols: int) -> Cell | Whole:
    """The network that a module is, in evaluation mode. Raises UserError for what is neither kind.

    >>> as_network(nn.Linear(2, 2), 2)
    Whole(
      (module): Linear(in_features=2, out_features=2, bias=True)
    )
    """
    if not isinstance(module, nn.Module):
        raise UserError(f"{type(module).__name__} is no torch.nn.Module; {WAYS}")
    has = [name for name in CELL if callable(getattr(type(module), name, None))]
    if len(has) == len(CELL):
        return Cell(module, n_symbols).eval()
    if "step" in has:
        missing = next(name for name in CELL if name not in has)
        raise UserError(f"{type(module).__name__} has step, and no {missing}; {WAYS}")
    if type(module).forward is nn.Module.forward:
        raise UserError(f"{type(module).__name__} has neither step nor forward; {WAYS}")
    return Whole(module).eval()
