"""Table 4.3 of the thesis: Sandwich beside the others, by the last symbols of the same segments."""

from __future__ import annotations

from experiments.claims import MULTIPLES, Claim, beats, explodes, falls_below, rises, same, stays_within
from experiments.text.subjects import ALIBI, KERPLE_LOG, ROTARY, SANDWICH, SANDWICH_SMOOTH, SHORT, SINUSOIDAL, T5
from experiments.text.table import Source, by_data_and_length, text_table
from experiments.text.table_3_3 import DATA

SECTION = "thesis, section 4.6.2"
CLAIMS = (
    Claim(
        "Sandwich is the first encoding without parameters that makes use of what is beyond L: it falls below its "
        "value at L at 2x.",
        SECTION,
        (falls_below("sandwich"),),
        SHORT,
    ),
    Claim("KERPLE-log falls below its value at L at 2x and 4x.", SECTION, (falls_below("kerple_log", (2, 4)),), SHORT),
    Claim("T5 falls below its value at L at 2x.", SECTION, (falls_below("t5"),), SHORT),
    Claim("ALiBi stays within 7 % of its value at L.", SECTION, (stays_within("alibi", 7),)),
    Claim(
        "ALiBi is flat from 4x on: it rises by less than 0.5 %.",
        SECTION,
        (stays_within("alibi", 0.5, (8, 16), base=4),),
    ),
    Claim("Rotary explodes from 4x on.", SECTION, (explodes("rotary", beyond=2),)),
    Claim("Sinusoidal explodes from 2x on.", SECTION, (explodes("sinusoidal"),)),
    Claim(
        "Sandwich, KERPLE-log and T5 rise again from 4x to 16x.",
        SECTION,
        (rises("sandwich", base=4), rises("kerple_log", base=4), rises("t5", base=4)),
    ),
    Claim(
        "At L, Sandwich is within 5 % of ALiBi and Rotary.",
        SECTION,
        (*same("sandwich", "alibi", 5, (1,)), *same("sandwich", "rotary", 5, (1,))),
    ),
    Claim(
        "Smoothed Sandwich is within 4 % of Sandwich at every length.",
        SECTION,
        same("sandwich_smooth", "sandwich", 4, MULTIPLES),
    ),
    Claim(
        "KERPLE-log, which learns its kernel, is better than Sandwich at every length.",
        SECTION,
        (beats("kerple_log", "sandwich", at=MULTIPLES),),
    ),
)
EXPERIMENT = text_table(
    "table-4.3",
    "Sandwich and others by the last symbols",
    {
        "sandwich": SANDWICH,
        "sandwich_smooth": SANDWICH_SMOOTH,
        "alibi": ALIBI,
        "sinusoidal": SINUSOIDAL,
        "rotary": ROTARY,
        "kerple_log": KERPLE_LOG,
        "t5": T5,
    },
    [Source("table-4.3", DATA, by_data_and_length)],
    CLAIMS,
)
