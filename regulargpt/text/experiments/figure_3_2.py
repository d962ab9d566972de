"""Figures 3.2 to 3.4 of the thesis: the kernels that KERPLE learns, beside ALiBi's."""

from __future__ import annotations

from experiments.claims import above, leads
from regulargpt.text.experiments.subjects import ALIBI, KERPLE_LOG, KERPLE_POWER, alone
from regulargpt.text.experiments.table import PublishedSource, by_length, text_table
from regulargpt.text.experiments.testing import quantities
from regulargpt.text.measurements.effective_length import THRESHOLD
from regulargpt.text.measurements.quantities import FLATTEST, KERNEL

CLAIMS = {
    "thesis, section 3.5.4": {
        f"The logarithmic variant has flat kernels: one loses less than {-THRESHOLD:g} up to 16x.": above(
            FLATTEST, "kerple_log", THRESHOLD, at=16
        ),
        "ALiBi and the power variant fall to more negative values.": leads(
            KERNEL, "kerple_log", "kerple_power", "alibi", at=4
        ),
    }
}
SUBJECTS = {"kerple_log": alone(KERPLE_LOG), "kerple_power": KERPLE_POWER, "alibi": alone(ALIBI)}
EXPERIMENT = text_table(
    "figure-3.2",
    "Learned kernels",
    SUBJECTS,
    [PublishedSource("figure-3.2", {"github": "GitHub"}, by_length)],
    CLAIMS,
    measuring=quantities(KERNEL, FLATTEST),
    shown=KERNEL,
    drawn=FLATTEST,
    axis="distance",
    remarks=(
        "The bias at distance 0 is subtracted. The cells are means over heads, the picture is the head that has lost "
        "least. `regulargpt kernels RUN` draws every head.",
    ),
)
