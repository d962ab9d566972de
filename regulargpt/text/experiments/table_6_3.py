"""Table 6.3 of the thesis: RegularGPT as a language model, on OpenWebText2; Table 6.4 is the same on GitHub."""

from __future__ import annotations

from experiments.claims import MULTIPLES, Claims, beats, explodes, rises, stays_within
from regulargpt.text.experiments.subjects import ALIBI, KERPLE_LOG, T5, regulargpt
from regulargpt.text.experiments.table import PublishedSource, by_length, text_table

# With segments of 64 symbols: two levels each, and as many training lengths in C^2 as published, or nearly.
CHUNKS = {"32/6": (12, 1), "64/6": (24, 1), "128/6": (32, 1), "128/12": (32, 2), "256/6": (48, 1)}
NAMES = {published: f"regulargpt-{published}" for published in CHUNKS}
SUBJECTS = {
    "kerple_log": KERPLE_LOG,
    "t5": T5,
    "alibi": ALIBI,
    **{NAMES[published]: regulargpt(C, K, published) for published, (C, K) in CHUNKS.items()},
}
REMARKS = (
    "RegularGPT: the rows are named after the published C / K. Here C / K are "
    f"{', '.join(f'{C} / {K}' for C, K in CHUNKS.values())}: two levels at L as published, and a third one from 4x on "
    "(32/6), from 16x on (64/6), or at no length tested.",
)


def claims(explosion: float) -> Claims:
    """What is claimed; past C^ceil(log_C L) the perplexity rises by this factor or more."""
    return {
        "thesis, section 6.5": {
            "RegularGPT with C, K is worse past C^ceil(log_C L): 32/6 at 4x, 64/6 at 16x, "
            f"each by a factor of {explosion:g} or more over its value at L.": (
                explodes(NAMES["32/6"], beyond=2, by=explosion),
                explodes(NAMES["64/6"], beyond=8, by=explosion),
            ),
            "Up to there it stays within 4 %: 32/6 at 2x, 64/6 up to 8x, 128/6 and 128/12 at every length.": (
                stays_within(NAMES["32/6"], 4, (2,)),
                stays_within(NAMES["64/6"], 4, (2, 4, 8)),
                stays_within(NAMES["128/6"], 4),
                stays_within(NAMES["128/12"], 4),
            ),
            "A chunk of half a training segment deteriorates at 2x: 256/6 rises.": rises(NAMES["256/6"], (2,)),
            "More layers make up for weights shared over depth: 128/12 is better than 128/6 at every length.": (
                beats(NAMES["128/12"], NAMES["128/6"], at=MULTIPLES),
            ),
            "The Transformers are better at L: KERPLE-log, T5 and ALiBi than any RegularGPT.": [
                beats(row, *NAMES.values(), at=(1,)) for row in ("kerple_log", "t5", "alibi")
            ],
        }
    }


EXPERIMENT = text_table(
    "table-6.3",
    "RegularGPT as a language model (OpenWebText2)",
    SUBJECTS,
    [PublishedSource("table-6.3", {"openwebtext2": "OpenWebText2"}, by_length)],
    claims(1.5),
    remarks=REMARKS,
)
