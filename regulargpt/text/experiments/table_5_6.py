"""Table 5.6 of the thesis: the next line of code, after more code than a segment of training."""

from __future__ import annotations

from experiments.claims import Bound, falls, leads
from regulargpt.text.experiments.completion import EXACT, SIMILAR, TRUNCATION, exact, published_similarity, similar
from regulargpt.text.experiments.subjects import T5, aligned, alone, sharpened
from regulargpt.text.experiments.table import text_table

FAR = (4, 8, 16)
T5_ALONE = alone(T5)


def nearer(row: str, other: str, at: tuple[int, ...] = FAR) -> Bound:
    """Lines of a row are more similar to the true ones than those of another."""
    return leads(SIMILAR, row, other, at=at)


CLAIMS = {
    "thesis, section 5.5.4": {
        "The model as it is loses its lines in longer contexts.": falls(SIMILAR, "t5"),
        "Both alignments help: lines are nearer to the true ones.": (
            nearer("t5+p_max", "t5", (8, 16)),
            nearer("t5+entropy", "t5", (8, 16)),
        ),
        "P_max is better than entropy.": nearer("t5+p_max", "t5+entropy"),
        "Up to 4x P_max is better than cutting the context to the training length.": nearer(
            "t5+p_max", "t5+truncation", (2, 4)
        ),
        "So is the rule that knows lengths alone.": nearer("t5+log", "t5+truncation", (2, 4)),
    }
}
EXPERIMENT = text_table(
    "table-5.6",
    "Code completion",
    {**aligned("t5", T5_ALONE), "t5+truncation": sharpened(T5_ALONE, TRUNCATION, "context cut to L")},
    [published_similarity()],
    CLAIMS,
    sharpening={SIMILAR: similar, EXACT: exact},
    drawn=SIMILAR,
    remarks=(
        "Each of 128 lines of the test part is continued greedily, byte by byte, up to its end. They are the same "
        "lines at every length. Exact lines are compared without spaces.",
        "The published model has 770 million weights and reads up to 6,000 tokens. Ours has 0.4 million and reads "
        "1,024 bytes.",
    ),
)
