"""One layer of delta in float64: where it settles while it reads v again and again, and its answers.

S' = P S + B for each v, once the convolution holds symbols of v alone. The balls of the checker follow the same steps;
here nothing is rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regulargpt.certificate.refutation.reading import Floats, Reader, Trajectory
from regulargpt.models.delta.model import Delta, DeltaMixer

NULL = 1e-13  # singular values of I - P below this are those of what P keeps, rounded


class DeltaNetwork(Reader):
    """The network's function of symbols and states.

    >>> import numpy as np
    >>> network = DeltaNetwork(Delta(2, 3, d_model=8, n_heads=2, n_layers=1, conv=2))
    >>> far = network.along([0], [1], 3_000).logits([])[-1]
    >>> np.allclose(far, network.limit([0], [1], []), atol=1e-3), len(network.along([1], [0], 3).answers([1]))
    (True, 3)
    """

    forgets = False  # what is orthogonal to all keys of v is kept
    symbols, families = (1 << 12,), 48  # read of one u v v v ..; of which of so many, wrong in the limit

    def __init__(self, model: Delta):
        super().__init__(model)
        mixer = self.blocks[0].mixer
        assert isinstance(mixer, DeltaMixer), "that of delta"
        self.mixer: DeltaMixer = mixer
        self.reach = self.mixer.conv.reach
        self.maps: dict[tuple[int, ...], tuple[Tensor, Tensor]] = {}
        self.led_to: dict[tuple[tuple[int, ...], ...], Any] = {}

    def filling(self, v: Sequence[int]) -> int:
        """How many v fill the convolution."""
        return -(-self.reach // len(v))

    def filled(self, u: Sequence[int], v: Sequence[int]) -> Any:
        """What is carried after u v^n, n the first from which on v is one map."""
        return self.after([*u, *[*v] * self.filling(v)])

    def block(self, v: Sequence[int], buffers: Any) -> tuple[Tensor, Tensor]:
        """P and B of v, (heads, K, K) each."""
        if (key := tuple(v)) not in self.maps:
            K = self.mixer.norm.weight.shape[0]
            eye = torch.eye(K, dtype=torch.float64).expand(1, self.mixer.n_heads, K, K)  # (1, heads, K, K)
            P, B = (self.read(v, [((state,), buffers)])[1][0][0][0][0] for state in (eye, torch.zeros_like(eye)))
            self.maps[key] = P - B, B
        return self.maps[key]

    def limit(self, u: Sequence[int], v: Sequence[int], w: Sequence[int]) -> Floats:
        """The logits (n_outputs,) that those after u v^n w come near as n grows."""
        if (key := (tuple(u), tuple(v))) not in self.led_to:
            self.led_to[key] = self.settled(u, v)
        return self.read([*v, *w], self.led_to[key])[0][0]  # v leads the limit to itself

    def settled(self, u: Sequence[int], v: Sequence[int]) -> Any:
        """What is carried in the limit.

        S* - S solves (I - P) Y = P S + B - S. Both sides are orthogonal to what P keeps, as is the least solution.
        """
        ((S,), buffers) = self.filled(u, v)[0]
        P, B = self.block(v, buffers)
        apart = torch.eye(P.shape[-1], dtype=P.dtype) - P
        Y = torch.linalg.pinv(apart, atol=NULL, rtol=0.0) @ (P @ S[0] + B - S[0])
        return [((S + Y,), buffers)]

    def along(self, u: Sequence[int], v: Sequence[int], n: int) -> Trajectory:
        """The network before the last v of u v, u v v, ..., u v^n."""
        before: list[Any] = []
        carries = self.after(u)
        for _ in range(min(n, self.filling(v))):
            before.append(carries)
            carries = self.read(v, carries)[1]
        ((S,), buffers) = carries[0]
        P, B = self.block(v, buffers)
        while len(before) < n:
            before.append([((S,), buffers)])
            S = P @ S + B
        return Trajectory.from_carried(self, v, before)
