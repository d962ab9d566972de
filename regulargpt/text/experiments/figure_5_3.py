"""Figure 5.3 and Table 5.1 of the thesis, on text: attention flattens with the length, and temperatures fall."""

from __future__ import annotations

from experiments.claims import below, falls, grows
from regulargpt.text.experiments.alignment import ENTROPY, GAP, P_MAX, TAU, dispersion, gap, temperature
from regulargpt.text.experiments.subjects import T5, alone, encoding
from regulargpt.text.experiments.table import PublishedSource, by_length, text_table

ROWS = {"t5": alone(T5), "none": encoding("No positions", "none")}


CLAIMS = {
    "thesis, section 5.3.3, Table 5.1": {
        "Attention is dispersed in longer sequences: P_max falls, and entropy rises.": (
            falls(P_MAX, *ROWS),
            grows(ENTROPY, *ROWS),
        )
    },
    "thesis, section 5.5.2": {"The temperature falls with the length.": falls(TAU, *ROWS, near=2)},
    "thesis, section 5.7": {
        "The temperature by entropy is lower than that by P_max.": tuple(below(GAP, row, 0, at=16) for row in ROWS)
    },
}
EXPERIMENT = text_table(
    "figure-5.3",
    "Temperatures by length",
    ROWS,
    [PublishedSource("figure-5.3", {"text": ""}, by_length)],
    CLAIMS,
    measuring={P_MAX: dispersion("p_max"), ENTROPY: dispersion("entropy"), TAU: temperature, GAP: gap},
    drawn=TAU,
    multiples=(2, 4, 8, 16),
    remarks=("`regulargpt align RUN` shows P_max, entropy and every strategy at a length, and both propositions.",),
)
