"""A recurrent network in training as a chain: what `finite/chain.py` is, with gradients and in its own precision."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.finite.chain import real, rebuilt, tensors
from regulargpt.models.recurrent import Recurrent


class LiveChain:
    """A network's step from one state, a vector of D real numbers, to the next.

    >>> from regulargpt.models.gru import Gru
    >>> model = Gru(2, 3, d_model=4)
    >>> chain = LiveChain(model)
    >>> state = chain.step(None, torch.tensor([0]))[1]
    >>> torch.allclose(chain.step(state, torch.tensor([1]))[0], model(torch.tensor([[0, 1]])), atol=1e-6)
    True
    """

    def __init__(self, model: Recurrent):
        self.model, self.device = model, next(model.parameters()).device
        with torch.no_grad():
            _, self.pattern = model.read(torch.zeros(1, 1, dtype=torch.long, device=self.device), None, "last")
        self.shapes = [real(part).shape[1:] for part in tensors(self.pattern)]

    def step(
        self, states: Float[Tensor, "n D"] | None, symbols: Int[Tensor, "n"]
    ) -> tuple[Float[Tensor, "n n_outputs"], Float[Tensor, "n D"]]:
        """The logits, and the states after another symbol, or after the first where there are no states."""
        before = None
        if states is not None:
            parts = states.split([shape.numel() for shape in self.shapes], 1)
            numbers = (part.reshape(-1, *shape) for part, shape in zip(parts, self.shapes, strict=True))  # (n, *shape)
            before = rebuilt(self.pattern, numbers)
        logits, after = self.model.read(symbols[:, None].to(self.device), before, "last")
        return logits, torch.cat([real(part).reshape(len(symbols), -1) for part in tensors(after)], 1)  # (n, D)
