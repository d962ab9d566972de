"""What data have beside, whose test words are segments of something longer. Never imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch
    from torch import nn

    from regulargpt.config.schema import RunConfig
    from regulargpt.evaluation.by_length import Point
    from regulargpt.evaluation.interval import Interval
    from regulargpt.objectives.answers import Objective


@runtime_checkable
class Segmented(Protocol):
    """What data have beside, whose words are segments of something longer: a test is held against the shorter ones."""

    @property
    def reach(self) -> int:
        """The longest segment that is tested."""
        ...

    def reference(
        self, model: nn.Module, objective: Objective, config: RunConfig, seed: int, device: torch.device, length: int
    ) -> Any:
        """What a test is held against: the network with the options of its training, at a length; None where it
        cannot be tested there."""
        ...

    def facts(self, points: Sequence[Point], config: RunConfig, reference: Any, base: int) -> dict[str, Any]:
        """What summary.json says of a test beside its measures, held against `reference`, at the length `base`."""
        ...

    def ratio(self, point: Point, base: Point) -> Interval:
        """How much worse a test went than another test."""
        ...
