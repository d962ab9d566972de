"""What is kept of a training on its way, by name: it changes no weight. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regulargpt.options import Options, option
from regulargpt.options.registry import Registry, Row


@dataclass(frozen=True)
class ObserverOptions(Options):
    """The options of an observer."""

    name: str


@dataclass(frozen=True)
class SnapshotsOptions(ObserverOptions):
    """The weights at `count` steps, for the page of `report`: before the first step, and then at steps that grow by a
    factor up to `training.steps`, for most is learned early. A training that ends before has fewer.

    >>> SnapshotsOptions("snapshots", 2).steps(1000)
    [0, 1000]
    >>> SnapshotsOptions("snapshots", 6).steps(1000)
    [0, 1, 6, 33, 182, 1000]
    """

    count: int = option(
        20, "Steps at which the weights are kept.", least=1, most=1000, why="give a number of steps", flag="--snapshots"
    )

    def steps(self, most: int) -> list[int]:
        """The steps, in a training of `most` steps: no two are the same.

        >>> SnapshotsOptions("snapshots", 20).steps(5)
        [0, 1, 2, 3, 4, 5]
        """
        return list(self._steps(most))

    def _steps(self, most: int) -> Iterator[int]:
        yield 0
        step = 0
        for left in range(self.count - 2, -1, -1):
            # What is left is shared anew after each step: where steps are rounded up, later ones lie closer.
            after = max(step + 1, round(step * (most / step) ** (1 / (left + 1)))) if step else 1 if left else most
            if not step < after <= most:
                return
            step = after
            yield step


OBSERVERS = Registry(
    "observer",
    {
        "snapshots": Row(
            "regulargpt.training.snapshots:Snapshots", SnapshotsOptions, "the weights at steps on the way, for `report`"
        ),
    },
    ObserverOptions,
    "regulargpt.observers",
)
