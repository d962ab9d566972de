"""The temperature at which a statistic is what it was in training: Algorithm 1 of the thesis, by halving."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

# Beyond these nobody looks, and so often an interval is halved. With both lengths at 1 that makes 12 passes.
LOWEST, HIGHEST, HALVINGS = 0.2, 1.5, 10
# A statistic may move so much against its direction before it counts as not monotone.
SLACK = 1e-4

Groups = Float[ndarray, "groups"]


@dataclass(frozen=True)
class Tried:
    """Temperatures of all groups, one a group, and what they came to."""

    tau: Groups
    value: Groups


@dataclass(frozen=True)
class TemperatureSearch:
    """What was tried, in order, for the `target` of each group; the first are temperatures of 1.

    A group is the whole model, a layer or a head.
    """

    target: Groups
    tried: tuple[Tried, ...]

    @property
    def tau(self) -> Groups:
        """For each group that of the temperatures tried whose statistic is nearest to the target."""
        return self._of_best(np.stack([trial.tau for trial in self.tried]))

    @property
    def value(self) -> Groups:
        """The statistics at these."""
        return self._of_best(np.stack([trial.value for trial in self.tried]))

    @property
    def at_bound(self) -> Bool[ndarray, "groups"]:
        """Whether the search ended at a bound: the target lies beyond it."""
        last = self.tried[-1].tau
        return (last < 1.01 * LOWEST) | (last > 0.99 * HIGHEST)

    @property
    def is_monotone(self) -> bool:
        """Whether every group's statistic rises, or falls, with the temperature at all points tried.

        Later layers see other logits when earlier ones change, so it need not. Then the nearest point is all there is.
        """
        tau, value = (np.stack([getattr(trial, name) for trial in self.tried]) for name in ("tau", "value"))
        order = tau.argsort(0)
        steps = np.diff(np.take_along_axis(value, order, 0), axis=0)  # (tried - 1, groups)
        return bool(((steps >= -SLACK).all(0) | (steps <= SLACK).all(0)).all())

    def _of_best(self, table: Float[ndarray, "tried groups"]) -> Groups:
        miss = np.abs(np.stack([trial.value for trial in self.tried]) - self.target)
        return np.take_along_axis(table, miss.argmin(0)[None], 0)[0]


def search(ask: Callable[[Groups], Groups], target: Groups, start: Groups, *, rises: bool) -> TemperatureSearch:
    """Find the temperature of each group at which `ask`, given all of them, says `target`.

    `start` is what it says at 1, and `rises` whether it grows with the temperature, as entropy does; P_max falls.
    All groups are halved at once, on a logarithmic scale: `ask` is called 10 times however many there are.

    >>> found = search(lambda tau: 2 * tau, np.array([1.0]), np.array([2.0]), rises=True)
    >>> found.tau.round(3), found.is_monotone, found.at_bound
    (array([0.5]), True, array([False]))
    """
    tried = [Tried(np.ones_like(target), start)]
    # Sharper where entropy is above, or P_max below, what it was.
    sharper = (start > target) == rises
    low, high = np.where(sharper, LOWEST, 1.0), np.where(sharper, 1.0, HIGHEST)
    for _ in range(HALVINGS):
        tau = np.sqrt(low * high)
        value = ask(tau)
        tried.append(Tried(tau, value))
        too_flat = (value > target) == rises
        low, high = np.where(too_flat, low, tau), np.where(too_flat, tau, high)
    return TemperatureSearch(target, tuple(tried))
