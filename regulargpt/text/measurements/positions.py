"""What a symbol costs by its position in a segment, and whether context beyond the training length helps.

Section 3.5.5 of the thesis, Figures 3.5 and 3.7: the reference line is the same model with its attention restricted to
the last L_tr symbols. Above it, more context hurts; below, it is used. The loss is -ln p of each symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int
from numpy import ndarray

from languages.errors import UserError, shown
from regulargpt import objectives, plots
from regulargpt.data.base import Words
from regulargpt.evaluation.interval import Interval
from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.sample import Sample, segments_of
from regulargpt.models.base import Model, device_of
from regulargpt.plots import Line
from regulargpt.runs.opened import Opened
from regulargpt.tables import Table
from regulargpt.text.measurements.key_symbols import nats_of
from regulargpt.text.measurements.options import PositionOptions
from regulargpt.text.objectives.language_model import LanguageModel

BINS_A_DOUBLING = 2
FIRST_SHOWN = 8
Values = dict[str, Any]
Files = Int[ndarray, " segments"] | None


def losses(model: Model, objective: LanguageModel, segments: Words) -> Float[ndarray, "segments length"]:
    """-ln p of the symbol at each position, 1 the first that is predicted, of every segment; in float64."""
    return nats_of(model, objective, segments, device_of(model))


def edges(length: int) -> list[int]:
    """Where bins end that double every two, so that each position is in one: positions count from 1.

    >>> edges(10), edges(1)
    ([1, 2, 3, 4, 6, 8, 10], [1])
    """
    count = BINS_A_DOUBLING * length.bit_length()
    ends = {int(2 ** (i / BINS_A_DOUBLING) + 0.5) for i in range(count + 1)}
    return [*sorted(end for end in ends if end < length), length]


@dataclass(frozen=True)
class Bin:
    """The mean nats a symbol at the positions first..last, with its interval over segments."""

    first: int
    last: int
    nats: Interval


def bins(nats: Float[ndarray, "segments length"], files: Files = None) -> list[Bin]:
    """The positions in logarithmic bins; intervals are over the files that the segments lie in, if they are given.

    >>> import numpy as np
    >>> [(part.first, part.last, part.nats.value) for part in bins(np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]))]
    [(1, 1, 3.0), (2, 2, 2.0), (3, 3, 1.0)]
    """
    return [Bin(first, last, Interval.of_mean(each, files)) for (first, last), each in binned(nats).items()]


def binned(nats: Float[ndarray, "segments length"]) -> dict[tuple[int, int], Float[ndarray, " segments"]]:
    """The mean nats a symbol of every segment, by the first and the last position of a bin.

    >>> import numpy as np
    >>> binned(np.array([[3.0, 2.0]]))
    {(1, 1): array([3.]), (2, 2): array([2.])}
    """
    ends = edges(nats.shape[1])
    firsts = [1, *(end + 1 for end in ends[:-1])]
    return {(first, last): nats[:, first - 1 : last].mean(1) for first, last in zip(firsts, ends, strict=True)}


def cost_beyond_training(
    nats: Float[ndarray, "segments length"],
    reference: Float[ndarray, "segments length"],
    train_len: int,
    files: Files = None,
) -> Interval | None:
    """How much more a symbol costs behind position `train_len` than in the reference, in pairs; None if none is there.

    >>> import numpy as np
    >>> cost_beyond_training(np.array([[1.0, 2.0], [1.0, 2.5]]), np.array([[1.0, 1.5], [1.0, 2.0]]), 1).value
    0.5
    """
    if nats.shape[1] <= train_len:
        return None
    return Interval.of_mean((nats - reference)[:, train_len:].mean(1), files)


def measure(run: Opened, options: PositionOptions) -> Finding:
    """The loss at each position of test segments, and that of the reference if the model has attention."""
    sample = segments_of(run, options.length, options.words, options.seed)
    objective = objectives.build(run.config.objective, run.data)
    if not isinstance(objective, LanguageModel):
        raise UserError(f"{shown(run.path)} was not trained to tell the next symbol; choose a language model")
    nats = losses(run.model, objective, sample.words)
    values: Values = {"scoring": "position", **of_losses(nats, sample), "reference": None, "difference": []}
    attention, cost = None if run.config.model.why_no_views() is not None else f"sliding:{run.train_len}", None
    if attention is not None:
        with run.through(attention):
            other = losses(run.model, objective, sample.words)
        cost = cost_beyond_training(nats, other, run.train_len, sample.files)
        values["reference"] = {"attention": attention, **of_losses(other, sample)}
        values["difference"] = of_losses(nats - other, sample)["bins"]
    values["beyond"] = None if cost is None else {end: getattr(cost, end) for end in ("value", "low", "high")}
    values = rounded({**values, "summary": sentence(cost, run, attention)})
    return finding_of(sample, values)


def of_losses(nats: Float[ndarray, "segments length"], sample: Sample) -> Values:
    """The mean of each position, and the bins."""
    parts = [
        {"first": part.first, "last": part.last, "nll": part.nats.value, "interval": [part.nats.low, part.nats.high]}
        for part in bins(nats, sample.files)
    ]
    return {"nll": nats.mean(0).tolist(), "bins": parts}


def sentence(cost: Interval | None, run: Opened, attention: str | None) -> str:
    """Whether context beyond the training length helps, by the paired interval."""
    if attention is None:
        return f"{run.config.model.title} has no attention that could be restricted: there is no reference"
    if cost is None:
        return f"no position lies beyond the training length {run.train_len}"
    interval = f"95 % interval {cost.low:+.4f} to {cost.high:+.4f}"
    lead = f"beyond position {run.train_len}, attention to more than the last {run.train_len} symbols"
    if cost.low <= 0 <= cost.high:
        return f"{lead} changes nothing that can be told: {cost.value:+.4f} nats a symbol ({interval}, paired)"
    verb = "hurts" if cost.value > 0 else "helps"
    return f"{lead} {verb} by {abs(cost.value):.4f} nats a symbol ({interval}, paired)"


def finding_of(sample: Sample, values: Values) -> Finding:
    """The finding: a row of the CSV a position, a row for people a bin."""
    run, reference = sample.run, values["reference"]
    others = reference["nll"] if reference else [""] * sample.length
    lines = {"nats a symbol": values["bins"]}
    if reference:
        lines[f"the last {run.train_len}"] = reference["bins"]
    rows = [(place(parts[0]), *map(shown_bin, parts)) for parts in zip(*lines.values(), strict=True)]
    return Finding(
        name="positions",
        title=f"{run.data.name}, {run.config.model.title}: scoring position, {len(sample.words)} segments",
        facts=sample.facts,
        values=values,
        data=Data(
            ("position", "nll", "reference"),
            [*zip(range(1, sample.length + 1), values["nll"], others, strict=True)],
        ),
        picture=picture(sample, values),
        tables=[Table(("position", *lines), rows)],
        sentence=values["summary"],
    )


def place(part: Values) -> str:
    """The positions of a bin."""
    first, last = part["first"], part["last"]
    return f"{first:,}" if first == last else f"{first:,}-{last:,}"


def shown_bin(part: Values) -> str:
    """A bin's mean and its interval."""
    return "{:.3f} ({:.3f}-{:.3f})".format(part["nll"], *part["interval"])


def picture(sample: Sample, values: Values) -> Picture:
    """Figures 3.5 and 3.7: the bins as lines with their intervals, each at its last position; then their difference.

    The first symbols are left out where there are others: they cost so much that the rest would be flat.
    """
    train_len = sample.run.train_len
    kept = slice(sum(part["last"] < min(FIRST_SHOWN, sample.length) for part in values["bins"]), None)
    lines = [line("all context", values["bins"][kept])]
    if values["reference"]:
        lines.append(line(f"the last {train_len}", values["reference"]["bins"][kept]))
    panels = {"nats per symbol": lines}
    if values["difference"]:
        panels["all context minus the last symbols, paired"] = [line("", values["difference"][kept])]
    marks, x = {"training length": train_len}, Axis("position", True)
    curves = [Curves(drawn, x, Axis(label), marks) for label, drawn in panels.items()]
    return Picture(curves, plots.title(sample.run.config), across=len(curves), size=(6, 4))


def line(name: str, bins: list[Values]) -> Line:
    """Bins as a line."""
    low, high = zip(*(part["interval"] for part in bins), strict=True)
    return Line(name, [part["last"] for part in bins], [part["nll"] for part in bins], low, high)
