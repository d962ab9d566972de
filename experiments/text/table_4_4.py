"""Table 4.4 of the thesis: that of Table 4.1 on OpenWebText2. Our runs are the same."""

from __future__ import annotations

from experiments.text.table_4_1 import table

EXPERIMENT = table("table-4.4", "Slopes and windows (OpenWebText2)", {"openwebtext2": "OpenWebText2"})
