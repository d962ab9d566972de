"""Table 4.5 of the thesis: a cache of four training lengths, and what it costs."""

from __future__ import annotations

from experiments.claims import no_worse, same, stays_within
from regulargpt.text.experiments.subjects import ALIBI, SANDWICH, cached
from regulargpt.text.experiments.table import PublishedSource, by_data_and_length, by_length_and_data, text_table
from regulargpt.text.experiments.table_3_3 import DATA

CLAIMS = {
    "thesis, section 4.9.2": {
        "ALiBi with a cache of 4 L is as good as with the whole text: within 0.5 % at 8x and 16x.": same(
            "alibi+cache", "alibi", 0.5, (8, 16)
        ),
        "Sandwich with a cache of 4 L is at most 5 % worse than with the whole text.": no_worse(
            "sandwich+cache", "sandwich", 5, (8, 16)
        ),
        "With the cache the perplexity stays where it is: from 8x to 16x it rises by less than 1.5 %.": tuple(
            stays_within(row, 1.5, (16,), base=8) for row in ("alibi+cache", "sandwich+cache")
        ),
    }
}


def cached_or_whole(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are lengths, columns are models within a data set, all of them with a cache."""
    model, _, cache = row.partition("+")
    return by_length_and_data(data, model if cache else row + " ", length)


EXPERIMENT = text_table(
    "table-4.5",
    "Efficient inference with a window",
    {"sandwich+cache": cached(SANDWICH), "alibi+cache": cached(ALIBI), "sandwich": SANDWICH, "alibi": ALIBI},
    [PublishedSource("table-4.5", DATA, cached_or_whole), PublishedSource("table-4.3", DATA, by_data_and_length)],
    CLAIMS,
    multiples=(4, 8, 16),
    remarks=("The cache is a sliding window in every layer, which decoding with a cache of that length equals.",),
)
