"""Code completion by trained text models: how often the next line is right, and how near it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from regulargpt.evaluation.interval import Interval
from regulargpt.runs.opened import open_run
from regulargpt.storage.folder import RunFolder
from regulargpt.text.experiments.results import of_mean
from regulargpt.text.experiments.sharpening import reader_at
from regulargpt.text.experiments.table import PublishedSource

if TYPE_CHECKING:
    from regulargpt.text.measurements.completion import CompletedLine

EXACT, SIMILAR = "lines completed exactly, in %", "edit similarity of completed lines in %"
# Reads as many symbols as it was trained on, and no temperature is needed.
TRUNCATION = "truncation"
LINES = 128
# Published lengths that are as many training lengths (768 tokens) long as ours, to 4 %.
PUBLISHED_LENGTH = 768
AS_LONG = {4: "3000", 8: "6000"}


@lru_cache(maxsize=8)
def lines(folder: RunFolder, strategy: str) -> tuple[Mapping[int, list[CompletedLine]], Int[np.ndarray, " lines"]]:
    """The same lines of the test part by how much of the text before them is read, and the file of each."""
    from regulargpt.text.data.segments import TextData
    from regulargpt.text.measurements.completion import completed, places

    run, by_length = open_run(folder), {}
    config, source = run.config, run.data
    assert isinstance(source, TextData)  # what text tables train on
    at = places(source, config.tested[-1], LINES, config.seed)
    for length in config.tested:
        read, searched = (run.train_len, "") if strategy == TRUNCATION else (length, strategy)
        by_length[length] = completed(reader_at(folder, length, searched), source, read, at)
    return by_length, source.corpus.test_documents(at)


def of_lines(number: Callable[[CompletedLine], float]) -> Callable[[RunFolder, str], Mapping[int, Interval]]:
    """A number of each line, as the mean by length."""

    def measured(folder: RunFolder, strategy: str) -> Mapping[int, Interval]:
        by_length, files = lines(folder, strategy)
        return {length: of_mean(np.array([number(line) for line in some]), files) for length, some in by_length.items()}

    return measured


exact = of_lines(lambda line: 100.0 * line.is_exact)
similar = of_lines(lambda line: line.similarity)


def by_similarity(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are strategies, columns are lengths of one of two measures."""
    return row, f"edit_similarity/{AS_LONG.get(length // PUBLISHED_LENGTH, '')}"


def published_similarity() -> PublishedSource:
    """Table 5.6."""
    return PublishedSource("table-5.6", {"code": "CodeT5+"}, by_similarity, train_len=PUBLISHED_LENGTH)
