"""Table 5 of the LEX paper: blockwise causal attention and a sliding window, for every encoding."""

from __future__ import annotations

from experiments.claims import beats, same, stays_within
from regulargpt.text.experiments.lex_table_2 import TRAIN_LEN
from regulargpt.text.experiments.subjects import ALIBI, ROTARY, SINUSOIDAL, XPOS, bca, sliding
from regulargpt.text.experiments.table import LEX, PublishedSource, by_model, text_table

CLAIMS = {
    "LEX, section 4.4.2": {
        "Blockwise attention rescues Rotary: it is better with it at 2x and 8x.": beats(
            "rotary+bca", "rotary", at=(2, 8)
        ),
        "With it Rotary does not rise from 2x to 8x by more than 1 %.": stays_within("rotary+bca", 1, (8,), base=2),
        "It rescues xPos: better with it at 2x and 8x, and at most 1 % higher at 8x than at 2x.": (
            beats("xpos+bca", "xpos", at=(2, 8)),
            stays_within("xpos+bca", 1, (8,), base=2),
        ),
        "It hurts absolute positions: worse with it at 2x and 8x.": beats("sinusoidal", "sinusoidal+bca", at=(2, 8)),
        "ALiBi is better without it at 2x, and with it at 8x.": (
            beats("alibi", "alibi+bca", at=(2,)),
            beats("alibi+bca", "alibi", at=(8,)),
        ),
        "xPos explodes less than Rotary without it: it is better at 2x and 8x.": beats("xpos", "rotary", at=(2, 8)),
        "A sliding window is within 2 % of blockwise attention with xPos.": same("xpos+sliding", "xpos+bca", 2, (2, 8)),
        "A sliding window is better than blockwise attention with xPos.": beats("xpos+sliding", "xpos+bca", at=(2, 8)),
    }
}
BASES = {"sinusoidal": SINUSOIDAL, "rotary": ROTARY, "alibi": ALIBI, "xpos": XPOS}
EXPERIMENT = text_table(
    "lex-table-5",
    "Blockwise causal attention and a sliding window",
    {
        **{name: subject for row, base in BASES.items() for name, subject in ((row, base), (f"{row}+bca", bca(base)))},
        "rotary+sliding": sliding(ROTARY),
        "xpos+sliding": sliding(XPOS),
    },
    [
        PublishedSource("lex-table-5", {"pg22": "PG22"}, by_model, TRAIN_LEN),
        PublishedSource("lex-table-2", {"pg22": "PG22"}, lambda d, r, n: (f"{d}/{r}", str(n)), TRAIN_LEN),
    ],
    CLAIMS,
    whole=LEX,
)
