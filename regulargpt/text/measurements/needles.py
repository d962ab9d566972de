"""How often a network finds what stands at each depth of a document.

The depths of Kamradt's "needle in a haystack" test and of RULER (Hsieh et al. 2024, arXiv:2404.06654), for any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from languages.errors import UserError
from regulargpt import plots
from regulargpt.data.base import Words
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.temperature import read, weights_of
from regulargpt.findings import Axis, Data, Finding, HeatMap, Picture
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.sample import refuse_many
from regulargpt.models.base import Model, device_of
from regulargpt.objectives.measures import measure as measure_of
from regulargpt.options.lengths import read_lengths
from regulargpt.runs.opened import OpenedRun
from regulargpt.tables import Table, percent
from regulargpt.text.corpora.retrieval import Retrieval
from regulargpt.text.data.retrieval import RetrievalData
from regulargpt.text.measurements.alignment.setting import LONGEST
from regulargpt.text.measurements.options import NeedleOptions
from regulargpt.text.objectives.retrieval import Retrieve

WORDS, MOST_LENGTHS = 128, 100
COLUMNS = ("length", "depth_from", "depth_to", "needles", "found", "exact_match", "low", "high")
Values = dict[str, Any]


@dataclass(frozen=True)
class ByDepth:
    """The needles of one length in bins of equal width, from the beginning of the document to its end.

    >>> ByDepth.count(np.array([True, False, True]), np.array([0.0, 0.49, 0.5]), bins=2)
    ByDepth(found=(1, 1), needles=(2, 1))
    """

    found: tuple[int, ...]
    needles: tuple[int, ...]

    @classmethod
    def count(cls, is_right: Bool[ndarray, "needles"], depths: Float[ndarray, "needles"], bins: int) -> ByDepth:
        """Which needles are found, and where in the document they stand: from 0 to below 1."""
        bin_of = (depths * bins).astype(np.int64)
        counts = (np.bincount(chosen, minlength=bins).tolist() for chosen in (bin_of[is_right], bin_of))
        return cls(*map(tuple, counts))

    @property
    def values(self) -> tuple[Interval | None, ...]:
        """The share found in each bin in percent, with Wilson's interval; None where no needle stands."""
        return tuple(
            Interval.of_right(*pair) if pair[1] else None for pair in zip(self.found, self.needles, strict=True)
        )

    @property
    def value(self) -> Interval:
        """The same of all needles."""
        return Interval.of_right(sum(self.found), sum(self.needles))


def needle_depths(task: Retrieval, words: Words) -> Float[ndarray, "batch needles"]:
    """Where each needle stands: of answers that belong together, the first.

    >>> from regulargpt.text.corpora.retrieval import retrieval
    >>> task = retrieval("retrieval:needles:questions=2")
    >>> needle_depths(task, task.encode("n0 n0 k3 v2 v7 n0 ?1 k3 ?2 k3")[None])
    array([[0.5]])
    """
    return task.depths(words)[:, :: task.together]


@torch.no_grad()
def found_in(objective: Retrieve, model: Model, words: Words) -> Bool[ndarray, "batch needles"]:
    """Which needles of these words the model finds."""
    device, at_once = device_of(model), words_at_once(model, words.shape[1])
    parts = [objective.right(model, words[at : at + at_once], device) for at in range(0, len(words), at_once)]
    return torch.cat(parts).cpu().numpy()


def found_at(objective: Retrieve, model: Model, words: Words, bins: int) -> ByDepth:
    """The same by depth."""
    is_right, depths = found_in(objective, model, words), needle_depths(objective.task, words)
    return ByDepth.count(is_right.flatten(), depths.flatten(), bins)


def edges(bins: int) -> Int[ndarray, "edges"] | Float[ndarray, "edges"]:
    """Where bins begin and end, in percent of the document.

    >>> edges(4).tolist()
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    return 100 * np.arange(bins + 1) / bins


def measure(run: OpenedRun, options: NeedleOptions) -> Finding:
    """The words of each length are those of the run's test where the seed is the run's.

    Raises UserError for a length that the task or the model does not allow, too many symbols, and a temperature that
    the model cannot have.
    """
    source = run.data
    assert isinstance(source, RetrievalData)
    wanted = lengths_of(run, options, source)
    temperature = None if options.temperature is None else read(options.temperature, weights_of(run.folder))
    seed = run.config.seed if options.seed is None else options.seed
    words = options.words or WORDS
    if temperature is not None:
        temperature.set_on(run.model)
    objective = Retrieve(source)
    with run.through():
        hits = {T: found_at(objective, run.model, source.test(seed, T, words), options.bins) for T in wanted}
    facts = run.facts("train_len", "attention") | {
        "temperature": None if temperature is None else str(temperature),
        "words": words,
        "seed": seed,
        "measure": "exact_match",
        "chance": 100 * source.task.chance,
        "together": source.task.together,
        "depths": edges(options.bins).tolist(),
    }
    by_length = {str(T): of_length(counted) for T, counted in hits.items()}
    return finding_of(rounded(facts), rounded({"by_length": by_length}), plots.title(run.config))


def lengths_of(run: OpenedRun, options: NeedleOptions, source: RetrievalData) -> Sequence[int]:
    """The lengths of these options, by default those of the run's test."""
    if options.lengths is None:
        wanted = [T for T in run.config.tested if source.has_length(T)]
    else:
        wanted = read_lengths(options.lengths)
    if len(wanted) > MOST_LENGTHS:
        raise UserError(f"--lengths: {len(wanted)} of them; choose at most {MOST_LENGTHS}")
    for length in wanted:
        if reason := source.describe_length(length):
            raise UserError(reason)
        if (reason := run.config.network.too_long(length)) is not None:
            raise UserError(f"length {length}: {reason}")
        if run.config.model.quadratic and length > LONGEST:
            raise UserError(f"length {length}: at most {LONGEST:,} for {run.config.model.label}; choose a shorter one")
        refuse_many(length, options.words or WORDS, "words")
    return wanted


def of_length(hits: ByDepth) -> Values:
    """A length for the report: all needles, and those of each bin."""
    parts = zip(hits.values, hits.found, hits.needles, strict=True)
    return {
        "all": of_value(hits.value, sum(hits.found), sum(hits.needles)),
        "bins": [of_value(*part) for part in parts],
    }


def of_value(value: Interval | None, count: int, needles: int) -> Values:
    """A share in percent with its interval; None where no needle stands."""
    numbers = (None, None, None) if value is None else (value.value, value.low, value.high)
    return {"needles": needles, "found": count, **dict(zip(("value", "low", "high"), numbers, strict=True))}


def finding_of(facts: Values, values: Values, title: str) -> Finding:
    """The finding: a row of the CSV a length and bin, a row for people and of the heat map a length.

    The title of the picture is that of the run, and its temperature.
    """
    by_length, ends = values["by_length"], list(pairwise(facts["depths"]))
    rows = [
        (T, low, high, *(part[key] for key in ("needles", "found", "value", "low", "high")))
        for T, by_depth in by_length.items()
        for (low, high), part in zip(ends, by_depth["bins"], strict=True)
    ]
    sharpened = "" if facts["temperature"] is None else f", temperature {facts['temperature']}"
    seen = "" if facts["attention"] == "full" else f", attention {facts['attention']}"
    lead = "{language}, {model}: exact match (%) by depth (%)".format_map(facts)
    said = sentence({**facts, **values})
    header = ("length", "all", "95 % interval", *(f"{low:.3g}-{high:.3g}" for low, high in ends))
    return Finding(
        name="needles",
        title=f"{lead}, {facts['words']} documents a length{seen}{sharpened}",
        facts=facts,
        values={**values, "summary": said},
        data=Data(COLUMNS, rows),
        picture=Picture(
            [heat_map(facts, by_length)],
            title + sharpened,
            size=(8, min(8.0, 1.9 + 0.42 * len(by_length))),
        ),
        tables=[Table(header, [row(T, by_depth) for T, by_depth in by_length.items()])],
        sentence=said,
    )


def row(length: str, by_depth: Values) -> tuple[str, ...]:
    """A length's row for people; a dash where no needle stands."""
    every = by_depth["all"]
    shares = ("-" if part["value"] is None else percent(part["value"]) for part in by_depth["bins"])
    return (f"{int(length):,}", percent(every["value"]), f"{percent(every['low'])}-{percent(every['high'])}", *shares)


def sentence(report: Values) -> str:
    """What is found at the shortest and the longest length, and where in the latter it is found least.

    >>> part = {"needles": 9, "value": 100.0}
    >>> bins = [{"needles": 5, "value": 25.0}, {"needles": 0, "value": None}, {"needles": 4, "value": 0.0}]
    >>> long = {"all": {"value": 12.5}, "bins": bins}
    >>> by_length = {"96": {"all": part, "bins": [part]}, "384": long}
    >>> sentence({"by_length": by_length, "depths": [0, 30, 60, 90], "chance": 6.25})
    'exact match 100 % at length 96, 12.50 % at 384 (least from depth 60 to 90 %: 0.00 %); chance 6.25 %'
    """
    (first, short), *_, (last, long) = [*report["by_length"].items()] * 2
    text = f"exact match {percent(short['all']['value'])} % at length {int(first):,}"
    if last != first:
        text += f", {percent(long['all']['value'])} % at {int(last):,}"
    present = [(part["value"], at) for at, part in enumerate(long["bins"]) if part["needles"]]
    value, at = min(present)
    if value < max(present)[0]:
        low, high = report["depths"][at : at + 2]
        text += f" (least from depth {low:g} to {high:g} %: {percent(value)} %)"
    return f"{text}; chance {report['chance']:.3g} %"


def heat_map(facts: Values, by_length: Values, label: str = "length T") -> HeatMap:
    """A row a length, a column a bin; chance, if any, is a line on the scale."""
    known, trained = measure_of(facts["measure"]), sum(int(T) <= facts["train_len"] for T in by_length)
    return HeatMap(
        values=[[part["value"] for part in by_depth["bins"]] for by_depth in by_length.values()],
        rows=[f"{int(T):,}" for T in by_length],
        edges=facts["depths"],
        x=Axis("depth in the document (%)"),
        y=Axis(label),
        scale=Axis(known.label, low=known.low, high=known.high),
        level=facts["chance"],
        mark=("below: longer than training words", trained),
    )
