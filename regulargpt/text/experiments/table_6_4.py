"""Table 6.4 of the thesis: that of Table 6.3 on GitHub, where the explosions are steps. Our runs are the same."""

from __future__ import annotations

from regulargpt.text.experiments.table import PublishedSource, by_length, text_table
from regulargpt.text.experiments.table_4_4 import SAME_RUNS
from regulargpt.text.experiments.table_6_3 import REMARKS, SUBJECTS, claims

EXPERIMENT = text_table(
    "table-6.4",
    "RegularGPT as a language model (GitHub)",
    SUBJECTS,
    [PublishedSource("table-6.4", {"github": "GitHub"}, by_length)],
    claims(1.07),
    remarks=(*REMARKS, SAME_RUNS.replace("4.1", "6.3")),
)
