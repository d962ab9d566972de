"""Figure 3.6 of the thesis: how many heads have ended at a distance, by the kernel that was learned."""

from __future__ import annotations

from experiments.claims import below, leads
from regulargpt.text.experiments.figure_3_2 import SUBJECTS
from regulargpt.text.experiments.table import PublishedSource, by_length, text_table
from regulargpt.text.experiments.testing import quantities
from regulargpt.text.measurements.quantities import HEADS

CLAIMS = {
    "thesis, section 3.7.5": {
        "The logarithmic variant looks farther than the power variant: fewer of its heads have ended at L.": leads(
            HEADS, "kerple_power", "kerple_log", at=1
        )
    },
    "thesis, section 3.5.4": {
        "The logarithmic variant has flat kernels: one does not end up to 16x.": below(HEADS, "kerple_log", 3.5, at=16)
    },
}
EXPERIMENT = text_table(
    "figure-3.6",
    "Effective lengths of learned kernels",
    SUBJECTS,
    [PublishedSource("figure-3.6", {"text": ""}, by_length)],
    CLAIMS,
    measuring=quantities(HEADS),
    drawn=HEADS,
    axis="distance",
    remarks=(
        "The effective length of a head is the first distance at which its bias is more than 2 below that at "
        "distance 0. There are 4 heads, in print 12.",
    ),
)
