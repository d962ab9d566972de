"""Table 5.10 and Figure 5.8 of the thesis: the temperatures that are found for one of several documents."""

from __future__ import annotations

from experiments.claims import above
from regulargpt.text.experiments.alignment import ABOVE, TEMPERATURE, above_p_max, temperature_of
from regulargpt.text.experiments.retrieval import ABOUT, SIZES, retriever
from regulargpt.text.experiments.subjects import aligned
from regulargpt.text.experiments.table import PublishedSource, text_table
from regulargpt.text.experiments.temperatures import temperatures_fall

LONGER = (2, 4, 8, 16)
PLAIN = "documents/t5"
ROWS = {row: subject for row, subject in aligned(PLAIN, retriever("documents")).items() if subject.sharpened}
# Which published column is as many training lengths long as ours, to 20 %: 3.3, 6.4 and 9.8.
AS_LONG = {4: "10", 8: "30"}


def by_documents(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are strategies of a model, columns are numbers of documents."""
    return f"{data}/{row.partition('/')[2]}", AS_LONG.get(length // PublishedSource.train_len, "")


# There are published ones at 4x and 8x.
CLAIMS = {
    "thesis, sections 5.5.3 and 5.7": temperatures_fall(PLAIN, far=8, near=4),
    "thesis, section 5.10.4, Figure 5.8": {
        "The search finds a higher temperature than Proposition 5.1 does.": (
            above(ABOVE, f"{PLAIN}+p_max", 0.0, at=16),
            "where the proposition has no solution there is nothing to compare",
        )
    },
}
EXPERIMENT = text_table(
    "table-5.10",
    "Temperatures for one of several documents",
    ROWS,
    [PublishedSource("table-5.10", SIZES, by_documents)],
    CLAIMS,
    sharpening={TEMPERATURE: temperature_of},
    measuring={ABOVE: above_p_max},
    drawn=TEMPERATURE,
    multiples=LONGER,
    about=ABOUT,
    remarks=("The published ones are on a grid from 1 to 0.5 by steps of 0.05; ours are found by halving.",),
)
