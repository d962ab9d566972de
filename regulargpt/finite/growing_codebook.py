"""A codebook that grows while states come: what lies near a prototype is taken for it, all else becomes one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from languages.errors import UserError
from regulargpt.finite.table import nearest_two

Ints = npt.NDArray[np.int64]

# More prototypes than this are no finite set of states, but a cloud or a counter.
MAX_PROTOTYPES = 512


class GrowingCodebook:
    """A codebook to which every state farther than rho from all prototypes is added.

    Raises UserError when they become more than `max_prototypes`.

    >>> book = GrowingCodebook(torch.tensor([[0.0]]), rho=1.0)
    >>> book(torch.tensor([[0.1], [0.5], [3.0], [3.2]])).tolist()
    [1, 1, 2, 2]
    >>> book.means().flatten().tolist()
    [0.30000001192092896, 3.0999999046325684]
    """

    def __init__(self, prototypes: Float[Tensor, "K d_model"], rho: float, max_prototypes: int = MAX_PROTOTYPES):
        self.prototypes, self.rho, self.max_prototypes = prototypes, rho, max_prototypes
        self.sums = torch.zeros_like(prototypes)
        self.counts = prototypes.new_zeros(len(prototypes))

    def __call__(self, states: Float[Tensor, "n d_model"]) -> Ints:
        """The nearest prototype (n,) of each state, from 1; new ones are taken in the order of the states."""
        before = len(self.prototypes)
        distance, nearest = (two[:, 0] for two in nearest_two(states, self.prototypes))
        # One after the other, for each new prototype may be near to states that are still far.
        while bool((far := distance > self.rho).any()):
            new = states[int(far.int().argmax())]
            if len(self.prototypes) >= self.max_prototypes:
                raise UserError(
                    f"the states do not lie near {self.max_prototypes} points or fewer (radius {self.rho:.3g}): "
                    "there is no codebook to extract a machine from; train longer, or with state noise"
                )
            self.prototypes = torch.cat([self.prototypes, new[None]])
            closer = (away := (states - new).norm(dim=1)) < distance
            nearest[closer] = len(self.prototypes) - 1
            distance = torch.where(closer, away, distance)
        # Room in sums and counts for the new prototypes: (K, d_model), (K,).
        grown = (0, len(self.prototypes) - before)
        self.sums = torch.nn.functional.pad(self.sums, (0, 0, *grown)).index_add(0, nearest, states)
        self.counts = torch.nn.functional.pad(self.counts, grown) + nearest.bincount(minlength=len(self.prototypes))
        # A new prototype stands in the middle of what came with it: what follows from the rim lies farther out.
        self.prototypes = torch.cat([self.prototypes[:before], self.means()[before:]])
        return 1 + nearest.numpy()

    def close(self, after: Callable[[Float[Tensor, "n d_model"]], Float[Tensor, "m d_model"]]) -> None:
        """Take in what follows from each prototype, until nothing new comes."""
        done = 0
        # Only what is new has to be followed: the others' successors are there.
        while done < len(self.prototypes):
            new, done = self.prototypes[done:], len(self.prototypes)
            self(after(new))

    def means(self) -> Float[Tensor, "K d_model"]:
        """The mean of the states that came to each prototype, or itself. Not to be iterated: means of means drift."""
        counts = self.counts[:, None]  # (K, 1)
        return torch.where(counts > 0, self.sums / counts.clamp(min=1), self.prototypes)
