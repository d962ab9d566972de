"""Table 5.7 and Figures 5.2 and 5.5 to 5.9 of the thesis: what Propositions 5.1 and 5.2 assume, and what they say."""

from __future__ import annotations

from experiments.claims import Bound, above, change
from regulargpt.text.experiments.alignment import ABOVE, GAUSSIAN, LARGEST, above_p_max, gaussian, largest_logit
from regulargpt.text.experiments.retrieval import ABOUT, by_statistic, retriever
from regulargpt.text.experiments.table import PublishedSource, text_table

TASKS = ("topic", "line", "passkey")


def stays(measure: str, within: float) -> tuple[Bound, Bound]:
    """A measure of every row changes by at most so much."""
    figures = tuple(change(measure, row, 16, 1, is_printed=True) for row in TASKS)
    return Bound(figures, "above", -within), Bound(figures, "below", within)


CLAIMS = {
    "thesis, section 5.6.1, Table 5.7": {
        "The largest entry of the average logit vector is the same at both lengths, within 0.3.": stays(LARGEST, 0.3)
    },
    "thesis, section 5.6.1, Figures 5.2 and 5.5": {
        "The average logit vector is Gaussian at both lengths: its QQ plot has a correlation above 0.98.": above(
            GAUSSIAN, TASKS, 0.98, at=(1, 16)
        )
    },
    "thesis, section 5.7, Figures 5.6 to 5.9": {
        "The search finds a higher temperature than Proposition 5.1 does.": (
            above(ABOVE, TASKS, 0.0, at=16),
            "where the proposition has no solution there is nothing to compare",
        )
    },
}
EXPERIMENT = text_table(
    "table-5.7",
    "What the propositions assume",
    {task: retriever(task) for task in TASKS},
    [PublishedSource("table-5.7", {"largest": "Flan-T5-XL"}, by_statistic)],
    CLAIMS,
    measuring={LARGEST: largest_logit, GAUSSIAN: gaussian, ABOVE: above_p_max},
    drawn=LARGEST,
    about=ABOUT,
    remarks=("Of layer 0; in a causal model of the last query alone, whose vector is as long as the document.",),
)
