"""Randomised positions (Ruoss et al. 2023): a model that has seen many positions in training meets few new ones."""

import torch
from jaxtyping import Float
from torch import Tensor

from languages.errors import UserError
from regulargpt.models.layers import Counted


class RandomPositions(Counted):
    """Positions drawn without replacement from 0, 1, ..., among - 1, and sorted: one draw for all words of a batch.

    In training each batch has its own draw; in evaluation it is a fixed draw for each length.

    Raises `UserError` for words longer than there are positions.

    >>> RandomPositions(100).eval()(4)
    tensor([19., 44., 90., 93.], dtype=torch.float64)
    """

    def __init__(self, among: int):
        super().__init__()
        self.among = among

    def forward(self, length: int) -> Float[Tensor, "length"]:
        if length > self.among:
            raise UserError(f"words of length {length}; random_positions = {self.among} has fewer positions")
        # Drawn on the CPU, so that every device has the same.
        cpu = torch.device("cpu")
        generator = self.next_generator(cpu) if self.training else torch.Generator(cpu).manual_seed(0)
        return torch.randperm(self.among, generator=generator)[:length].sort().values.double()
