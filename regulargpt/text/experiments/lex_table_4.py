"""Table 4 of the LEX paper: what the rotation and the decay of xPos are each good for."""

from __future__ import annotations

from experiments.claims import beats, falls_below, no_worse
from regulargpt.text.experiments.lex_table_2 import TRAIN_LEN
from regulargpt.text.experiments.subjects import ROTARY, SHORT, XPOS, XPOS_SCALAR, XPOS_UNROTATED, bca
from regulargpt.text.experiments.table import LEX, PublishedSource, by_model, text_table

CLAIMS = {
    "LEX, section 4.4.1": {
        "Without the rotation it is worse by a third or more, at L and at 8x.": no_worse(
            "xpos+bca", "xpos-unrotated+bca", -25, (1, 8)
        ),
        "A vector zeta is better than 1 (which is Rotary) and than a scalar, at 8x.": beats(
            "xpos+bca", "rotary+bca", "xpos-scalar+bca", at=(8,)
        ),
        "With blockwise attention all of them are better at 8x than at L.": (
            *(falls_below(row, (8,)) for row in ("xpos+bca", "xpos-unrotated+bca", "rotary+bca", "xpos-scalar+bca")),
            SHORT,
        ),
    }
}
EXPERIMENT = text_table(
    "lex-table-4",
    "Rotation and decay of xPos",
    {
        "xpos+bca": bca(XPOS),
        "xpos-unrotated+bca": bca(XPOS_UNROTATED),
        "rotary+bca": bca(ROTARY),
        "xpos-scalar+bca": bca(XPOS_SCALAR),
    },
    [PublishedSource("lex-table-4", {"pg22": "PG22"}, by_model, TRAIN_LEN)],
    CLAIMS,
    whole=LEX,
    multiples=(1, 8),
)
