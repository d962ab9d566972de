"""Table 2 of the LEX paper: xPos with blockwise causal attention beside the others."""

from __future__ import annotations

from experiments.claims import beats, explodes, falls_below, falls_on, rises
from regulargpt.text.experiments.subjects import ALIBI, ROTARY, SHORT, SINUSOIDAL, XPOS, bca
from regulargpt.text.experiments.table import LEX, PublishedSource, by_data_and_model, text_table

TRAIN_LEN = 1024
CLAIMS = {
    "LEX, section 4.2": {
        "LEX falls with every longer length tested, up to 8x.": (
            falls_below("xpos+bca"),
            falls_on("xpos+bca", (2, 4, 8)),
            SHORT,
        ),
        "LEX is better than all others at every longer length.": beats("xpos+bca", "sinusoidal", "alibi", "rotary"),
        "Rotary explodes from 2x on.": explodes("rotary"),
        "Absolute positions explode from 2x on.": explodes("sinusoidal"),
        "ALiBi falls at 2x.": (falls_below("alibi"), SHORT),
        "ALiBi is worse at 8x than at L.": rises("alibi", (8,)),
    }
}
EXPERIMENT = text_table(
    "lex-table-2",
    "LEX beside absolute positions, ALiBi and Rotary",
    {"sinusoidal": SINUSOIDAL, "alibi": ALIBI, "rotary": ROTARY, "xpos+bca": bca(XPOS)},
    [
        PublishedSource("lex-table-2", {"pg22": "PG22", "qmsum": "QMSum"}, by_data_and_model, TRAIN_LEN),
        PublishedSource("lex-table-6", {"arxiv": "arXiv", "narrativeqa": "NarrativeQA"}, by_data_and_model, TRAIN_LEN),
    ],
    CLAIMS,
    whole=LEX,
)
