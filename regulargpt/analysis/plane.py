"""Points in the plane of their first two principal components."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.floating]  # (rows, width)


def plane(rows: Points) -> tuple[Points, tuple[float, float]]:
    """The rows in the plane of their first two principal components (rows, 2), and the shares of variance there.

    >>> points, shares = plane(np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0], [6.0, 0.0, 1.0]]))
    >>> points.round(6).tolist(), shares
    ([[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0]], (1.0, 0.0))
    """
    centred = rows.astype(float) - rows.mean(0, dtype=float)
    # A plane needs two axes, also of one row or of one column: rows and columns of zeros change no component.
    padded = np.pad(centred, [(0, max(0, 2 - size)) for size in centred.shape])
    _, scales, axes = np.linalg.svd(padded, full_matrices=False)
    axes = axes[:2, : rows.shape[1]]  # (2, width), each up to its sign
    # Turned so that the largest number of each axis is positive: the picture is the same on every machine.
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(1)])
    variances = scales**2
    first, second = variances[:2] / (variances.sum() or 1.0)
    return centred @ (signs[:, None] * axes).T, (float(first), float(second))
