"""How well one column orders another: Spearman's rank correlation, with an interval by bootstrap over languages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from experiments.atlas.groups import INTERVAL, LANGUAGES, resamples
from regulargpt.evaluation.interval import Interval

Floats = npt.NDArray[np.float64]
FEWEST = 5
"""Languages without which nothing is said."""


def spearman(x: Floats, y: Floats) -> Interval | None:
    """The rank correlation of two columns (n,); None if one is constant, or there are fewer than `FEWEST` languages.

    Resamples in which a column is constant say nothing and are left out.

    >>> found = spearman(np.arange(10.0), np.arange(10.0) ** 3)
    >>> found is not None and (round(found.value, 6), round(found.low, 6), dict(found.over))
    (1.0, 1.0, {'languages': 10})
    """
    if len(x) < FEWEST or min(np.ptp(x), np.ptp(y)) == 0:
        return None
    at = resamples(len(x))
    resampled = of_ranks(x[at], y[at])  # (resamples,)
    low, high = np.percentile(resampled[np.isfinite(resampled)], INTERVAL)
    return Interval(float(of_ranks(x[None], y[None])[0]), float(low), float(high), {LANGUAGES: len(x)})


def of_ranks(x: Floats, y: Floats) -> Floats:
    """Pearson's correlation of the ranks of each row (k, n), equal values sharing their mean rank: (k,).

    NaN for a row in which x or y is constant.
    """
    from scipy.stats import rankdata  # comes with scikit-learn

    a, b = (rankdata(values, axis=1) for values in (x, y))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    size = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return np.divide((a * b).sum(axis=1), size, out=np.full(len(a), np.nan), where=size > 0)
