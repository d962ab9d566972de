"""Figure 5.1 of the thesis: some heads of T5 look near, others far."""

from __future__ import annotations

from experiments.claims import above, below
from regulargpt.text.experiments.retrieval import retriever
from regulargpt.text.experiments.subjects import T5, alone
from regulargpt.text.experiments.table import PublishedSource, by_length, text_table
from regulargpt.text.experiments.testing import quantities
from regulargpt.text.measurements.quantities import FLATTEST, STEEPEST

# A symbol far away has e times as much weight as the same symbol at distance 0, or as little.
ONE = 1.0
ROWS = {"text": alone(T5), **{task: alone(retriever(task)) for task in ("line", "passkey", "topic")}}
CLAIMS = {
    "thesis, section 5.3.2": {
        "One head learns to look at symbols nearby: those at 4x have less than 1/e of the weight.": tuple(
            below(STEEPEST, row, -ONE, at=4) for row in ROWS
        ),
        "Another learns to look at symbols far away: those at 4x have more than e times the weight.": tuple(
            above(FLATTEST, row, ONE, at=4) for row in ROWS
        ),
    }
}
EXPERIMENT = text_table(
    "figure-5.1",
    "Biases that T5 learns",
    ROWS,
    [PublishedSource("figure-5.1", {"": "Flan-T5-XL"}, by_length)],
    CLAIMS,
    measuring=quantities(FLATTEST, STEEPEST),
    drawn=FLATTEST,
    axis="distance",
    remarks=(
        "The bias at distance 0 is subtracted. Ours are causal models, so distances have one direction. "
        "`regulargpt kernels RUN` draws every head.",
    ),
)
