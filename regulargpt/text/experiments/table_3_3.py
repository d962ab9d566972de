"""Table 3.3 of the thesis: KERPLE beside ALiBi, T5, Rotary and Sinusoidal, on segments side by side."""

from __future__ import annotations

from experiments.claims import MULTIPLES, beats, explodes, falls_below, no_worse, rises
from regulargpt.text.experiments.subjects import ALIBI, KERPLE_LOG, KERPLE_POWER, ROTARY, SINUSOIDAL, T5, by_encoding
from regulargpt.text.experiments.table import PublishedSource, by_data_and_length, text_table
from regulargpt.text.experiments.testing import SIDE_BY_SIDE

DATA = {"openwebtext2": "OpenWebText2", "github": "GitHub", "arxiv": "ArXiv"}
CLAIMS = {
    "thesis, section 3.5.2": {
        "KERPLE-log is better than ALiBi, Rotary and Sinusoidal at every longer length.": beats(
            "kerple_log", "alibi", "rotary", "sinusoidal"
        ),
        "KERPLE-log is at most 0.5 % worse than KERPLE-power at any length.": no_worse(
            "kerple_log", "kerple_power", 0.5, MULTIPLES
        ),
        "KERPLE-log is at most 1 % worse than T5 up to 4x, and better from 8x on.": (
            no_worse("kerple_log", "t5", 1, (1, 2, 4)),
            beats("kerple_log", "t5", at=(8, 16)),
        ),
        "On segments side by side the perplexity of KERPLE-log "
        "falls below its value at L at every longer length.": falls_below("kerple_log", (2, 4, 8, 16)),
        "Rotary rises from 2x on and explodes beyond 2x.": (rises("rotary", (2,)), explodes("rotary", beyond=2)),
        "Sinusoidal explodes from 2x on.": explodes("sinusoidal"),
    },
    "thesis, Table 3.3": {"T5 is worse at 16x than at 4x.": rises("t5", (16,), base=4)},
}
EXPERIMENT = text_table(
    "table-3.3",
    "KERPLE and others on segments side by side",
    by_encoding(KERPLE_LOG, KERPLE_POWER, ALIBI, T5, ROTARY, SINUSOIDAL),
    [PublishedSource("table-3.3", DATA, by_data_and_length)],
    CLAIMS,
    test=SIDE_BY_SIDE,
)
