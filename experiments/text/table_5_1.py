"""Table 5.1 of the thesis: attention flattens in longer documents."""

from __future__ import annotations

from experiments.text.alignment import ENTROPY, P_MAX, dispersion
from experiments.text.claims import Bound, Change, Claim
from experiments.text.retrieval import ABOUT, by_statistic, retriever
from experiments.text.table import Source, text_table

TASKS = ("topic", "line", "passkey", "needles", "code-key")
PUBLISHED = TASKS[:3]


def changes(measure: str, rises: bool, rows: tuple[str, ...] = PUBLISHED) -> Bound:
    """A measure of every row is higher, or lower, at 16x than at the training length."""
    rule = f"{measure} at 16x {'higher' if rises else 'lower'} than at 1x"
    return Bound(
        rule, tuple(Change(measure, row, 16, 1, measure == P_MAX) for row in rows), "above" if rises else "below", 0.0
    )


CLAIMS = (
    Claim("The largest probability falls with the length.", "thesis, section 5.3.3", (changes(P_MAX, False),)),
    Claim("The entropy of attention rises with the length.", "thesis, section 5.3.3", (changes(ENTROPY, True),)),
    Claim(
        "The same is true of needles and a code key.",
        "ours",
        (changes(P_MAX, False, TASKS[3:]), changes(ENTROPY, True, TASKS[3:])),
    ),
)
EXPERIMENT = text_table(
    "table-5.1",
    "Attention at the training length and beyond",
    {task: retriever(task) for task in TASKS},
    [Source("table-5.1", {"p_max": "Flan-T5-XL"}, by_statistic)],
    CLAIMS,
    measuring={P_MAX: dispersion("p_max"), ENTROPY: dispersion("entropy")},
    drawn=P_MAX,
    shown=P_MAX,
    about=ABOUT,
    remarks=("Means over all heads; of queries that see at least half of the document, since ours is a causal model.",),
)
