"""Figure 2.7 of the thesis: a trained Transformer without positions, and the variance of what its attention says."""

from __future__ import annotations

from experiments.claims import above, below
from regulargpt.text.experiments.subjects import encoding
from regulargpt.text.experiments.table import PublishedSource, by_length, text_table
from regulargpt.text.experiments.testing import quantities
from regulargpt.text.measurements.quantities import HIGHER, SLOPE, VARIANCE

# "Highly similar" to a slope of -1.
NEAR = 0.2
CLAIMS = {
    "thesis, section 2.5": {
        "The variance of layer 0 falls with the position m almost as 1/m.": (
            below(SLOPE, "none", -1 + NEAR, at=1),
            above(SLOPE, "none", -1 - NEAR, at=1),
            "1/m needs independent inputs and even attention: bytes of code recur",
        ),
        "In higher layers it falls less.": above(HIGHER, "none", 0, at=1),
    }
}
EXPERIMENT = text_table(
    "figure-2.7",
    "The variance by position without encodings",
    {"none": encoding("No positions", "none")},
    [PublishedSource("figure-2.7", {"openwebtext2": "OpenWebText2"}, by_length)],
    CLAIMS,
    measuring=quantities(SLOPE, HIGHER, VARIANCE),
    shown=SLOPE,
    drawn=VARIANCE,
    axis="position",
    multiples=(1,),
    remarks=(
        "Figures 2.2 to 2.5 are of random networks and need no training: `regulargpt position-variance`.",
        "`regulargpt position-variance RUN` shows every layer, before training and after, and how well a classifier "
        "reads the position.",
    ),
)
