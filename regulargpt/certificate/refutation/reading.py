"""A network that carries a state, in float64: its logits after u v^n w, and those for all n at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from regulargpt.certificate.refutation.families import PowerFamily, WrongFamily
from regulargpt.finite.float64_network import as_float64
from regulargpt.models.mixing.model import MixerBlock, Mixing
from regulargpt.models.pd_ssm.model import PostBlock

Floats = npt.NDArray[np.float64]


class Settles:
    """A network whose states come near one limit, whatever it answers before."""

    def limit(self, u: Sequence[int], v: Sequence[int], w: Sequence[int]) -> Floats:
        """The logits (n_outputs,) that those after u v^n w come near as n grows."""
        raise NotImplementedError

    def limits(self, u: Sequence[int], v: Sequence[int], w: Sequence[int]) -> Floats:
        """The logits (q, n_outputs) that those after u v^n w come near, for n = 0, 1, .. mod q."""
        return self.limit(u, v, w)[None]

    def follow(self, families: Iterable[PowerFamily]) -> None:
        """What has to be read of all families first: nothing."""

    def apart(self, u: Sequence[int], v: Sequence[int]) -> float:
        """How far what is read of u v v .. still is from where it comes around."""
        return 0.0

    def chosen(self, families: Sequence[WrongFamily]) -> list[WrongFamily]:
        """Those for the checker, the first one first."""
        return sorted(families, key=lambda wrong: (not wrong.is_settled, wrong.length))


class Reader(Settles):
    """The network's function of symbols and of what it carries: of each block its state, and old inputs."""

    def __init__(self, model: Mixing):
        self.model = as_float64(model)
        self.blocks = [block for block in self.model.blocks if isinstance(block, MixerBlock | PostBlock)]

    @torch.no_grad()
    def read(self, symbols: Sequence[int], carries: Any, rows: int = 1) -> tuple[Floats, Any]:
        """The logits (rows, n_outputs) and what is carried after symbols."""
        words = torch.tensor([[*symbols]] * rows)
        logits, after = self.model.read(words, carries, "last")
        return logits.numpy(), after

    def after(self, u: Sequence[int]) -> Any:
        """What is carried after u."""
        return self.read(u, None)[1] if u else [block.mixer.start(1) for block in self.blocks]


@dataclass(frozen=True)
class Trajectory:
    """The network before the last v of u v^n for n = 1, 2, ..: what it carries then, of a row each."""

    network: Reader
    v: list[int]
    carries: Any
    rows: int

    @classmethod
    def from_carried(cls, network: Reader, v: Sequence[int], before: Sequence[Any]) -> Trajectory:
        """Of what is carried before each of these v."""
        carries = [
            (
                tuple(torch.cat([*parts]) for parts in zip(*(state for state, _ in of_block), strict=True)),
                stacked([old for _, old in of_block]),
            )
            for of_block in zip(*before, strict=True)
        ]
        return cls(network, [*v], carries, len(before))

    def logits(self, w: Sequence[int]) -> Floats:
        """Those (n, n_outputs) after u v^n w."""
        return self.network.read([*self.v, *w], self.carries, self.rows)[0]

    def answers(self, w: Sequence[int]) -> npt.NDArray[np.int64]:
        """The answers (n,) after u v^n w."""
        return self.logits(w).argmax(1)


def stacked(old: Sequence[Any]) -> Any:
    """What convolutions carry, of a row each; as one of them says it where they carry nothing."""
    return torch.cat([*old]) if isinstance(old[0], Tensor) else old[0]
