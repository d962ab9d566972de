"""Table 5.5 of the thesis: questions about one of several documents, by where it stands."""

from __future__ import annotations

from experiments.claims import Bound, Level, change, lead
from experiments.text.retrieval import ABOUT, EXACT, MIDDLE, exact_match, middle_gain, retriever
from experiments.text.subjects import aligned
from experiments.text.table import Source, text_table

FAR = (8, 16)
AVERAGES = {8: "10/average", 16: "20/average"}


def by_documents(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are strategies of a model, columns are numbers of documents: ours have six a training length."""
    return f"{data}/{row.partition('/')[2]}", AVERAGES.get(length // Source.train_len, "")


def gains(strategy: str) -> Bound:
    """More is found than without a temperature."""
    figures = tuple(lead(EXACT, f"documents/t5+{strategy}", "documents/t5", k) for k in FAR)
    return Bound(figures, "above", 0.0)


CLAIMS = {
    "thesis, section 5.5.3": {
        "P_max finds more than the model as it is.": gains("p_max"),
        "P_max finds more than entropy does.": Bound(
            tuple(lead(EXACT, "documents/t5+p_max", "documents/t5+entropy", k) for k in FAR), "above", 0.0
        ),
        "The gain is largest where the document stands in the middle.": Bound(
            tuple(Level(MIDDLE, "documents/t5+p_max", k) for k in FAR), "above", 0.0
        ),
        "The model as it is finds less among more documents.": Bound(
            (change(EXACT, "documents/t5", 16, 1),), "below", 0.0
        ),
    }
}
EXPERIMENT = text_table(
    "table-5.5",
    "One of several documents",
    aligned("documents/t5", retriever("documents")),
    [Source("table-5.5", {"large": "Flan-T5-Large", "xl": "Flan-T5-XL", "xxl": "Flan-T5-XXL"}, by_documents)],
    CLAIMS,
    sharpening={EXACT: exact_match, MIDDLE: middle_gain},
    drawn=EXACT,
    shown=EXACT,
    about=ABOUT,
    remarks=(
        "A document of ours is a key, noise and a value; at most 16 stand in a word, and longer words have longer "
        "documents. All of them are asked about, and thirds are taken by where the value stands.",
    ),
)
