"""One trivial rule: a linear classifier on a few columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from regulargpt.evaluation.shortcuts.features import Columns

STRENGTH = 1.0  # C: the penalty is |w|^2 / 2C beside the sum of the losses
STEPS = 100
TOLERANCE = 1e-3

Labels = npt.NDArray[np.int64]  # (batch,)


@dataclass(frozen=True, eq=False)
class ShortcutRule:
    """The answer with the largest w x + b."""

    weights: Columns  # (columns, answers)
    bias: npt.NDArray[np.float64]  # (answers,)
    answers: Labels  # (answers,)

    def __call__(self, columns: Columns) -> Labels:
        """The answers (batch,) to words of which the rule sees these columns."""
        return self.answers[(columns @ self.weights + self.bias).argmax(axis=1)]


def fit(columns: Columns, labels: Labels) -> ShortcutRule:
    """Logistic regression on standardised columns, with an L2 penalty; without columns the most frequent answer.

    >>> always = fit(np.zeros((3, 0)), np.array([4, 7, 7]))
    >>> always(np.zeros((2, 0))).tolist()
    [7, 7]
    >>> sign = fit(np.array([[-1.0, 5.0], [2.0, 5.0], [-3.0, 5.0]]), np.array([0, 1, 0]))
    >>> sign(np.array([[-9.0, 1.0], [9.0, 1.0]])).tolist()
    [0, 1]
    """
    weights = np.zeros((columns.shape[1], 1))
    varying = columns.min(axis=0) < columns.max(axis=0)
    if not varying.any() or labels.min() == labels.max():
        return ShortcutRule(weights, np.zeros(1), np.array([np.bincount(labels).argmax()]))
    x = columns[:, varying]
    mean, scale = x.mean(axis=0), x.std(axis=0)
    model = LogisticRegression(C=STRENGTH, tol=TOLERANCE, max_iter=STEPS)
    with warnings.catch_warnings():
        # Where words cannot be separated it stops after STEPS, and says so: the rule is what these steps find.
        warnings.simplefilter("ignore", UserWarning)
        model.fit((x - mean) / scale, labels)
    slopes, bias = model.coef_.T / scale[:, None], model.intercept_ - mean / scale @ model.coef_.T
    if len(model.classes_) == 2:
        slopes, bias = (np.concatenate([0 * part, part], axis=-1) for part in (slopes, bias))
    weights = np.zeros((columns.shape[1], len(model.classes_)))
    weights[varying] = slopes
    return ShortcutRule(weights, bias, model.classes_)
