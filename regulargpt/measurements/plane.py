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
    mean, axes, shares = principal_axes(rows)
    return (rows.astype(float) - mean) @ axes.T, shares


def principal_axes(rows: Points) -> tuple[Points, Points, tuple[float, float]]:
    """The mean (width,) of rows, their first two principal axes (2, width), and the shares of variance along them.

    Rows that lie on a line have no second axis: an axis at right angles to the first is taken. Of width 1 it is zero.

    >>> principal_axes(np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0]]))[1].round(6).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    mean = rows.mean(0, dtype=float)
    centred = rows.astype(float) - mean
    # A plane needs two axes, also of a row or of a column: rows and columns of zeros change no component.
    padded = np.pad(centred, [(0, max(0, 2 - size)) for size in centred.shape])
    _, scales, axes = np.linalg.svd(padded, full_matrices=False)
    axes = axes[:2, : rows.shape[1]]  # (2, width), each up to its sign
    if scales[0] <= 1e-12:
        axes[0] = np.eye(rows.shape[1])[0]
    if scales[1] <= 1e-9 * scales[0] or scales[0] <= 1e-12:
        axes[1] = across(axes[0])
    # Turned so that the largest number of each axis is positive: the picture is the same on every machine.
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(1)])
    variances = scales**2
    first, second = variances[:2] / (variances.sum() or 1.0)
    return mean, signs[:, None] * axes, (float(first), float(second))


MOST_SHARES = 10
"""So many principal components are listed."""


def shares_of_variance(rows: Points) -> list[float]:
    """The share of the variance along each principal component, of the first `MOST_SHARES`; zeros where there is none.

    >>> shares_of_variance(np.array([[0.0, 0.0], [3.0, 0.0]]))
    [1.0, 0.0]
    """
    variances = np.linalg.svd(rows.astype(float) - rows.mean(0, dtype=float), compute_uv=False) ** 2
    return (variances / (variances.sum() or 1.0))[:MOST_SHARES].tolist()


def across(axis: Points) -> Points:
    """A direction at right angles to a unit vector, along the coordinate that it has least of; 0 if there is none.

    >>> across(np.array([0.6, 0.8])).round(6).tolist(), across(np.array([1.0])).tolist()
    ([0.8, -0.6], [0.0])
    """
    direction = np.eye(len(axis))[np.abs(axis).argmin()]
    direction = direction - (direction @ axis) * axis
    length = np.linalg.norm(direction)
    return direction / length if length > 1e-9 else np.zeros(len(axis))
