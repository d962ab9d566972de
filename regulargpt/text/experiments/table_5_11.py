"""Table 5.11 of the thesis: the temperatures that are found for code."""

from __future__ import annotations

from regulargpt.text.experiments.alignment import TEMPERATURE, temperature_of
from regulargpt.text.experiments.completion import AS_LONG, PUBLISHED_LENGTH
from regulargpt.text.experiments.subjects import T5, aligned, alone
from regulargpt.text.experiments.table import PublishedSource, text_table
from regulargpt.text.experiments.temperatures import temperatures_fall

LONGER = (2, 4, 8, 16)
ROWS = {row: subject for row, subject in aligned("t5", alone(T5)).items() if subject.sharpened}


def as_long(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are strategies, columns are lengths."""
    return row, AS_LONG.get(length // PUBLISHED_LENGTH, "12000" if length == 16 * PUBLISHED_LENGTH else "")


CLAIMS = {"thesis, section 5.7": temperatures_fall("t5")}
EXPERIMENT = text_table(
    "table-5.11",
    "Temperatures for code",
    ROWS,
    [PublishedSource("table-5.11", {"code": "CodeT5+"}, as_long, train_len=PUBLISHED_LENGTH)],
    CLAIMS,
    sharpening={TEMPERATURE: temperature_of},
    drawn=TEMPERATURE,
    multiples=LONGER,
    remarks=("The published grid ends at 0.5, where the entropy's temperatures lie from 3,000 tokens on.",),
)
