"""Table 5.11 of the thesis: the temperatures that are found for code."""

from __future__ import annotations

from experiments.text.alignment import TEMPERATURE, temperature_of
from experiments.text.claims import Bound, Change, Claim, Lead
from experiments.text.completion import AS_LONG, PUBLISHED_LENGTH
from experiments.text.subjects import T5, alone, sharpened
from experiments.text.table import Source, text_table

LONGER = (2, 4, 8, 16)
SECTION = "thesis, section 5.7"
ROWS = {
    f"t5+{key}": sharpened(alone(T5), key, title)
    for key, title in (("p_max", "P_max"), ("entropy", "entropy"), ("log", "log"))
}


def as_long(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are strategies, columns are lengths."""
    return row, AS_LONG.get(length // PUBLISHED_LENGTH, "12000" if length == 16 * PUBLISHED_LENGTH else "")


def falls(strategy: str) -> Bound:
    """The temperature is lower at the longest length than at the shortest."""
    figures = (Change(TEMPERATURE, f"t5+{strategy}", 16, 2),)
    return Bound(f"{TEMPERATURE} at 16x lower than at 2x", figures, "below", 0.0)


CLAIMS = (
    Claim("The temperature by P_max falls with the length.", SECTION, (falls("p_max"),)),
    Claim("The temperature by entropy falls with the length.", SECTION, (falls("entropy"),)),
    Claim(
        "Entropy lowers the temperature more than P_max does.",
        SECTION,
        (Bound("lower at 16x", (Lead(TEMPERATURE, "t5+entropy", "t5+p_max", 16),), "below", 0.0),),
    ),
)
EXPERIMENT = text_table(
    "table-5.11",
    "Temperatures for code",
    ROWS,
    [Source("table-5.11", {"code": "CodeT5+"}, as_long, train_len=PUBLISHED_LENGTH)],
    CLAIMS,
    sharpening={TEMPERATURE: temperature_of},
    drawn=TEMPERATURE,
    shown=TEMPERATURE,
    multiples=LONGER,
    remarks=("The published grid ends at 0.5, where the entropy's temperatures lie from 3,000 tokens on.",),
)
