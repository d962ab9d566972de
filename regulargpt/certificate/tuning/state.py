"""Where a table fine-tuning stands, and what follows for its steps, its learning rate and the windows of a step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from regulargpt.training.table_fine_tuning import TableFineTuningOptions

# The share of a round in which the learning rate falls to 0. The first round on a certified table has as many steps as
# the table has windows, but at least `ROUND`; each further round is twice as long: warm restarts as in Loshchilov and
# Hutter 2017 (SGDR).
FALL, ROUND = 0.6, 500
# Settling is one round, and the rate falls later: states learn to come back while it is high, and close up at the end.
SETTLING_FALL = 0.35
# A fine-tuning that has not brought the certificate in so many steps begins anew if it has mended half of what was
# missed; else it is given up.
MENDING, MENDED = 1000, 0.5
# A step takes so many times the windows of a small table, but no fewer than these; and this part of those of a large
# one, but no more than these.
COPIES, FEWEST_WINDOWS = 8, 64
PART, MOST_WINDOWS = 128, 4096
# One that mends a large table goes at least so many times through it.
PASSES = 20


@dataclass(frozen=True)
class Stage(ABC):
    """A stage of a fine-tuning, which began at a step on a table of so many `windows`.

    `missed` is the share of the table that was missed then.
    """

    began_at: int
    missed: float
    windows: int
    fall: ClassVar[float] = FALL  # the share of a round in which the rate falls

    @property
    def since(self) -> int:
        """The step at which this stage began."""
        return self.began_at

    @property
    def counted_from(self) -> int:
        """The step from which on its steps are counted."""
        return self.since

    @abstractmethod
    def steps(self, options: TableFineTuningOptions) -> int:
        """How long it lasts at most."""

    def round(self, step: int, options: TableFineTuningOptions) -> tuple[int, int]:
        """The first step of the round that this step is in, and the end, counted from where it all began."""
        return 0, self.steps(options)

    def ends_round(self, step: int, options: TableFineTuningOptions) -> bool:
        """Whether the learning rate has just fallen to 0."""
        return step == self.counted_from + self.round(step - 1, options)[1]

    def left(self, step: int, options: TableFineTuningOptions) -> float:
        """Its share of the learning rate and of the noise: in each round constant, then falling to 0.

        Where the rate does not fall to 0 states drift for ever, and if it falls too soon, the Jacobian stays large.
        """
        begin, end = self.round(step, options)
        return max(0.0, min(1.0, (self.counted_from + end - step) / max(1.0, self.fall * (end - begin))))

    def end(self, options: TableFineTuningOptions) -> int:
        """The step at which it has had its steps."""
        return self.counted_from + self.steps(options)


@dataclass(frozen=True)
class Mending(Stage):
    """The true table is learned, in one round. At `opened_at` windows last came in, the first ones as it began."""

    opened_at: int

    @property
    def counted_from(self) -> int:
        """Since windows last came in."""
        return self.opened_at

    def steps(self, options: TableFineTuningOptions) -> int:
        """No longer than the table is mended for."""
        return min(options.steps, mending_of(self.windows, options))


@dataclass(frozen=True)
class Certified(Stage):
    """The certificate holds since `certified_at`: the network is trained on its own table, in rounds.

    At `steady_since` its states did not drift for the first time. It may be `taken_back` where training ends.
    """

    certified_at: int
    steady_since: int | None = None
    taken_back: bool = False

    @property
    def since(self) -> int:
        """The step at which the certificate held first."""
        return self.certified_at

    def steps(self, options: TableFineTuningOptions) -> int:
        """All that there are."""
        return options.steps

    def round(self, step: int, options: TableFineTuningOptions) -> tuple[int, int]:
        """The first round has as many steps as the table has windows."""
        return round_of(step - self.certified_at, max(ROUND, self.windows), options.steps)


@dataclass(frozen=True)
class Settling(Certified):
    """A certified network settles from `settling_since` on, in one round."""

    settling_since: int = field(kw_only=True)
    fall: ClassVar[float] = SETTLING_FALL

    @property
    def since(self) -> int:
        """The step from which on it settles."""
        return self.settling_since

    def steps(self, options: TableFineTuningOptions) -> int:
        """Those of settling."""
        return options.settling

    def round(self, step: int, options: TableFineTuningOptions) -> tuple[int, int]:
        """All of it."""
        return 0, options.settling


STAGES: Mapping[str, type[Stage]] = {stage.__name__: stage for stage in (Mending, Certified, Settling)}
"""By the names that a checkpoint has of them."""


def windows_a_step(n_windows: int, options: TableFineTuningOptions) -> int:
    """How many windows of a table of so many a step takes.

    >>> options = TableFineTuningOptions("table_fine_tuning", windows=512)
    >>> [windows_a_step(n, options) for n in (6, 24, 1_000, 339_066, 4_715_903)]
    [64, 192, 512, 2648, 4096]
    """
    usual = min(options.windows, max(FEWEST_WINDOWS, COPIES * n_windows))
    return max(usual, min(MOST_WINDOWS, n_windows // PART))


def is_large(n_windows: int, options: TableFineTuningOptions) -> bool:
    """Whether a table of so many windows needs more of them a step than others."""
    return windows_a_step(n_windows, options) > options.windows


def round_of(done: int, first: int, steps: int) -> tuple[int, int]:
    """Where the round of the step `done` begins and ends: the first has `first` steps, each other twice as many.

    >>> [round_of(done, 500, 3000) for done in (0, 499, 500, 1499, 1500, 3000)]
    [(0, 500), (0, 500), (500, 1500), (500, 1500), (1500, 3000), (1500, 3000)]
    """
    begin = 0
    while done >= begin + first and begin + first < steps:
        begin, first = begin + first, 2 * first
    return begin, min(begin + first, steps)


def mending_of(n_windows: int, options: TableFineTuningOptions) -> int:
    """How many steps a table of so many windows is mended for.

    >>> options = TableFineTuningOptions("table_fine_tuning", windows=512)
    >>> [mending_of(n, options) for n in (6, 24_000, 339_066)]
    [1000, 1000, 2560]
    """
    return max(MENDING, PASSES * n_windows // windows_a_step(n_windows, options))
