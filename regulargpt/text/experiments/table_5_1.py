"""Table 5.1 of the thesis: attention flattens in longer documents."""

from __future__ import annotations

from experiments.claims import Claim, claimed, falls, grows
from regulargpt.text.experiments.alignment import ENTROPY, P_MAX, dispersion
from regulargpt.text.experiments.retrieval import ABOUT, by_statistic, retriever
from regulargpt.text.experiments.table import PublishedSource, text_table

TASKS = ("topic", "line", "passkey", "needles", "code-key")
PUBLISHED = TASKS[:3]


def flattens(task: str) -> tuple[Claim, ...]:
    """Attention in a task."""
    is_printed = task in PUBLISHED
    tests = {
        f"The largest probability falls with the length: {task}.": falls(P_MAX, task, is_printed=is_printed),
        f"The entropy of attention rises with the length: {task}.": grows(ENTROPY, task),
    }
    return claimed({"thesis, section 5.3.3" if is_printed else "ours": tests})


CLAIMS = [claim for task in TASKS for claim in flattens(task)]
EXPERIMENT = text_table(
    "table-5.1",
    "Attention at the training length and beyond",
    {task: retriever(task) for task in TASKS},
    [PublishedSource("table-5.1", {"p_max": "Flan-T5-XL"}, by_statistic)],
    CLAIMS,
    measuring={P_MAX: dispersion("p_max"), ENTROPY: dispersion("entropy")},
    drawn=P_MAX,
    about=ABOUT,
    remarks=("Means over all heads; of queries that see at least half of the document, since ours is a causal model.",),
)
