"""The finding of a comparison of methods: tables of methods by lengths, a picture, the CSV, and a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.measurements.rounding import rounded
from regulargpt.options import as_mapping
from regulargpt.plots import Line
from regulargpt.runs.device import prepare
from regulargpt.runs.opened import Opened
from regulargpt.tables import Table
from regulargpt.text.measurements.method_cells import facts_of
from regulargpt.text.measurements.method_scores import BITS, SCORES, Points, Score

TRAINED = "trained"
ALIKE = "on segments of one length dynamic_ntk is ntk"
SCORED = ("scoring", "last", "step", "region")
"""The options of a text that say which symbols count."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is compared: a network on a text, the lengths it is tested at, the seed of the segments, the scores."""

    run: Opened
    lengths: Sequence[int]
    seed: int
    scores: Sequence[Score] = SCORES

    @property
    def train_len(self) -> int:
        """The training length."""
        return self.run.train_len

    @cached_property
    def of_run(self) -> dict[str, Any]:
        """What every result depends on."""
        return facts_of(self.run, str(prepare(self.run.config)))


def finding_of(
    methods: Comparison,
    tests: Mapping[str, Points],
    left_out: Mapping[str, str],
    settings: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> Finding:
    """Two tables a score, a picture, the CSV, and what is best at the longest length by the first score.

    `settings` says by method and length what was tested, `notes` what is to be known of the lengths.
    """
    run, base, trained, scores = methods.run, methods.train_len, tests[TRAINED], methods.scores
    values = rounded({"methods": {name: values_of(points, trained, base, scores) for name, points in tests.items()}})
    lengths, longest = [str(T) for T in methods.lengths], str(max(trained))
    said = sentence(values["methods"], longest, scores[0].to_trained, is_apart(tests, int(longest), scores[0]))
    return Finding(
        name="methods",
        title=f"{run.data.name}, {run.facts()['model']}: {samples(trained)} segments, {run.trained_on}",
        facts=run.facts("train_len")
        | {"seed": methods.seed, "lengths": list(methods.lengths), "left_out": left_out}
        | {"segments": {str(T): point.samples for T, point in trained.items()}, "how": how(methods)}
        | {"settings": settings},
        values={**values, "summary": said},
        data=data(values["methods"], scores),
        picture=picture(methods, values["methods"]),
        tables=[
            replace(table, kept=(longest, str(base)))
            for score in scores
            for table in tables(values["methods"], lengths, score)
        ],
        sentence=said,
        notes=[*notes]
        + [note for score in scores for note in score.notes(values["methods"], longest)]
        + [ALIKE] * ({"ntk", "dynamic_ntk"} <= set(tests))
        + [f"left out: {name}, {reason}" for name, reason in left_out.items()],
    )


def how(methods: Comparison) -> dict[str, Any]:
    """How it was measured: what every result depends on but the options of the network, and the scoring."""
    scored = {key: value for key, value in as_mapping(methods.run.config.data).items() if key in SCORED}
    return {**scored, **{key: value for key, value in methods.of_run.items() if key != "network"}}


def values_of(points: Points, trained: Points, base: int, scores: Sequence[Score]) -> dict[str, Any]:
    """What is said of a method, by every score."""
    return {key: of for score in scores for key, of in score.values(points, trained, base).items()}


def data(values: Mapping[str, Any], scores: Sequence[Score]) -> Data:
    """A row a method and length: each score and its ratios, with their intervals."""
    keys = [key for score in scores for key in score.keys]
    rows = [
        (name, T, *(x for key in keys for x in of[key].get(T, ["", "", ""])))
        for name, of in values.items()
        for T in of[scores[0].measure]
    ]
    return Data(("method", "length", *(f"{key}{end}" for key in keys for end in ("", "_low", "_high"))), rows)


def samples(points: Points) -> str:
    """How many segments a length has.

    >>> samples({})
    '0'
    """
    counts = sorted({point.samples for point in points.values()}) or [0]
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def tables(values: Mapping[str, Any], lengths: Sequence[str], score: Score) -> list[Table]:
    """The score of each method at each length, and its perplexity over that of the network as trained."""
    of = "" if score is BITS else f", {score.label}"
    names = [name for name in values if name != TRAINED]
    last = score.to_training_length
    return [
        Table((score.label, *lengths), table(values, list(values), lengths, score.measure)),
        Table((f"x as trained, at this length{of}", *lengths), table(values, names, lengths, score.to_trained)),
        *([Table((score.to_base, *lengths), table(values, list(values), lengths, last))] if score.to_base else []),
    ]


def table(values: Mapping[str, Any], names: Sequence[str], lengths: Sequence[str], key: str) -> list[tuple[str, ...]]:
    """A row a method: the value at each length with its interval."""
    form = "{:.3f} ({:.3f}-{:.3f})".format
    return [(name, *(form(*values[name][key][T]) if T in values[name][key] else "" for T in lengths)) for name in names]


def is_apart(tests: Mapping[str, Points], length: int, score: Score) -> Callable[[str, str], bool]:
    """Whether pairs of segments of this length tell two methods apart."""

    def told(first: str, other: str) -> bool:
        ratio = score.ratio(tests[first][length], tests[other][length])
        return not ratio.low <= 1 <= ratio.high

    return told


def sentence(
    values: Mapping[str, Any],
    longest: str,
    key: str = BITS.to_trained,
    apart: Callable[[str, str], bool] = lambda first, other: True,
) -> str:
    """The best method at the longest length, by its own interval; many are compared, so a close result may be chance.

    `apart` says whether two methods are told apart: the best is named with the second where they are not.

    >>> values = {"trained": {"to_trained": {"64": [1.0, 1.0, 1.0]}}, "bca": {"to_trained": {"64": [0.5, 0.4, 0.6]}}}
    >>> sentence(values, "64")
    'at 64 symbols, bca is best: perplexity x 0.500 that of the network as trained (95 % interval 0.400 to 0.600)'
    """
    ratios = {name: of[key][longest] for name, of in values.items() if name != TRAINED and longest in of[key]}
    if not ratios:
        return f"at {int(longest):,} symbols, no method can be held against the network as trained"
    best, *others = sorted(ratios, key=lambda name: ratios[name][0])
    value, low, high = ratios[best]
    figures = f"perplexity x {value:.3f} that of the network as trained (95 % interval {low:.3f} to {high:.3f})"
    if high >= 1:
        return f"at {int(longest):,} symbols, no method is better than none: {best} has {figures}"
    if others and not apart(best, others[0]):
        return f"at {int(longest):,} symbols, {best} and {others[0]} are best, and not told apart: {best} has {figures}"
    return f"at {int(longest):,} symbols, {best} is best: {figures}"


def picture(methods: Comparison, values: Mapping[str, Any]) -> Picture:
    """Each score by length, a line a method."""
    marks = {"training length": methods.train_len}
    panels = [
        Curves(
            [line(name, of[score.measure], methods.lengths) for name, of in values.items() if of[score.measure]],
            Axis("length", True),
            Axis(score.label),
            marks,
        )
        for score in methods.scores
        if any(of[score.measure] for of in values.values())
    ]
    return Picture(panels, f"{methods.run.data.name}, {methods.run.facts()['model']}")


def line(name: str, values: Mapping[str, Any], lengths: Sequence[int]) -> Line:
    """A method's line with its band, over the lengths of all: it has no point where it has no number.

    >>> line("yarn", {"64": [1.0, 0.5, 1.5]}, [32, 64]).values
    (nan, 1.0)
    """
    value, low, high = zip(*(values.get(str(T), [math.nan] * 3) for T in lengths), strict=True)
    return Line(name, lengths, value, low, high)
