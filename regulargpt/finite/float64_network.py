"""A weight-shared tree in float64 and without gradients: all that the search for a certificate computes of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.errors import UserError
from regulargpt.models.base import Model
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.shape import Side

Network = TypeVar("Network", bound=Model)
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Windows that go through the block, and states that are compared with all prototypes, at once.
ROWS = 4096


class Float64Network:
    """The map that a weight-shared tree iterates, in float64 and without gradients.

    `options` are the model's in config.json; only the search for balls needs them, and the weights by name, `w`.

    Raises UserError for a network whose levels are not one and the same map at every length.
    """

    def __init__(self, model: Tree, options: Mapping[str, Any] | None = None):
        if (reason := model.why_no_certificate()) is not None:
            raise UserError(f"{reason}: a certificate is for one map of children, the same at every level")
        self.model, self.options = as_float64(model), options or {}
        self.absent = self.model.absent.detach()
        self.symbols = self.model.leaves().detach()
        # In trees that follow brackets symbols stand beside nodes above the symbols: rows behind the prototypes.
        self.beside = self.symbols[:0] if model.direction is None else self.symbols[1:]

    @property
    def chunk_size(self) -> int:
        return self.model.chunk_size

    @property
    def aligned(self) -> Side:
        """The side from which words are cut into windows."""
        return self.model.aligned

    @cached_property
    def w(self) -> dict[str, Floats]:
        """The weights by name."""
        return {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}

    def rows(self, prototypes: Floats) -> Floats:
        """What is absent, then the prototypes: (1 + K, d); in trees that follow brackets, then the symbols."""
        return np.concatenate([self.absent.numpy(), prototypes, self.beside.numpy()])

    def over(self, states: Float[Tensor, "rows d_model"], windows: Ints) -> Float[Tensor, "n d_model"]:
        """The states over windows of these states, counted from 1; 0 is what is absent, behind them are symbols."""
        return self._over(torch.cat([self.absent, states, self.beside]), windows)

    def over_symbols(self, windows: Ints) -> Float[Tensor, "n d_model"]:
        """The states over windows of symbols, counted from 1; 0 is what is absent."""
        return self._over(self.symbols, windows)

    @torch.no_grad()
    def _over(self, rows: Float[Tensor, "rows d_model"], windows: Ints) -> Float[Tensor, "n d_model"]:
        children: Int[Tensor, "n C"] = torch.from_numpy(np.ascontiguousarray(windows))
        if not len(children):
            return rows[:0]
        return torch.cat([self.model.merge(rows, batch) for batch in children.split(ROWS)])

    @torch.no_grad()
    def readout(self, states: Float[Tensor, "n d_model"]) -> Float[Tensor, "n n_outputs"]:
        return self.model.readout(states)


def as_float64(model: Network) -> Network:
    """A copy in float64, on the CPU, in evaluation mode."""
    return copy.deepcopy(model).to("cpu", torch.float64).eval()
