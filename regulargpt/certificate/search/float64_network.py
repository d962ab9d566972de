"""RegularGPT in float64 and without gradients: what the table of the quantised network is computed with."""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from languages.errors import UserError
from regulargpt.models.regulargpt import RegularGPT

Ints = npt.NDArray[np.int64]

# Windows that go through the block, and states that are compared with all prototypes, at once.
ROWS = 4096


class Float64Network:
    """The maps that RegularGPT iterates, in float64 and without gradients.

    Raises UserError for a network whose levels are not one and the same map at every length: thickness above 1, no
    weight sharing, a fixed depth, a masked pad, full attention.
    """

    def __init__(self, model: RegularGPT):
        if model.thickness > 1 or model.distinct_levels > 1:
            what = f"thickness = {model.thickness}, distinct_levels = {model.distinct_levels}"
            raise UserError(f"{what}: a certificate is for one weight-shared layer, thickness = 1, distinct_levels = 1")
        if model.levels or model.masked or model.full:
            what = f"levels = {model.levels}, masked = {model.masked}, full = {model.full}"
            raise UserError(f"{what}: a certificate is for adaptive depth, a learned pad and dilated attention")
        self.model = as_float64(model)
        self.block = self.model.layers(0)[0]
        self.pad = self.model.pad.detach()
        self.symbols = self.model.leaves().detach()

    @property
    def chunk_size(self) -> int:
        """C."""
        return self.model.chunk_size

    def over(self, states: Float[Tensor, "rows d_model"], windows: Ints) -> Float[Tensor, "n d_model"]:
        """The states over windows of these states, counted from 1; 0 is the pad."""
        return self._over(torch.cat([self.pad, states]), windows)

    def over_symbols(self, windows: Ints) -> Float[Tensor, "n d_model"]:
        """The states over windows of symbols, counted from 1; 0 is the pad."""
        return self._over(self.symbols, windows)

    @torch.no_grad()
    def _over(self, rows: Float[Tensor, "rows d_model"], windows: Ints) -> Float[Tensor, "n d_model"]:
        children: Int[Tensor, "n C"] = torch.from_numpy(np.ascontiguousarray(windows))
        if not len(children):
            return rows[:0]
        return torch.cat([self.model.settle(self.block(rows, batch)) for batch in children.split(ROWS)])

    @torch.no_grad()
    def readout(self, states: Float[Tensor, "n d_model"]) -> Float[Tensor, "n n_outputs"]:
        """The logits."""
        return self.model.readout(states)


def as_float64(model: RegularGPT) -> RegularGPT:
    """A copy in float64, on the CPU, in evaluation mode."""
    return copy.deepcopy(model).to("cpu", torch.float64).eval()
