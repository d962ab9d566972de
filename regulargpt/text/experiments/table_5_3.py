"""Table 5.3 of the thesis: language models whose attention is sharpened at longer lengths, without training."""

from __future__ import annotations

from experiments.claims import beats, explodes, no_better
from regulargpt.text.experiments.subjects import ALIBI, KERPLE_LOG, MAIN_SEEDS, ROTARY, T5, aligned, encoding
from regulargpt.text.experiments.table import PublishedSource, by_data_and_model, text_table

SECTION, OURS = "thesis, section 5.5.1", "ours"
FAR, FARTHER = (4, 8, 16), (8, 16)
NONE = encoding("No positions", "none", MAIN_SEEDS)
CLAIMS = {
    SECTION: {
        "T5 explodes from 4x on.": explodes("t5", beyond=2),
        "Both alignments improve it dramatically where it explodes, from 8x on.": (
            beats("t5+p_max", "t5", at=FARTHER),
            beats("t5+entropy", "t5", at=FARTHER),
        ),
        "So does the rule that knows lengths alone.": beats("t5+log", "t5", at=FARTHER),
        "From 8x on the temperature by P_max is better than that by entropy.": beats(
            "t5+p_max", "t5+entropy", at=FARTHER
        ),
    },
    OURS: {
        "A model without positions gains too.": beats("none+p_max", "none", at=FAR),
        "Rotary is not rescued: it explodes all the same.": explodes("rotary+p_max", beyond=2),
        "ALiBi and KERPLE-log gain less than 1 %: their attention does not flatten.": (
            no_better("alibi+p_max", "alibi", 1, FAR),
            no_better("kerple_log+p_max", "kerple_log", 1, FAR),
        ),
    },
}
OTHERS = {"none": NONE, "rotary": ROTARY, "alibi": ALIBI, "kerple_log": KERPLE_LOG}
EXPERIMENT = text_table(
    "table-5.3",
    "Sharpened attention beyond the training length",
    {
        **aligned("t5", T5),
        **{name: subject for row, base in OTHERS.items() for name, subject in aligned(row, base, ["p_max"]).items()},
    },
    [PublishedSource("table-5.3", {"large": "T5-Large-LM", "xl": "T5-XL-LM", "xxl": "T5-XXL-LM"}, by_data_and_model)],
    CLAIMS,
    remarks=(
        "The published models are encoders with decoders; ours read from left to right. A temperature divides all of a "
        "logit and is shared by all heads. It is found on segments of the training part, by halving instead of on a "
        "grid, from 8 segments.",
    ),
)
