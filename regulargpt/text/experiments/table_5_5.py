"""Table 5.5 of the thesis: questions about one of several documents, by where it stands."""

from __future__ import annotations

from experiments.claims import above, falls, leads
from regulargpt.text.experiments.retrieval import ABOUT, EXACT, MIDDLE, exact_match, middle_gain, retriever
from regulargpt.text.experiments.subjects import aligned
from regulargpt.text.experiments.table import PublishedSource, text_table

FAR = (8, 16)
AVERAGES = {8: "10/average", 16: "20/average"}


def by_documents(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are strategies of a model, columns are numbers of documents: ours have six a training length."""
    return f"{data}/{row.partition('/')[2]}", AVERAGES.get(length // PublishedSource.train_len, "")


CLAIMS = {
    "thesis, section 5.5.3": {
        "P_max finds more than the model as it is.": leads(EXACT, "documents/t5+p_max", "documents/t5", at=FAR),
        "P_max finds more than entropy does.": leads(EXACT, "documents/t5+p_max", "documents/t5+entropy", at=FAR),
        "The gain is largest where the document stands in the middle.": above(MIDDLE, "documents/t5+p_max", 0.0, FAR),
        "The model as it is finds less among more documents.": falls(EXACT, "documents/t5"),
    }
}
EXPERIMENT = text_table(
    "table-5.5",
    "One of several documents",
    aligned("documents/t5", retriever("documents")),
    [PublishedSource("table-5.5", {"large": "Flan-T5-Large", "xl": "Flan-T5-XL", "xxl": "Flan-T5-XXL"}, by_documents)],
    CLAIMS,
    sharpening={EXACT: exact_match, MIDDLE: middle_gain},
    drawn=EXACT,
    about=ABOUT,
    remarks=(
        "A document of ours is a key, noise and a value; at most 16 stand in a word, and longer words have longer "
        "documents. All of them are asked about, and thirds are taken by where the value stands.",
    ),
)
