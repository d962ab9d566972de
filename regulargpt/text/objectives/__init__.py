"""The objectives of the wing: their rows, which entry points name. Nothing here imports torch."""

from __future__ import annotations

from regulargpt.options.registry import Row
from regulargpt.text.objectives.options import LanguageModelOptions, RetrieveOptions

PLACE = "regulargpt.text.objectives"
LANGUAGE_MODEL = Row(
    f"{PLACE}.language_model:LanguageModel",
    LanguageModelOptions,
    "the symbol that comes next in a text",
    after="transduction",
)
RETRIEVE = Row(
    f"{PLACE}.retrieval:Retrieve",
    RetrieveOptions,
    "the answers to the questions behind a document",
    after="language_model",
)
