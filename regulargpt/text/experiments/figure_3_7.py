"""Figure 3.7 of the thesis: Figure 3.5 on segments four times as long."""

from __future__ import annotations

from experiments.claims import Claim, explodes, stays_within
from regulargpt.text.experiments.figure_3_5 import above_the_window, below_the_window, position_figure

LENGTHS, SECTION = (1, 2, 4, 8, 16, 32), "thesis, section 3.7.6"
CLAIMS = (
    below_the_window(SECTION, LENGTHS[1:]),
    Claim("T5 explodes.", SECTION, (explodes("t5", beyond=16, among=LENGTHS),)),
    Claim("ALiBi does not explode.", SECTION, (stays_within("alibi", 50, LENGTHS[1:]),)),
    above_the_window(SECTION, LENGTHS[1:]),
)
EXPERIMENT = position_figure("figure-3.7", "The loss by position up to 32 L", CLAIMS, LENGTHS)
