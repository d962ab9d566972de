"""Retrieval tasks: their rows, what is found in them, and where in the document (thesis, section 5.5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from jaxtyping import Bool, Float
from numpy import ndarray

from experiments.experiment import Fields, Scale
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.evaluation.interval import Interval
from regulargpt.runs.opened import open_run
from regulargpt.storage.folder import RunFolder
from regulargpt.text.experiments.results import of_mean
from regulargpt.text.experiments.sharpening import reader_at
from regulargpt.text.experiments.table import PUBLISHED_LENGTH, PublishedSource, Subject
from regulargpt.text.experiments.testing import tested_as

EXACT = "exact match in %"
MIDDLE = "gain in the middle third minus that in the outer thirds, in points of exact match"
SEEDS = 3
# A run that finds less than this at its training length has not learned the task.
LEARNED = 90.0
# Words that are looked at by depth.
WORDS = 64
# Which published column is as many training lengths long as ours: by the log rule's temperatures, to about 20 %.
AS_LONG = {
    "topic": {8: "topic/10", 16: "topic/15"},
    "line": {8: "line/200", 16: "line/400"},
    "passkey": {8: "passkey/20000", 16: "passkey/30000"},
}
SIZES = {"large": "Flan-T5-Large", "xl": "Flan-T5-XL", "xxl": "Flan-T5-XXL"}


ABOUT = (
    "The published models are large, and were never trained on these tasks. Ours are small, and were trained on them, "
    "on words of at most the training length, until their loss was below 0.03. They can show whether what was "
    "concluded also holds here."
)
SMOKE: Fields = {
    **{"data.train_len": 56, "model.d_model": 16, "model.d_ff": 32, "evaluation.samples": 8},
    **{"training.steps": 4, "training.batch_size": 4, "training.warmup": 1},
}
# The published models are not trained on these tasks: sizes of our own, with words as long as theirs.
WHOLE: Fields = {
    **{"data.train_len": PUBLISHED_LENGTH, "model.d_model": 256, "model.d_ff": 1024, "model.n_heads": 8},
    **{"model.n_layers": 4, "training.steps": 20_000, "training.batch_size": 128, "training.lr": 1e-3},
    **{"training.warmup": 1000, "evaluation.samples": 512},
}


def retriever(task: str, encoding: str = "t5", title: str = "T5", model: str = "transformer") -> Subject:
    """A network trained on a task."""

    def base(scale: Scale) -> RunConfig:
        known = resolve("retrieval", model, f"retrieval:{task}")
        return known.replaced({"smoke": SMOKE, "cpu": {}, "full": WHOLE}[scale])

    return Subject(f"{task}: {title}", {"model.encoding.name": encoding}, SEEDS, base=base, learned=LEARNED)


def by_task(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are strategies of a model, columns are tasks at a size."""
    task, _, method = row.partition("/")
    column = AS_LONG.get(task, {}).get(length // PublishedSource.train_len, "")
    return f"{data}/{method}", column


# Published columns of Tables 5.1 and 5.7, and what of a training length they are: 15,000 symbols are 29 of 512.
STATED = {1: "512", 16: "15000"}


def by_statistic(data: str, row: str, length: int) -> tuple[str, str]:
    """Rows are statistics, columns are tasks at two lengths."""
    return data, f"{row}/{STATED.get(length // PublishedSource.train_len, '')}"


exact_match = tested_as("exact_match")


@dataclass(frozen=True)
class NeedleHits:
    """Which needles of test words are found, and how deep in the document each stands: 0 to below 1."""

    right: Bool[ndarray, "needles"]
    depth: Float[ndarray, "needles"]


@lru_cache(maxsize=32)
def found_at(folder: RunFolder, length: int, strategy: str) -> NeedleHits:
    """The test words of a length, with the strategy's temperature or as the network is."""
    from regulargpt import objectives
    from regulargpt.text.data.retrieval import RetrievalData
    from regulargpt.text.measurements.needles import found_in, needle_depths
    from regulargpt.text.objectives.retrieval import Retrieve

    run = open_run(folder)
    config, source = run.config, run.data
    objective = objectives.build(config.objective, source)
    assert isinstance(source, RetrievalData)
    assert isinstance(objective, Retrieve)
    words = source.test(config.seed, length, WORDS)
    return NeedleHits(
        found_in(objective, reader_at(folder, length, strategy), words).ravel(),
        needle_depths(source.task, words).ravel(),
    )


def middle_gain(folder: RunFolder, strategy: str) -> Mapping[int, Interval]:
    """How much more sharpening gains in the middle third of a document than in the other two, on the same words."""
    run = open_run(folder)
    lengths = [length for length in run.config.tested if length > run.train_len]
    return {length: gain_by_third(*(found_at(folder, length, way) for way in ("", strategy))) for length in lengths}


def gain_by_third(before: NeedleHits, after: NeedleHits) -> Interval:
    """In points: the mean gain in the middle third minus that in the outer ones.

    >>> import numpy as np
    >>> depth = np.array([0.1, 0.2, 0.4, 0.5, 0.9, 0.8])
    >>> none, middle = np.zeros(6, bool), np.array([0, 0, 1, 1, 0, 0], bool)
    >>> gain_by_third(NeedleHits(none, depth), NeedleHits(middle, depth)).value
    100.0
    """
    gain = 100 * (after.right.astype(float) - before.right)
    middle = (before.depth >= 1 / 3) & (before.depth < 2 / 3)
    return of_mean(gain[middle]).minus(of_mean(gain[~middle]))
