"""A network of linear recurrences in float64: where it settles while it reads v again and again, and its answers.

The balls of the checker follow the same steps; here nothing is rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from regulargpt.certificate.refutation.reading import Settles
from regulargpt.finite.float64_network import as_float64
from regulargpt.models.linear_rnn import LinearRnn, RecurrentBlock

Floats = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]
# How a layer moves: from its number and what it adds at each position (n, d) to its states (n, d).
Advance = Callable[[int, Complex], Complex]


class LinearNetwork(Settles):
    """The network's function of symbols and states.

    >>> network = LinearNetwork(LinearRnn(2, 3, d_model=4, n_layers=2))
    >>> far = network.along([], [1], 1_000).logits[-1]
    >>> np.allclose(far, network.limit([], [1], []), atol=1e-3), len(network.along([1], [0], 3).answers([1]))
    (True, 3)
    """

    forgets = True  # the limit does not depend on u
    symbols, families = (1 << 12,), 48  # read of one u v v v ..; of which of so many, wrong in the limit

    def __init__(self, model: LinearRnn):
        self.model = as_float64(model)
        with torch.no_grad():
            self.blocks = [block for block in self.model.blocks if isinstance(block, RecurrentBlock)]
            self.a: list[Complex] = [block.lru.a().numpy() for block in self.blocks]

    @torch.no_grad()
    def logits(self, symbols: Sequence[int], advance: Advance) -> Floats:
        """The logits (n, n_outputs) at symbols (n,), whose states are what `advance` says."""
        h = self.model.embedding(torch.tensor(symbols))  # (n, d)
        for number, block in enumerate(self.blocks):
            u = block.ln(h)
            x = torch.from_numpy(advance(number, block.lru.inputs(u).numpy()))
            h = h + F.glu(block.glu(F.gelu(block.lru.outputs(x, u))), dim=-1)
        return self.model.readout(self.model.activation(h)).numpy()

    def limit(self, u: Sequence[int], v: Sequence[int], w: Sequence[int]) -> Floats:
        """The logits (n_outputs,) that those after u v^n w come near as n grows; u changes nothing of them."""

        def advance(number: int, inputs: Complex) -> Complex:
            a, x = self.a[number], np.zeros(inputs.shape[1], complex)
            for row in inputs[: len(v)]:
                x = a * x + row
            return scan(a, x / (1 - a ** len(v)), inputs)

        return self.logits([*v, *w], advance)[-1]

    def along(self, u: Sequence[int], v: Sequence[int], n: int) -> LinearTrajectory:
        """The states after u v, u v v, ..., and the logits there."""
        states: list[Complex] = []

        def advance(number: int, inputs: Complex) -> Complex:
            states_after = scan(self.a[number], np.zeros(inputs.shape[1], complex), inputs)
            states.append(states_after[len(u) + len(v) - 1 :: len(v)])
            return states_after

        logits = self.logits([*u, *(list(v) * n)], advance)
        return LinearTrajectory(self, logits[len(u) + len(v) - 1 :: len(v)], states)


@dataclass(frozen=True)
class LinearTrajectory:
    """The network after u v^n for n = 1, 2, ...: its logits (n, n_outputs), and the states of each layer (n, d)."""

    network: LinearNetwork
    logits: Floats
    states: Sequence[Complex]

    def answers(self, w: Sequence[int]) -> npt.NDArray[np.int64]:
        """The answers (n,) after u v^n w."""
        logits, states = self.logits, self.states
        for symbol in w:
            advance, after = branch(self.network.a, states)
            logits, states = self.network.logits([symbol] * len(logits), advance), after
        return logits.argmax(1)


def branch(a: Sequence[Complex], states: Sequence[Complex]) -> tuple[Advance, list[Complex]]:
    """How each layer moves from states (n, d), each by itself, and the list where its states are then put."""
    after: list[Complex] = []

    def advance(number: int, inputs: Complex) -> Complex:
        after.append(a[number] * states[number] + inputs)
        return after[-1]

    return advance, after


def scan(a: Complex, x: Complex, inputs: Complex) -> Complex:
    """The states (n, d) that inputs (n, d) lead to, in turn, from x on.

    >>> scan(np.array([0.5]), np.array([8.0]), np.array([[0.0], [1.0]])).tolist()
    [[4.0], [3.0]]
    """
    states = np.empty_like(inputs)
    for t, row in enumerate(inputs):
        states[t] = x = a * x + row
    return states
