"""Table 3.9 of the thesis, the half about a longer training length; the half about 1.3B parameters is data only."""

from __future__ import annotations

from dataclasses import replace

from experiments.claims import beats, falls_below, rises
from regulargpt.text.experiments.subjects import ALIBI, KERPLE_LOG, T5, longer
from regulargpt.text.experiments.table import PublishedSource, text_table
from regulargpt.text.experiments.table_3_3 import DATA
from regulargpt.text.experiments.testing import SIDE_BY_SIDE

CLAIMS = {
    "thesis, section 3.7.4": {
        "Trained on segments twice as long, KERPLE-log stays better than ALiBi at every longer length.": beats(
            "kerple_log", "alibi"
        ),
        "It is better than T5 from 8x on.": beats("kerple_log", "t5", at=(8, 16)),
        "It falls below its value at L from 4x on.": falls_below("kerple_log", (4, 8, 16)),
    },
    "thesis, Table 3.9": {"T5 is worse at 16x than at 4x.": rises("t5", (16,), base=4)},
}
EXPERIMENT = text_table(
    "table-3.9",
    "Training on segments twice as long",
    {
        name: replace(longer(subject, 2), seeds=1)
        for name, subject in {"kerple_log": KERPLE_LOG, "alibi": ALIBI, "t5": T5}.items()
    },
    [
        PublishedSource(
            "table-3.9",
            DATA,
            lambda data, row, length: (f"{data}/{length}", f"162M/{row}"),
            train_len=1024,
            groups=("162M",),
        )
    ],
    CLAIMS,
    test=SIDE_BY_SIDE,
    unit=2,
    remarks=("L is here the longer training length. The half of the table about 1.3B parameters is not tried.",),
)
