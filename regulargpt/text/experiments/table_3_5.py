"""Table 3.5 of the thesis: kernels with more parameters than KERPLE's logarithm."""

from __future__ import annotations

from experiments.claims import MULTIPLES, no_better, same
from regulargpt.text.experiments.subjects import KERPLE_LOG, by_encoding, encoding
from regulargpt.text.experiments.table import PublishedSource, by_data_and_length, by_length_and_data, text_table
from regulargpt.text.experiments.table_3_3 import DATA
from regulargpt.text.experiments.testing import SIDE_BY_SIDE

CLAIMS = {
    "thesis, section 3.5.3": {
        "A third parameter in the logarithm changes the perplexity by at most 2 % at any length.": same(
            "kerple_log3", "kerple_log", 2, MULTIPLES
        ),
        "A kernel as bias and another as weight are at most 1 % better than the logarithm at any length.": no_better(
            "kerple_bias_wht", "kerple_log", 1, MULTIPLES
        ),
    }
}
EXPERIMENT = text_table(
    "table-3.5",
    "Kernels with three and four parameters",
    by_encoding(
        KERPLE_LOG, encoding("3-parameter log", "kerple_log3"), encoding("KERPLE, bias + weight", "kerple_bias_wht")
    ),
    [PublishedSource("table-3.5", DATA, by_length_and_data), PublishedSource("table-3.3", DATA, by_data_and_length)],
    CLAIMS,
    test=SIDE_BY_SIDE,
)
