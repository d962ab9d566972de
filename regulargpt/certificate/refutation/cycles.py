"""A network that carries a state of fixed size, in float64: the few states that it comes around to, and its answers.

While it reads v again and again its state may come near a state that v^q leads back to itself. Nothing says that it
does, or how soon: it is followed, for so many symbols.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regulargpt.certificate.refutation.families import PowerFamily, Word, WrongFamily
from regulargpt.finite.chain import Chain
from regulargpt.models.recurrent import Recurrent

Floats = npt.NDArray[np.float64]

SYMBOLS = 512  # that are read of v v v ..
MOST_Q = 6
CLOSE = (1e-8, 1e-5, 1e-2)  # how near it comes to where it was, as a share of what its numbers are
MOST_NUMBERS = 1 << 32  # of states, that are made for all families together


@dataclass(frozen=True)
class Reached:
    """The network after some words: its logits (n, n_outputs), and its states (n, D), which may still be `apart`."""

    chain: Chain
    at: Float[Tensor, "n n_outputs"]
    states: Float[Tensor, "n D"]
    apart: float = 0.0

    def logits(self, w: Sequence[int]) -> Floats:
        """Those (n, n_outputs) after w, too."""
        words = torch.tensor([[*w]] * len(self.states))
        return (self.chain.read(words, self.states)[0] if w else self.at).numpy()

    def answers(self, w: Sequence[int]) -> npt.NDArray[np.int64]:
        """The answers (n,) after w, too."""
        return self.logits(w).argmax(1)


class CycleNetwork:
    """The network's function of symbols and states.

    >>> from regulargpt.models.gru import Gru
    >>> network = CycleNetwork(Gru(2, 3, d_model=4))
    >>> network.follow([PowerFamily((0,), (1,), ())])
    >>> far = network.along([0], [1], 200).logits([])[-1]
    >>> np.allclose(far, network.limits([0], [1], [])[0], atol=1e-3), len(network.along([1], [0], 3).answers([1]))
    (True, 3)
    """

    forgets = False
    symbols, families = (SYMBOLS,), 8  # read of one u v v v ..; of which of so many, wrong in the limit

    def __init__(self, model: Recurrent):
        self.chain = Chain(model)
        self.cycles: dict[tuple[Word, Word], Reached] = {}

    def follow(self, families: Iterable[PowerFamily]) -> None:
        """Find where the states come around, of all u and v at once."""
        by_length: dict[tuple[int, int], list[tuple[Word, Word]]] = defaultdict(list)
        most = MOST_NUMBERS // (SYMBOLS * self.chain.dimension)
        for u, v in list(dict.fromkeys((family.u, family.v) for family in families))[:most]:
            by_length[len(u), len(v)].append((u, v))
        for pairs in by_length.values():
            us, vs = (torch.tensor([pair[i] for pair in pairs]) for i in range(2))
            self.cycles |= {pair: cycle for pair, cycle in zip(pairs, self.around(us, vs), strict=True) if cycle}

    def around(self, us: Int[Tensor, "n of_u"], vs: Int[Tensor, "n of_v"]) -> list[Reached | None]:
        """Of each u and v what u v^n comes around to, for n = 0, 1, .. mod q; or None."""
        state = self.chain.read(us)[1] if us.shape[1] else None
        blocks, last = max(2 * MOST_Q, SYMBOLS // vs.shape[1]), []
        for _ in range(blocks):
            last = [*last[1 - 2 * MOST_Q :], self.chain.read(vs, state)]
            state = last[-1][1]
        logits, states = (torch.stack(parts, 1) for parts in zip(*last, strict=True))  # (n, 2 MOST_Q, ..)
        return [self.cycle(*rows, blocks) for rows in zip(logits, states, strict=True)]

    def cycle(self, logits: Tensor, states: Tensor, n: int) -> Reached | None:
        """What the last of these rows, after v^n, comes around to."""
        for close, q in product(CLOSE, range(1, MOST_Q + 1)):
            if (abs(states[-q:] - states[-2 * q : -q]) <= close * (1 + abs(states[-1]))).all():
                at = [-1 - (n - i) % q for i in range(q)]
                return Reached(self.chain, logits[at], states[at], close)
        return None

    def apart(self, u: Sequence[int], v: Sequence[int]) -> float:
        """How near the states come to where they were, for what comes around."""
        return self.cycles[tuple(u), tuple(v)].apart

    def chosen(self, wrongs: Sequence[WrongFamily]) -> list[WrongFamily]:
        """Those for the checker, the nearest first: at most two, as it may take a minute for each. No later words are
        nearer to a limit, so all are settled."""
        settled = [wrong for wrong in wrongs if wrong.is_settled]
        far = [self.apart(wrong.family.u, wrong.family.v) for wrong in settled]
        order = sorted(range(len(settled)), key=lambda i: (far[i], settled[i].family.length(1)))
        return [settled[i] for i in order if far[i] < max(CLOSE)][:2] or [settled[i] for i in order[:1]]

    def limits(self, u: Sequence[int], v: Sequence[int], w: Sequence[int]) -> Floats:
        """The logits (q, n_outputs) that those after u v^n w come near, for n = 0, 1, .. mod q; none where they do not.

        Only of families that were followed.
        """
        cycle = self.cycles.get((tuple(u), tuple(v)))
        return np.empty((0, self.chain.n_outputs)) if cycle is None else cycle.logits(w)

    def along(self, u: Sequence[int], v: Sequence[int], n: int) -> Reached:
        """The network after u v, u v v, ..., u v^n."""
        logits, states = self.chain.along(torch.tensor([[*u, *[*v] * n]]))
        at = [len(u) + len(v) * i - 1 for i in range(1, n + 1)]
        return Reached(self.chain, logits[0, at], states[0, at])
