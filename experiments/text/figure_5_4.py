"""Figures 5.4, 5.6 and 5.7 of the thesis: temperatures by length, found and from the propositions, for retrieval."""

from __future__ import annotations

from typing import Literal

from experiments.claims import Bound, Claim, Level, change
from experiments.text.alignment import ABOVE, ABOVE_ENTROPY, GAP, TAU, above_entropy, above_p_max, gap, temperature
from experiments.text.retrieval import ABOUT, retriever
from experiments.text.subjects import alone
from experiments.text.table import Source, by_length, text_table

FIGURES = {"topic": "5.4", "line": "5.6", "passkey": "5.7"}
ROWS = {task: alone(retriever(task)) for task in FIGURES}


def claims(task: str) -> tuple[Claim, Claim, Claim]:
    """What the temperatures of a task do."""

    def level(measure: str, side: Literal["below", "above"]) -> Bound:
        return Bound((Level(measure, task, 16),), side, 0.0)

    falls = Bound((change(TAU, task, 16, 2),), "below", 0.0)
    return (
        Claim(f"The temperature falls with the length: {task}.", "thesis, section 5.7", (falls,)),
        Claim(
            f"The temperature by entropy is lower than that by P_max: {task}.",
            "thesis, section 5.7",
            (level(GAP, "below"),),
        ),
        Claim(
            f"The search finds higher temperatures than the propositions: {task}.",
            "thesis, section 5.10.4",
            (level(ABOVE, "above"), level(ABOVE_ENTROPY, "above")),
        ),
    )


CLAIMS = [claim for task in FIGURES for claim in claims(task)]
EXPERIMENT = text_table(
    "figure-5.4",
    "Temperatures by length for retrieval",
    ROWS,
    [Source(f"figure-{printed}", {task: ""}, by_length) for task, printed in FIGURES.items()],
    CLAIMS,
    measuring={TAU: temperature, GAP: gap, ABOVE: above_p_max, ABOVE_ENTROPY: above_entropy},
    shown=TAU,
    drawn=TAU,
    multiples=(2, 4, 8, 16),
    about=ABOUT,
    remarks=("Where a proposition has no solution there is nothing to compare.",),
)
