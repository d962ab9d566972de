"""Lemma 6.1 as printed: a two-layer ReLU network that multiplies binary matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Binary = npt.NDArray[np.int64]


def w1(n: int) -> Binary:
    """W^(1) of Eq. (6.3), (2 n^2, n^3): unit (i, j, k) reads A_ik and B_kj of [Flat(A), Flat(B)].

    >>> w1(2)[0].tolist()
    [1, 0, 1, 0, 0, 0, 0, 0]
    """
    i, j, k = np.indices((n, n, n)).reshape(3, -1)  # (n^3,) each: unit i n^2 + j n + k, counted from 0
    weights = np.zeros((2 * n * n, n**3), np.int64)
    unit = np.arange(n**3)
    weights[i * n + k, unit] = 1
    weights[(n + k) * n + j, unit] = 1
    return weights


def w2(n: int) -> Binary:
    """W^(2) = I (x) 1_n of section 6.9.3, (n^3, n^2): it sums over k.

    >>> w2(2).T.tolist()[0]
    [1, 1, 0, 0, 0, 0, 0, 0]
    """
    return np.kron(np.eye(n * n, dtype=np.int64), np.ones((n, 1), np.int64))


def product(a: npt.NDArray[np.number], b: npt.NDArray[np.number]) -> npt.NDArray[np.number]:
    """f_mlp([Flat(A), Flat(B)]) = ReLU([Flat(A), Flat(B)] W^(1) - 1) W^(2) as a matrix (n, n): AB for binary A, B.

    Source: thesis, Lemma 6.1 and section 6.9.6.

    >>> product(np.array([[1, 0], [1, 0]]), np.array([[0, 1], [1, 0]])).tolist()
    [[0, 1], [0, 1]]
    """
    n = len(a)
    x = np.concatenate([a.ravel(), b.ravel()])
    return (np.maximum(x @ w1(n) - 1, 0) @ w2(n)).reshape(n, n)  # from (n^2,)
