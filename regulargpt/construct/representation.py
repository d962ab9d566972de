"""What a way of writing monoid elements as 0/1 vectors has to bring so that a RegularGPT can compose them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Representation:
    """Monoid elements A(sigma) as vectors of `size` zeros and ones, `ones` of them ones, and their product as paths.

    Path p is active if the children at offsets 0..C-1 have a one at the coordinates `reads[p]`; of the composition
    it writes the coordinate `writes[p]`. For monoid elements at most one path of each coordinate is active at a time.
    `identity` is what stands before the word; `readout @ state` is 1 at the answer and -1 at all others.
    """

    ones: int
    identity: Vectors  # (size,)
    symbols: Vectors  # (Sigma, size)
    reads: Indices  # (paths, C)
    writes: Indices  # (paths,)
    readout: Vectors  # (n_outputs, size)

    @property
    def size(self) -> int:
        return len(self.identity)

    @property
    def chunk_size(self) -> int:
        return self.reads.shape[1]

    def compose(self, children: Vectors) -> Vectors:
        """The composition (size,) of children (C, size) given by offset: what the network computes, in a line.

        >>> import languages
        >>> from regulargpt.construct.one_hot import one_hot
        >>> found = one_hot(languages.get("parity").machine, 2)
        >>> found.compose(found.symbols[[1, 1]]).tolist()  # two ones leave the parity as it is
        [1.0, 0.0]
        """
        active = children[np.arange(self.chunk_size), self.reads].min(1)  # (paths,)
        return np.bincount(self.writes, active, self.size).astype(np.float64)


def answers(outputs: npt.NDArray[np.int64], n_outputs: int) -> Vectors:
    """The readout's rows (n_outputs, states): 1 where a state has that output, -1 elsewhere.

    >>> answers(np.array([0, 1, -1]), 2).tolist()
    [[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]]
    """
    return np.where(outputs == np.arange(n_outputs)[:, None], 1.0, -1.0)  # (n_outputs, states)
