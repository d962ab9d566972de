"""Figure 5.3 and Table 5.1 of the thesis, on text: attention flattens with the length, and temperatures fall."""

from __future__ import annotations

from experiments.claims import Bound, below, change
from experiments.text.alignment import ENTROPY, GAP, P_MAX, TAU, dispersion, gap, temperature
from experiments.text.subjects import T5, alone, encoding
from experiments.text.table import Source, by_length, text_table

ROWS = {"t5": alone(T5), "none": encoding("No positions", "none")}


def changes(measure: str, rises: bool, base: int) -> tuple[Bound, ...]:
    """A measure of every row is higher, or lower, at 16x than at a smaller multiple."""
    side = "above" if rises else "below"
    return (Bound(tuple(change(measure, row, 16, base) for row in ROWS), side, 0.0),)


CLAIMS = {
    "thesis, section 5.3.3, Table 5.1": {
        "Attention is dispersed in longer sequences: P_max falls, and entropy rises.": (
            *changes(P_MAX, False, 1),
            *changes(ENTROPY, True, 1),
        )
    },
    "thesis, section 5.5.2": {"The temperature falls with the length.": changes(TAU, False, 2)},
    "thesis, section 5.7": {
        "The temperature by entropy is lower than that by P_max.": tuple(below(GAP, row, 0, at=16) for row in ROWS)
    },
}
EXPERIMENT = text_table(
    "figure-5.3",
    "Temperatures by length",
    ROWS,
    [Source("figure-5.3", {"text": ""}, by_length)],
    CLAIMS,
    measuring={P_MAX: dispersion("p_max"), ENTROPY: dispersion("entropy"), TAU: temperature, GAP: gap},
    shown=TAU,
    drawn=TAU,
    multiples=(2, 4, 8, 16),
    remarks=("`regulargpt align RUN` shows P_max, entropy and every strategy at a length, and both propositions.",),
)
