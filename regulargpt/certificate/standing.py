"""Where a table fine-tuning stands, and what follows for its steps, its learning rate and the windows of a step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from regulargpt.certificate.options import TableFineTuningOptions

# The share of the fine-tuning in which its learning rate falls to 0.
FALL = 0.6
# A fine-tuning that has not brought the certificate in so many steps begins anew if it has mended half of what was
# missed; else it is given up.
MENDING, MENDED = 1000, 0.5
# A step takes so many times the windows of a small table, but no fewer than these; and this part of those of a large
# one, but no more than these.
COPIES, FEWEST_WINDOWS = 8, 64
PART, MOST_WINDOWS = 128, 4096
# The learning rate on the table of a certified network halves in so many steps, or in as many as it takes to go so many
# times through a large table.
HALF_LIFE, PASSES = 200, 10
# No further than to this share: with a rate of nothing, states would drift for ever.
LEAST_LEFT = 0.05


@dataclass(frozen=True)
class Standing:
    """Where the fine-tuning stands: the steps at which it began and at which the certificate held first.

    `missed` is the share of the table that was missed when it began, `given_up` counts those that brought nothing.
    `half_life` is how many steps halve the learning rate on a table of its size, and `steady_at` the step at which a
    certified network needed no more; `steady_since` that at which its states no longer drifted. `opened_at` is the step
    at which windows last came in.
    """

    began_at: int | None = None
    certified_at: int | None = None
    missed: float = 1.0
    given_up: int = 0
    half_life: int = HALF_LIFE
    steady_at: int | None = None
    opened_at: int | None = None
    steady_since: int | None = None

    @property
    def since(self) -> int | None:
        """The step at which it began; what begins before the certificate begins anew with it."""
        return self.began_at if self.certified_at is None else self.certified_at

    @property
    def counted_from(self) -> int | None:
        """The step from which on its steps are counted: while a table is mended, since windows last came in."""
        return self.since if self.certified_at is not None or self.opened_at is None else self.opened_at

    def steps(self, options: TableFineTuningOptions) -> int:
        """How long it lasts at most: without certificate `MENDING`, or twice the half-life if that is longer."""
        if self.certified_at is not None:
            return options.steps
        return min(options.steps, max(MENDING, 2 * self.half_life))

    def left(self, step: int, options: TableFineTuningOptions) -> float:
        """Its learning rate and noise: with a certificate halved again and again; without, falling to 0 at the end."""
        if self.counted_from is None:
            return 1.0
        if self.certified_at is not None:
            return max(LEAST_LEFT, 0.5 ** ((step - self.certified_at) / self.half_life))
        left = self.counted_from + self.steps(options) - step
        return min(1.0, left / max(1.0, FALL * self.steps(options)))

    def ends(self, step: int, options: TableFineTuningOptions) -> bool:
        """Whether it has had its steps, or needs no more."""
        counted_from = self.counted_from
        return self.steady_at is not None or (counted_from is not None and step >= counted_from + self.steps(options))

    def allowed(self, options: TableFineTuningOptions) -> float:
        """The share of the table that may be missed when it begins: half as much after one was given up."""
        return options.missed * 0.5**self.given_up if options.steps else 0.0

    def begun(self, step: int, certain: bool, missed: float, half_life: int = HALF_LIFE) -> Standing:
        """From here on, or anew, on a table of which the network misses the share `missed`.

        If it is `certain`, the certificate holds, since now or since before; else it does not, or no longer.
        """
        if not certain:
            lost = self.without_certificate()
            return replace(lost, began_at=step, missed=missed, half_life=half_life)
        begun = step if self.began_at is None else self.began_at
        holds = step if self.certified_at is None else self.certified_at
        return replace(self, began_at=begun, certified_at=holds, missed=missed, half_life=half_life)

    def ended(self) -> Standing:
        """Given up: words again."""
        return replace(self.without_certificate(), began_at=None, given_up=self.given_up + 1)

    def without_certificate(self) -> Standing:
        """Nothing holds, and no windows have come in."""
        return replace(self, certified_at=None, opened_at=None, steady_since=None)


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


def half_life_of(n_windows: int, options: TableFineTuningOptions) -> int:
    """The steps in which the learning rate on a table of so many windows halves.

    >>> options = TableFineTuningOptions("table_fine_tuning", windows=512)
    >>> [half_life_of(n, options) for n in (6, 1_000, 24_000, 339_066)]
    [200, 200, 468, 1280]
    """
    return max(HALF_LIFE, PASSES * n_windows // windows_a_step(n_windows, options))
