"""Test words with the right answers and the network's, as a table for other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

import torch

from languages.drawn import DrawnTask
from languages.errors import UserError
from regulargpt.config.schema import EvaluationOptions
from regulargpt.data.base import Data, Words
from regulargpt.data.language import LanguageData
from regulargpt.evaluation.by_length import samples_at, words_at_once
from regulargpt.falsification.answers import answer_of
from regulargpt.models.base import Model
from regulargpt.objectives.answers import Objective

MOST_SYMBOLS = 1 << 27
"""In all words together: a file of 128 MiB, if each is a character."""
HEADER = ("length", "word", "answer", "network", "right")


def answered(
    model: Model,
    data: Data,
    objective: Objective,
    lengths: Iterable[int],
    config: EvaluationOptions,
    seed: int,
    device: torch.device,
) -> str:
    """A CSV file with a line for each test word: its length, the word, the right answer, the network's, true or false.

    The words are those of a test with this seed, and the answers those at a word's end, or its row of answers. The
    columns `word` and `answer` are what `languages.unknown.table` reads. The refusals are those of `refuse`.
    """
    assert isinstance(data, LanguageData), "refuse has said so"
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(HEADER)
    with torch.no_grad():
        for length, count in tested(data, lengths, config).items():
            table.writerows(rows(model, data, objective, data.test(seed, length, count), device))
    return text.getvalue()


def refuse(data: Data, objective: Objective, lengths: Iterable[int], config: EvaluationOptions) -> None:
    """UserError: no language, an objective that does not say what its answers are, or too many symbols for a file."""
    if not isinstance(data, LanguageData):
        raise UserError(f"--words-out is about words with answers, and {data.name} is a {data.kind}; leave it out")
    answer_of(objective)
    symbols = sum(length * count for length, count in tested(data, lengths, config).items())
    if symbols > MOST_SYMBOLS:
        most = f"at most {MOST_SYMBOLS:,} are written"
        raise UserError(f"--words-out: the test words have {symbols:,} symbols, {most}; give fewer --lengths")


def tested(data: Data, lengths: Iterable[int], config: EvaluationOptions) -> dict[int, int]:
    """How many words of each length are tested."""
    return {length: samples_at(length, config) for length in lengths if data.is_tested(length)}


def rows(
    model: Model, data: LanguageData, objective: Objective, words: Words, device: torch.device
) -> Iterator[tuple[int, str, str, str, str]]:
    """A row for each of these words (n, length)."""
    answer, task = answer_of(objective), data.task
    at_once = words_at_once(model, words.shape[1], objective.n_outputs)
    for at in range(0, len(words), at_once):
        part = words[at : at + at_once]
        for word, (right, given) in zip(part, answer.said(model, part, device), strict=True):
            text = task.written(word)[0] if isinstance(task, DrawnTask) else task.machine.decode(word)
            yield data.symbols(word.tolist()), text, right, given, str(right == given).lower()
