"""A linear probe of the hidden states for their monoid elements, and the control task that says what it is worth."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from languages.randomness import rng
from regulargpt.measurements.states import NodeStates

# A probe of states that are separable needs far fewer steps; where they are not, more change the third digit.
STEPS = 100


class Probe(NamedTuple):
    """Accuracy on held-out words, and that of the same probe trained on shuffled labels; None without such words."""

    accuracy: float | None
    control: float | None


def probe(nodes: NodeStates, seed: int) -> Probe:
    """Logistic regression from the state to the element, trained on the first half of the words, tested on the rest.

    Sub-words occur once in the rows, so those of the tested words were not trained on. In the control task the elements
    are shuffled over the sub-words (Hewitt and Liang 2019): a probe that does better there than the most frequent
    element has room to memorise, and its accuracy says less.
    """
    train = nodes.words < (nodes.words.max() + 1) // 2
    x, y = nodes.states.astype(float), nodes.elements
    if len(np.unique(y[train])) < 2 or train.all():
        return Probe(None, None)
    shuffled = rng(seed, "control").permutation(y)
    return Probe(accuracy(x, y, train), accuracy(x, shuffled, train))


def accuracy(x: npt.NDArray[np.floating], y: npt.NDArray[np.int64], train: npt.NDArray[np.bool_]) -> float | None:
    """The share of right answers on the rows that were not trained on; None where there is one label only."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if len(np.unique(y[train])) < 2:
        return None
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=STEPS, tol=1e-3))
    with warnings.catch_warnings():
        # It stops after `STEPS`, and it has an opinion on labels with few examples: both are known here.
        warnings.simplefilter("ignore", UserWarning)
        model.fit(x[train], y[train])
    return float((model.predict(x[~train]) == y[~train]).mean())
