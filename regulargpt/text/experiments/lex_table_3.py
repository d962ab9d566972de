"""Table 3 of the LEX paper: attention resolution, of which only the order can be compared."""

from __future__ import annotations

from experiments.claims import leads
from regulargpt.text.experiments.lex_table_2 import TRAIN_LEN
from regulargpt.text.experiments.subjects import ALIBI, ROTARY, SINUSOIDAL, XPOS, bca
from regulargpt.text.experiments.table import LEX, PublishedSource, by_model, text_table
from regulargpt.text.experiments.testing import quantities
from regulargpt.text.measurements.quantities import RESOLUTION

CLAIMS = {
    "LEX, section 4.3": {
        "At L, xPos has the highest resolution, above Rotary, absolute positions and ALiBi.": leads(
            RESOLUTION, "xpos", "rotary", "sinusoidal", "alibi", at=1
        ),
        "At 2x, LEX has the highest resolution.": leads(
            RESOLUTION, "xpos+bca", "xpos", "rotary", "sinusoidal", "alibi", at=2
        ),
        "Without blockwise attention, xPos still has a higher one at 2x than Rotary.": leads(
            RESOLUTION, "xpos", "rotary", at=2
        ),
    }
}
EXPERIMENT = text_table(
    "lex-table-3",
    "Attention resolution",
    {"sinusoidal": SINUSOIDAL, "alibi": ALIBI, "rotary": ROTARY, "xpos+bca": bca(XPOS), "xpos": XPOS},
    [PublishedSource("lex-table-3", {"": "published"}, by_model, TRAIN_LEN)],
    CLAIMS,
    whole=LEX,
    multiples=(1, 2),
    measuring=quantities(RESOLUTION),
    shown=RESOLUTION,
    remarks=("The published values are on a scale that is not stated: by the paper's own formula none is above 1.",),
)
