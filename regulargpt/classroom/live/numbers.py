"""Numbers as a page holds them."""

from __future__ import annotations

import base64

import numpy.typing as npt


def encoded(*arrays: npt.NDArray, kind: str = "<f4") -> str:
    """All numbers of the arrays, in turn, in base64: as float32, little end first, or of another kind.

    >>> import numpy as np
    >>> encoded(np.zeros(1), np.ones((1, 2))) == encoded(np.array([0.0, 1.0, 1.0]))
    True
    """
    return base64.b64encode(b"".join(array.astype(kind).tobytes() for array in arrays)).decode()
