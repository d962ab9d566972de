"""Figures 5.4, 5.6 and 5.7 of the thesis: temperatures by length, found and from the propositions, for retrieval."""

from __future__ import annotations

from experiments.claims import above, below, claimed, falls
from regulargpt.text.experiments.alignment import (
    ABOVE,
    ABOVE_ENTROPY,
    GAP,
    TAU,
    above_entropy,
    above_p_max,
    gap,
    temperature,
)
from regulargpt.text.experiments.retrieval import ABOUT, retriever
from regulargpt.text.experiments.subjects import alone
from regulargpt.text.experiments.table import PublishedSource, by_length, text_table

FIGURES = {"topic": "5.4", "line": "5.6", "passkey": "5.7"}
ROWS = {task: alone(retriever(task)) for task in FIGURES}


CLAIMS = [
    claim
    for task in FIGURES
    for claim in claimed(
        {
            "thesis, section 5.7": {
                f"The temperature falls with the length: {task}.": falls(TAU, task, near=2),
                f"The temperature by entropy is lower than that by P_max: {task}.": below(GAP, task, 0.0, at=16),
            },
            "thesis, section 5.10.4": {
                f"The search finds higher temperatures than the propositions: {task}.": (
                    above(ABOVE, task, 0.0, at=16),
                    above(ABOVE_ENTROPY, task, 0.0, at=16),
                )
            },
        }
    )
]
EXPERIMENT = text_table(
    "figure-5.4",
    "Temperatures by length for retrieval",
    ROWS,
    [PublishedSource(f"figure-{printed}", {task: ""}, by_length) for task, printed in FIGURES.items()],
    CLAIMS,
    measuring={TAU: temperature, GAP: gap, ABOVE: above_p_max, ABOVE_ENTROPY: above_entropy},
    drawn=TAU,
    multiples=(2, 4, 8, 16),
    about=ABOUT,
    remarks=("Where a proposition has no solution there is nothing to compare.",),
)
