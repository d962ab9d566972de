"""What claims are about: quantities of a run by length, position or distance, by name. Never imports torch.

Each is a function in the file of its measurement, of an opened run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from regulargpt.options.registry import load

if TYPE_CHECKING:
    from regulargpt.evaluation.interval import Interval
    from regulargpt.runs.opened import OpenedRun

    Quantity = Callable[[OpenedRun], Mapping[int, Interval]]

RESOLUTION, HEADS = "attention resolution", "heads with an effective length up to x"
KERNEL, FLATTEST = "mean bias at distance x", "bias of the flattest head at distance x"
STEEPEST = "bias of the steepest head at distance x"
VARIANCE = "variance of the attention output of layer 0 over that at position 1"
SLOPE, HIGHER = "slope of its logarithm in layer 0", "slope in the last layer minus that in layer 0"
SHARE, GRADIENT = "share of the gradient within L", "share of the gradient on the last x symbols"
FIELD, JUMP = "receptive field over L", "share of the gradient around position L"

QUANTITIES = {
    RESOLUTION: "regulargpt.text.measurements.resolution:attention_resolution",
    HEADS: "regulargpt.text.measurements.bias_kernels:heads_by_reach",
    KERNEL: "regulargpt.text.measurements.bias_kernels:mean_kernel",
    FLATTEST: "regulargpt.text.measurements.bias_kernels:flattest_kernel",
    STEEPEST: "regulargpt.text.measurements.bias_kernels:steepest_kernel",
    VARIANCE: "regulargpt.text.measurements.variance_by_position:first_layer",
    SLOPE: "regulargpt.text.measurements.variance_by_position:slope",
    HIGHER: "regulargpt.text.measurements.variance_by_position:higher_slope",
    SHARE: "regulargpt.measurements.receptive_field:share_in_training_length",
    GRADIENT: "regulargpt.measurements.receptive_field:cumulative_share",
    FIELD: "regulargpt.measurements.receptive_field:field_length",
    JUMP: "regulargpt.measurements.receptive_field:jump",
}


def quantity(name: str) -> Quantity:
    """The function of a quantity."""
    return load(QUANTITIES[name])
