"""Where a table fine-tuning stands, and what follows for its steps, its learning rate and the windows of a step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from regulargpt.training.table_fine_tuning import TableFineTuningOptions

# The share of a round in which the learning rate falls to 0. The first one on a certified table has as many steps as
# the table has windows, but at least `ROUND`; each further one is twice as long: warm restarts as in Loshchilov and
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
class TuningState:
    """Where the fine-tuning stands: the steps at which it began and at which the certificate held first.

    `missed` is the share of the table that was missed when it began, `given_up` counts those that brought nothing.
    `windows` is how many the table has. At `steady_at` a certified network needed no more; at `steady_since` its states
    did not drift for the first time. `opened_at` is the step at which windows last came in. From `settling_since` on a
    certified network settles, and may be `taken_back` where that ends.
    """

    began_at: int | None = None
    certified_at: int | None = None
    missed: float = 1.0
    given_up: int = 0
    windows: int = 0
    steady_at: int | None = None
    opened_at: int | None = None
    steady_since: int | None = None
    settling_since: int | None = None
    taken_back: bool = False

    @property
    def since(self) -> int | None:
        """The step at which it began; what begins before the certificate begins anew with it, and once it settles."""
        if self.settling_since is not None:
            return self.settling_since
        return self.began_at if self.certified_at is None else self.certified_at

    @property
    def counted_from(self) -> int | None:
        """The step from which on its steps are counted: while a table is mended, since windows last came in."""
        return self.since if self.certified_at is not None or self.opened_at is None else self.opened_at

    def steps(self, options: TableFineTuningOptions) -> int:
        """How long it lasts at most: without certificate no longer than the table is mended for."""
        if self.certified_at is None:
            return min(options.steps, mending_of(self.windows, options))
        return options.steps if self.settling_since is None else options.settling

    def round(self, step: int, options: TableFineTuningOptions) -> tuple[int, int]:
        """The first step of the round that this step is in, and the end, counted from where it all began.

        A table is mended in one round, and a network settles in one.
        """
        assert self.counted_from is not None, "it has begun"
        done, steps = step - self.counted_from, self.steps(options)
        is_one = self.certified_at is None or self.settling_since is not None
        return (0, steps) if is_one else round_of(done, max(ROUND, self.windows), steps)

    def ends_round(self, step: int, options: TableFineTuningOptions) -> bool:
        """Whether the learning rate has just fallen to 0."""
        assert self.counted_from is not None, "it has begun"
        return step == self.counted_from + self.round(step - 1, options)[1]

    def left(self, step: int, options: TableFineTuningOptions) -> float:
        """Its share of the learning rate and of the noise: in each round constant, then falling to 0.

        Where the rate does not fall to 0 states drift for ever, and if it falls too soon, the Jacobian stays large.
        """
        if self.counted_from is None:
            return 1.0
        begin, end = self.round(step, options)
        fall = FALL if self.settling_since is None else SETTLING_FALL
        return max(0.0, min(1.0, (self.counted_from + end - step) / max(1.0, fall * (end - begin))))

    def end(self, options: TableFineTuningOptions) -> int | None:
        """The step at which it has had its steps, if it has begun."""
        return None if self.counted_from is None else self.counted_from + self.steps(options)

    def ends(self, step: int, options: TableFineTuningOptions) -> bool:
        """Whether it has had its steps, or needs no more."""
        end = self.end(options)
        return self.steady_at is not None or (end is not None and step >= end)

    def allowed(self, options: TableFineTuningOptions) -> float:
        """The share of the table that may be missed when it begins: half as much after one was given up."""
        return options.max_error_share * 0.5**self.given_up if options.steps else 0.0

    def begun(self, step: int, certain: bool, missed: float, windows: int = 0) -> TuningState:
        """From here on, or anew, on a table of which the network misses the share `missed`.

        If it is `certain`, the certificate holds, since now or since before; else it does not, or no longer.
        """
        if not certain:
            lost = self.without_certificate()
            return replace(lost, began_at=step, missed=missed, windows=windows)
        begun = step if self.began_at is None else self.began_at
        holds = step if self.certified_at is None else self.certified_at
        return replace(self, began_at=begun, certified_at=holds, missed=missed, windows=windows)

    def ended(self) -> TuningState:
        """Given up: words again."""
        return replace(self.without_certificate(), began_at=None, given_up=self.given_up + 1)

    def without_certificate(self) -> TuningState:
        """Nothing holds, and no windows have come in."""
        return replace(self, certified_at=None, opened_at=None, steady_since=None, settling_since=None)


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
