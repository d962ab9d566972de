"""A network whose state moves number by number, in float64: where it settles while it reads v again and again.

S' = a S + b for each v, number by number, once its inputs come around: the balls of the checker follow the same steps;
here nothing is rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from regulargpt.certificate.refutation.reading import Floats, Reader, Trajectory
from regulargpt.models.gla.model import PerHead, Retention
from regulargpt.models.mamba.model import MambaMixer
from regulargpt.models.mamba2.model import Ssd, Turning
from regulargpt.models.mixing.mixer import Mixer, State
from regulargpt.models.mixing.model import MixerBlock, Mixing
from regulargpt.models.pd_ssm.model import PdMixer, PostBlock
from regulargpt.models.s4d.model import S4dMixer
from regulargpt.models.xlstm.mlstm import MlstmMixer


def as_they_are(S: Tensor) -> Tensor:
    """Each number moves by itself."""
    return S


def by_halves(S: Tensor) -> Tensor:
    """Rows i and i + K / 2 move as one complex number.

    >>> by_halves(torch.tensor([[[[1.0], [2.0]]]])).item()
    (1+2j)
    """
    return torch.complex(*S.chunk(2, -2))


def by_twos(S: Tensor) -> Tensor:
    """Rows 2 i and 2 i + 1 move as one complex number."""
    return torch.complex(S[..., ::2, :], S[..., 1::2, :])


def of_halves(Z: Tensor) -> Tensor:
    """The rows of these numbers."""
    return torch.cat([Z.real, Z.imag], -2)


def of_twos(Z: Tensor) -> Tensor:
    """The rows of these numbers."""
    return torch.stack([Z.real, Z.imag], -2).flatten(-3, -2)  # (batch, heads, N, P)


def unscaled(C: Tensor, n: Tensor, m: Tensor) -> Tensor:
    """C e^m, with n e^m as another column."""
    return torch.cat([C, n[..., None]], -1) * m.exp()[..., None, None]


def scaled(S: Tensor) -> State:
    """C, n, and m = 0."""
    return S[..., :-1], S[..., -1], torch.zeros_like(S[..., 0, 0])


# From the state to the numbers that move by themselves, and back, for each mixer of this kind.
NUMBERS: Mapping[type[Mixer], tuple[Callable[..., Tensor], Callable[[Tensor], State]]] = {
    Retention: (by_halves, lambda Z: (of_halves(Z),)),
    Turning: (by_twos, lambda Z: (of_twos(Z),)),
    MlstmMixer: (unscaled, scaled),
    **dict.fromkeys([MambaMixer, Ssd, S4dMixer, PerHead], (as_they_are, lambda S: (S,))),
}


def is_diagonal(model: Mixing) -> bool:
    """Whether all its mixers are of this kind."""
    kinds = (*NUMBERS, PdMixer)
    return all(isinstance(block, MixerBlock | PostBlock) and isinstance(block.mixer, kinds) for block in model.blocks)


class DiagonalNetwork(Reader):
    """The network's function of symbols and of what it carries.

    >>> from regulargpt.models.mamba.model import Mamba
    >>> network = DiagonalNetwork(Mamba(2, 3, d_model=8, d_state=4))
    >>> far, _ = network.read([0, *[1] * 3_000], None)
    >>> bool(abs(far[0] - network.limit([0], [1], [])).max() < 1e-3), len(network.along([1], [0], 3).answers([1]))
    (True, 3)
    """

    forgets = True  # the limit does not depend on u
    symbols, families = (1 << 7, 1 << 9, 1 << 12), 4  # read of one u v v v ..; of which of so many, wrong in the limit

    @torch.no_grad()
    def limit(self, u: Sequence[int], v: Sequence[int], w: Sequence[int]) -> Floats:
        """The logits (n_outputs,) that those after u v^n w come near as n grows; u changes nothing of them."""
        x = self.model.embedding(torch.tensor([[*v, *w]]))  # (1, length, d_model)
        for block in self.blocks:
            x, _ = block(x, settled(block.mixer, block.entered(x[:, : len(v)])), "all")
        return self.model.readout(self.model.activation(x[:, -1]))[0].numpy()

    def along(self, u: Sequence[int], v: Sequence[int], n: int) -> Trajectory:
        """The network before the last v of u v, u v v, ..., u v^n."""
        before = [self.after(u)]
        while len(before) < n:
            before.append(self.read(v, before[-1])[1])
        return Trajectory.from_carried(self, v, before)


def settled(mixer: Mixer, x: Tensor) -> tuple[State, Any]:
    """What a mixer carries in the limit, while it reads x (1, length, d_model) again and again."""
    if isinstance(mixer, PdMixer):
        return routed(mixer, x), ()
    to, back = next(both for kind, both in NUMBERS.items() if isinstance(mixer, kind))
    start, old = mixer.start(1)
    reach = 0 if old is None else old.shape[1]
    old = mixer.inputs(x.repeat(1, 1 + reach // x.shape[1], 1), old)[1]
    inputs = mixer.inputs(x, old)[0]
    b, moved = (to(*mixer.loop(inputs, S)[1]) for S in (start, back(torch.ones_like(to(*start)))))
    return back(b / (1 - (moved - b))), old


def routed(mixer: PdMixer, x: Tensor) -> State:
    """The same where numbers also change places, h' = M h + b for each v: M h is read off the places' own vectors."""
    own = torch.eye(mixer.dictionary.shape[1], dtype=torch.complex128)
    start = torch.cat([torch.zeros_like(own[:1]), own])  # (1 + N, N)
    inputs = tuple(part.expand(len(start), *part.shape[1:]) for part in mixer.inputs(x, ())[0])  # (1 + N, length, ..)
    b, *moved = mixer.states(inputs, (start,))[:, -1]
    return (torch.linalg.solve_ex(own - (torch.stack(moved) - b).mT, b)[0][None],)
