"""Figures 3.5 and 3.7 of the thesis: the loss by position, against KERPLE-log that sees a window of L."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.claims import Claim, Claims, beats, falls_on
from regulargpt.text.experiments.subjects import ALIBI, KERPLE_LOG, SHORT, T5, alone, sliding
from regulargpt.text.experiments.table import PublishedSource, TextTable, text_table
from regulargpt.text.experiments.testing import ByPosition

SUBJECTS = {
    "kerple_log": alone(KERPLE_LOG),
    "kerple_log+window": sliding(alone(KERPLE_LOG)),
    "t5": alone(T5),
    "alibi": alone(ALIBI),
}
LENGTHS = (1, 2, 4, 8)
REMARK = "The reference is KERPLE-log as it was trained, with a window of L in the test."


def position_figure(name: str, title: str, claims: Claims, multiples: tuple[int, ...]) -> TextTable:
    """The loss by position, up to the last of these multiples."""
    return text_table(
        name,
        title,
        SUBJECTS,
        [PublishedSource(name, {"github": "GitHub"}, lambda data, row, length: (f"{length}/{row}", row))],
        claims,
        test=ByPosition(),
        axis="position",
        multiples=multiples,
        remarks=(REMARK,),
    )


def below_the_window(section: str, at: Sequence[int]) -> Claim:
    """KERPLE-log makes use of more than the last L symbols."""
    return Claim(
        "KERPLE-log lies below KERPLE-log with a window of L: it uses what is farther back.",
        section,
        (beats("kerple_log", "kerple_log+window", at=at),),
        SHORT,
    )


def above_the_window(section: str, at: Sequence[int]) -> Claim:
    """ALiBi does not."""
    return Claim("ALiBi lies above it.", section, (beats("kerple_log+window", "alibi", at=at),))


SECTION = "thesis, section 3.5.5"
CLAIMS = (
    below_the_window(SECTION, LENGTHS[1:]),
    Claim("KERPLE-log falls to the end.", SECTION, (falls_on("kerple_log", LENGTHS),), SHORT),
    Claim(
        "T5 lies below KERPLE-log with a window of L up to 4x.", SECTION, (beats("t5", "kerple_log+window", at=(2, 4)),)
    ),
    Claim("T5 is worse than KERPLE-log.", SECTION, (beats("kerple_log", "t5", at=LENGTHS[1:]),)),
    above_the_window(SECTION, LENGTHS[1:]),
)
EXPERIMENT = position_figure("figure-3.5", "The loss by position up to 8 L", CLAIMS, LENGTHS)
