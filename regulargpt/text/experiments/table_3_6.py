"""Table 3.6 of the thesis: Gaussian-like kernels as a bias and as a weight."""

from __future__ import annotations

from experiments.claims import MULTIPLES, Claim, beats, explodes, stays_within
from regulargpt.text.experiments.subjects import KERPLE_LOG, by_encoding, encoding
from regulargpt.text.experiments.table import PublishedSource, by_data_and_length, text_table
from regulargpt.text.experiments.table_3_3 import DATA
from regulargpt.text.experiments.testing import SIDE_BY_SIDE

SECTION = "thesis, section 3.7.3"
CLAIMS = (
    Claim(
        "As a weight the kernel of two parameters is better than as a bias, at every longer length.",
        SECTION,
        (beats("gauss_wht2", "gauss_bias2", "gauss_bias3"),),
    ),
    Claim(
        "Both biases explode from 4x on.",
        "thesis, Table 3.6",
        (explodes("gauss_bias2", beyond=2), explodes("gauss_bias3", beyond=2)),
    ),
    Claim(
        "Neither weight rises by more than a quarter.",
        "thesis, Table 3.6",
        (stays_within("gauss_wht1", 25), stays_within("gauss_wht2", 25)),
    ),
    Claim(
        "KERPLE-log is better than the best of them at every length.",
        SECTION,
        (beats("kerple_log", "gauss_wht2", at=MULTIPLES),),
    ),
)
EXPERIMENT = text_table(
    "table-3.6",
    "Gaussian-like kernels",
    by_encoding(
        encoding("1-para-wht", "gauss_wht1"),
        encoding("2-para-wht", "gauss_wht2"),
        encoding("2-para-bias", "gauss_bias2"),
        encoding("3-para-bias", "gauss_bias3"),
        KERPLE_LOG,
    ),
    [PublishedSource("table-3.6", DATA, by_data_and_length), PublishedSource("table-3.3", DATA, by_data_and_length)],
    CLAIMS,
    test=SIDE_BY_SIDE,
)
