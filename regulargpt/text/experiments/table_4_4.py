"""Table 4.4 of the thesis: that of Table 4.1 on OpenWebText2. Our runs are the same."""

from __future__ import annotations

from regulargpt.text.experiments.table_4_1 import table

SAME_RUNS = (
    "The runs are those of Table 4.1: what was published of two data sets is tested on the same networks. A claim that "
    "stands on both pages counts once."
)
EXPERIMENT = table("table-4.4", "Slopes and windows (OpenWebText2)", {"openwebtext2": "OpenWebText2"}, SAME_RUNS)
