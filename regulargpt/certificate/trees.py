"""The snapped network on given words: the tree over the finite table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.levels import Image
from regulargpt.models.regulargpt.depth import depth

Ints = npt.NDArray[np.int64]


def answers_to(chunk_size: int, image: Image, answers: Ints, words: Ints) -> Ints:
    """The answers (n,) to words (n, T) of one length T >= 1; `answers` (K,) are those at the prototypes.

    >>> ones = lambda level, windows: 1 + np.where(windows > 0, windows - 1, 0).sum(1) % 2
    >>> answers_to(2, ones, np.array([0, 1]), np.array([[0, 1, 1], [1, 1, 1]])).tolist()
    [0, 1]
    """
    nodes = 1 + words.astype(np.int64)
    for level in range(depth(words.shape[1], chunk_size)):
        left = -nodes.shape[1] % chunk_size
        windows = np.pad(nodes, ((0, 0), (left, 0))).reshape(-1, chunk_size)[:, ::-1]  # by offset
        nodes = image(level, windows).reshape(len(words), -1)
    return answers[nodes[:, 0] - 1]
