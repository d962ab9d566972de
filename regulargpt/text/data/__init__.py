"""The data of the wing, as the core knows them: texts and retrieval tasks. Nothing here imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regulargpt.data.kinds import Kind
from regulargpt.text.data.options import RetrievalOptions, TextOptions

if TYPE_CHECKING:
    from regulargpt.text.data.retrieval import RetrievalData
    from regulargpt.text.data.segments import TextData

TEXT = Kind(
    noun="text",
    options=TextOptions,
    data="regulargpt.text.data.segments:TextData",
    build="regulargpt.text.data:of_text",
    terminal="regulargpt.text.cli.texts",
    objective="language_model",
    example="text:code",
    run="a run on a text, such as text:code",
    gather="regulargpt.text.classroom.gathering:gather",
)
RETRIEVAL = Kind(
    noun="retrieval task",
    options=RetrievalOptions,
    data="regulargpt.text.data.retrieval:RetrievalData",
    build="regulargpt.text.data:of_retrieval",
    terminal="regulargpt.text.cli.retrieval",
    objective="retrieve",
    example="retrieval:line",
    run="a run on a retrieval task: retrieval:line",
    after="text",
)


def of_text(options: TextOptions) -> TextData:
    """The segments of a text; CorpusError for a text that cannot be read."""
    from regulargpt.text.corpora import corpus
    from regulargpt.text.data.segments import TextData

    return TextData(corpus(options.name, tokenizer=options.tokenizer), options)


def of_retrieval(options: RetrievalOptions) -> RetrievalData:
    """The words of a retrieval task."""
    from regulargpt.text.corpora.retrieval import retrieval
    from regulargpt.text.data.retrieval import RetrievalData

    return RetrievalData(retrieval(options.name), options)
