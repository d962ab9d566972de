"""The temperatures that a page shows: some between the bounds of the search, and those that were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regulargpt.evaluation.temperature import Temperature, shown
from regulargpt.text.measurements.alignment.statistics import ByHead

GRID = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5)
# A temperature of the grid that is as near as this to a temperature that was found would show the same again.
NEAR = 0.03
TRAINED = "as trained"


@dataclass(frozen=True)
class Stop:
    """A temperature for every head, and the strategies that found it; `TRAINED` is that of 1."""

    tau: ByHead
    names: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The number, or from where to where."""
        return shown(self.tau.ravel().tolist())


def stops(shape: tuple[int, int], kept: Mapping[str, Temperature]) -> list[Stop]:
    """All of them for a model of these layers and heads, from the sharpest to the flattest.

    >>> found = {"p_max": Temperature(((0.59,),)), "entropy": Temperature(((0.2,),)), "log": Temperature(((0.59,),))}
    >>> [(stop.label, stop.names) for stop in stops((1, 1), found) if stop.names]
    [('0.2', ('entropy',)), ('0.59', ('p_max', 'log')), ('1', ('as trained',))]
    >>> [stop.label for stop in stops((1, 1), found)][:6]
    ['0.2', '0.3', '0.4', '0.5', '0.59', '0.7']
    """
    marked: dict[bytes, Stop] = {}
    for name, tau in [(TRAINED, np.ones(shape)), *((name, np.array(each.tau)) for name, each in kept.items())]:
        key = tau.tobytes()
        marked[key] = Stop(tau, (*(marked[key].names if key in marked else ()), name))
    means = [stop.tau.mean() for stop in marked.values()]
    grid = [Stop(np.full(shape, tau)) for tau in GRID if all(abs(tau / mean - 1) > NEAR for mean in means)]
    return sorted([*marked.values(), *grid], key=lambda stop: float(stop.tau.mean()))


def trained(every: list[Stop]) -> int:
    """Which of them is the temperature of 1."""
    return next(i for i, stop in enumerate(every) if TRAINED in stop.names)
