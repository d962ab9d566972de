"""Table 4.3 of the thesis: Sandwich beside the others, by the last symbols of the same segments."""

from __future__ import annotations

from experiments.claims import MULTIPLES, beats, explodes, falls_below, rises, same, stays_within
from regulargpt.text.experiments.subjects import (
    ALIBI,
    KERPLE_LOG,
    ROTARY,
    SANDWICH,
    SANDWICH_SMOOTH,
    SHORT,
    SINUSOIDAL,
    T5,
    by_encoding,
)
from regulargpt.text.experiments.table import PublishedSource, by_data_and_length, text_table
from regulargpt.text.experiments.table_3_3 import DATA

CLAIMS = {
    "thesis, section 4.6.2": {
        "Sandwich is the first encoding without parameters that makes use of what is beyond L: it falls below its "
        "value at L at 2x.": (falls_below("sandwich"), SHORT),
        "KERPLE-log falls below its value at L at 2x and 4x.": (falls_below("kerple_log", (2, 4)), SHORT),
        "T5 falls below its value at L at 2x.": (falls_below("t5"), SHORT),
        "ALiBi stays within 7 % of its value at L.": stays_within("alibi", 7),
        "ALiBi is flat from 4x on: it rises by less than 0.5 %.": stays_within("alibi", 0.5, (8, 16), base=4),
        "Rotary explodes from 4x on.": explodes("rotary", beyond=2),
        "Sinusoidal explodes from 2x on.": explodes("sinusoidal"),
        "Sandwich, KERPLE-log and T5 rise again from 4x to 16x.": (
            rises("sandwich", base=4),
            rises("kerple_log", base=4),
            rises("t5", base=4),
        ),
        "At L, Sandwich is within 5 % of ALiBi and Rotary.": (
            *same("sandwich", "alibi", 5, (1,)),
            *same("sandwich", "rotary", 5, (1,)),
        ),
        "Smoothed Sandwich is within 4 % of Sandwich at every length.": same(
            "sandwich_smooth", "sandwich", 4, MULTIPLES
        ),
        "KERPLE-log, which learns its kernel, is better than Sandwich at every length.": beats(
            "kerple_log", "sandwich", at=MULTIPLES
        ),
    }
}
EXPERIMENT = text_table(
    "table-4.3",
    "Sandwich and others by the last symbols",
    by_encoding(SANDWICH, SANDWICH_SMOOTH, ALIBI, SINUSOIDAL, ROTARY, KERPLE_LOG, T5),
    [PublishedSource("table-4.3", DATA, by_data_and_length)],
    CLAIMS,
)
