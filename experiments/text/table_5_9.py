"""Table 5.9 of the thesis: the temperatures that are found for retrieval tasks."""

from __future__ import annotations

from experiments.text.alignment import TEMPERATURE, temperature_of
from experiments.text.claims import Bound, Change, Claim, Lead
from experiments.text.retrieval import ABOUT, SIZES, aligned, by_task, retriever
from experiments.text.table import Source, text_table

TASKS = ("topic", "line", "passkey")
LONGER = (2, 4, 8, 16)
SECTION = "thesis, section 5.5.2"
ROWS = {row: subject for task in TASKS for row, subject in aligned(task, retriever(task)).items() if subject.sharpened}


def falls(strategy: str) -> Bound:
    """The temperature is lower at the longest length than at the shortest."""
    figures = tuple(Change(TEMPERATURE, f"{task}/t5+{strategy}", 16, 2) for task in TASKS)
    return Bound(f"{TEMPERATURE} at 16x lower than at 2x", figures, "below", 0.0)


CLAIMS = (
    Claim("The temperature by P_max falls with the length.", SECTION, (falls("p_max"),)),
    Claim("The temperature by entropy falls with the length.", SECTION, (falls("entropy"),)),
    Claim(
        "Entropy lowers the temperature more than P_max does.",
        "thesis, section 5.7",
        (
            Bound(
                "lower at 16x",
                tuple(Lead(TEMPERATURE, f"{task}/t5+entropy", f"{task}/t5+p_max", 16) for task in TASKS),
                "below",
                0.0,
            ),
        ),
    ),
)
EXPERIMENT = text_table(
    "table-5.9",
    "Temperatures for retrieval",
    ROWS,
    [Source("table-5.9", SIZES, by_task)],
    CLAIMS,
    sharpening={TEMPERATURE: temperature_of},
    drawn=TEMPERATURE,
    shown=TEMPERATURE,
    multiples=LONGER,
    about=ABOUT,
    remarks=(
        "The published ones are on a grid that ends at 0.5, where many of the entropy's lie; ours are found by halving "
        "between 0.2 and 1.5.",
    ),
)
