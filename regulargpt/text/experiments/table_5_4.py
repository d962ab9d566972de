"""Table 5.4 of the thesis: what is found in documents longer than those of training, with sharpened attention."""

from __future__ import annotations

from experiments.claims import Bound, below, falls, leads
from regulargpt.text.experiments.retrieval import ABOUT, EXACT, SIZES, by_task, exact_match, retriever
from regulargpt.text.experiments.subjects import aligned
from regulargpt.text.experiments.table import PublishedSource, Subject, text_table

TASKS = ("topic", "line", "passkey")
# The last two are of other papers: RULER, and the thesis's own code key.
ALL = (*TASKS, "needles", "code-key")
# An encoder-decoder, as the published models are.
BY_BOTH = ("topic", "line", "code-key")
OTHERS = {"none": "no positions", "rotary": "rotary", "alibi": "ALiBi", "kerple_log": "KERPLE (log)"}


def more(row: str, other: str) -> Bound:
    """More is found than by another row, at 8x and 16x."""
    return leads(EXACT, row, other, at=(8, 16))


def rows() -> dict[str, Subject]:
    """Every strategy on every task, and with and without: other encodings on two tasks, the other model on three."""
    subjects = {row: subject for task in ALL for row, subject in aligned(f"{task}/t5", retriever(task)).items()}
    for task in ("line", "passkey"):
        for name, title in OTHERS.items():
            subjects |= aligned(f"{task}/{name}", retriever(task, name, title), ["p_max"])
    for task in BY_BOTH:
        both = retriever(task, title="encoder-decoder", model="encoder-decoder")
        subjects |= aligned(f"{task}/both", both, ["p_max"])
    return subjects


RECENT = [
    f"{task}/{name}{more}"
    for task in ("line", "passkey")
    for name in ("alibi", "kerple_log")
    for more in ("", "+p_max")
]
CLAIMS = {
    "thesis, section 5.5.2": {
        "T5 finds less in longer documents.": falls(EXACT, *(f"{task}/t5" for task in TASKS)),
        **{f"P_max makes T5 find more: {task}.": more(f"{task}/t5+p_max", f"{task}/t5") for task in ALL},
        "P_max makes an encoder-decoder find more.": [more(f"{task}/both+p_max", f"{task}/both") for task in BY_BOTH],
        "P_max finds more than entropy does.": [more(f"{task}/t5+p_max", f"{task}/t5+entropy") for task in TASKS],
    },
    "thesis, section 5.6": {
        "P_max finds more than the rule that knows lengths alone.": [
            more(f"{task}/t5+p_max", f"{task}/t5+log") for task in TASKS
        ]
    },
    "thesis, section 5.3": {
        "Encodings with recency fail at distance, whatever the temperature: ALiBi and KERPLE-log find less than "
        "half.": below(EXACT, RECENT, 50.0, at=16)
    },
    "ours": {
        "A model without positions finds more lines with P_max.": more("line/none+p_max", "line/none"),
        "Rotary is not rescued: it finds less than half of the lines.": below(EXACT, "line/rotary+p_max", 50, at=16),
    },
}
EXPERIMENT = text_table(
    "table-5.4",
    "Retrieval beyond the training length",
    rows(),
    [PublishedSource("table-5.4", SIZES, by_task)],
    CLAIMS,
    sharpening={EXACT: exact_match},
    drawn=EXACT,
    about=ABOUT,
    remarks=(
        "The published models are encoders with decoders of 0.8 to 11 billion weights, asked in English. Ours have "
        "100,000 to 300,000 weights and 20 to 100 symbols. Those of most rows read from left to right.",
        "Published columns stand beside ours where the log rule's temperature says that their input is about as many "
        "training lengths long: 8x and 16x.",
        "The temperature is one number for all heads, found on 8 documents of each length.",
    ),
)
