"""What each method of a test does to a trained network on a text, length by length, in pairs of segments.

The score is bits per byte, scored as in `evaluate`; beside it stands the perplexity over that of the network as it was
trained, at the same length and at the training length. No method is fitted to the test: `alignment` is the temperature
that restores P_max, found on the training part (Chi 2024, Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from languages.errors import UserError, nearest, one_of
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.extrapolation import ratio_of
from regulargpt.evaluation.methods import METHODS
from regulargpt.evaluation.temperature import Temperature
from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.measurements.alignment.setting import LONGEST, find, setting_of
from regulargpt.measurements.options import MethodOptions
from regulargpt.measurements.rounding import rounded
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.options.lengths import read_lengths
from regulargpt.plots import Line
from regulargpt.runs.again import Retest
from regulargpt.runs.opened import Opened
from regulargpt.tables import Table

TRAINED, ALIGNED = "trained", "alignment"
BITS = "bits_per_byte"
Progress = Callable[[int, int], None]
Points = dict[int, Point]


@dataclass(frozen=True)
class Methods:
    """A network on a text, the lengths it is tested at, and how it is tested."""

    run: Opened
    lengths: Sequence[int]
    seed: int

    @property
    def train_len(self) -> int:
        """The training length."""
        return self.run.train_len

    def why_not(self, name: str) -> str | None:
        """Why a method cannot be tried on this network; None if it can."""
        longest = max(self.lengths)
        if name == ALIGNED:
            is_possible = isinstance(self.run.model, Attentive) and self.train_len < longest <= LONGEST
            return None if is_possible else f"no length above {self.train_len:,}, or no softmax over positions"
        try:
            config = self.config(name, longest)
            model = self.run.network(METHODS[name].settings(self.train_len, longest))
            model.set_attention(config.evaluation.attention, self.train_len)
        except UserError as error:
            return str(error)
        return None

    def config(self, name: str, length: int) -> Any:
        """The config of a test by a method; ConfigError for a network that has no such option."""
        method = METHODS[name]
        changes = {f"model.{key}": value for key, value in method.settings(self.train_len, length).items()}
        view = method.attention(self.train_len, length)
        return self.run.config.replaced({**changes, "evaluation.attention": view})

    def points(self, name: str) -> Iterator[Point]:
        """The test at each length that the network, so changed, has positions for."""
        for length in self.lengths:
            config = self.config(name, length)
            if config.network.too_long(length) is not None:
                continue
            test = Retest.of(self.run, replace(config, model=self.run.config.model), [length], self.seed)
            changes = METHODS[name].settings(self.train_len, length)
            yield test.points(test.model(changes, self.temperature(name, length)))[0]

    def temperature(self, name: str, length: int) -> Temperature | None:
        """That of alignment at a longer length; none of other methods."""
        if name != ALIGNED or not self.train_len < length <= LONGEST:
            return None
        return find(setting_of(self.run, length, seed=self.seed), "p_max")


def measure(run: Opened, options: MethodOptions, progress: Progress = lambda done, count: None) -> Finding:
    """Every method that is asked for at every length; the refusals of `Retest.of`."""
    run = replace(run, config=run.config.replaced({"evaluation.samples": options.words}))  # type: ignore[type-var]
    lengths = lengths_of(run, options.lengths)
    methods = Methods(run, lengths, run.config.seed if options.seed is None else options.seed)
    asked = [name for name in names_of(options.methods) if name != TRAINED]
    left_out = {name: reason for name in asked if (reason := methods.why_not(name)) is not None}
    if options.methods and left_out:
        name, reason = next(iter(left_out.items()))
        raise UserError(f"--methods {name}: {reason}")
    chosen, found = [TRAINED, *(name for name in asked if name not in left_out)], {}
    for done, name in enumerate(chosen):
        progress(done, len(chosen))
        found[name] = {point.length: point for point in methods.points(name)}
    progress(len(chosen), len(chosen))
    return finding_of(methods, found, left_out)


def lengths_of(run: Opened, written: str | None) -> list[int]:
    """The lengths that are asked for, or the training length and its doubles, with that of training for the ratios.

    Raises UserError for a length that the text is too short for.
    """
    lengths = list(read_lengths(written)) if written else [T for T in run.config.tested if run.data.is_tested(T)]
    for T in lengths:
        if not run.data.is_tested(T):
            raise UserError(f"--lengths {T}: {run.data.describe_length(T)}")
    return sorted({*lengths, *([run.train_len] if run.data.is_tested(run.train_len) else [])})


def names_of(written: str | None) -> list[str]:
    """The methods between the commas, or all; UserError for one that there is not.

    >>> names_of("yarn,bca"), names_of(None)[:2]
    (['yarn', 'bca'], ['trained', 'interpolation'])
    """
    names = list(METHODS) if written is None else [name.strip() for name in written.split(",")]
    for name in names:
        if name not in METHODS:
            raise UserError(f"unknown method {name!r:.40};{nearest(name, METHODS) or f' choose {one_of(METHODS)}'}")
    return names


def values_of(points: Points, trained: Points, base: int) -> dict[str, Any]:
    """What is said of a method: bits per byte, and its ratios to the network as trained, by length."""
    bits = {T: point.measures[BITS] for T, point in points.items()}
    here = {T: ratio_of(point, trained[T]) for T, point in points.items() if T in trained}
    at_base = {T: ratio_of(point, trained[base]) for T, point in points.items() if base in trained}
    named = {BITS: bits, "to_trained": here, "to_training_length": at_base}
    return {name: {str(T): [x.value, x.low, x.high] for T, x in of.items()} for name, of in named.items()}


def finding_of(methods: Methods, found: dict[str, Points], left_out: dict[str, str]) -> Finding:
    """Two tables of methods by lengths, a picture, the CSV, and what is best at the longest length."""
    run, base, trained = methods.run, methods.train_len, found[TRAINED]
    values = rounded({"methods": {name: values_of(points, trained, base) for name, points in found.items()}})
    lengths, longest = [str(T) for T in methods.lengths], str(max(trained))
    rows = [
        (name, T, *(x for key in (BITS, "to_trained", "to_training_length") for x in of[key].get(T, ["", "", ""])))
        for name, of in values["methods"].items()
        for T in of[BITS]
    ]
    ends = [f"{key}{end}" for key in (BITS, "to_trained", "to_training_length") for end in ("", "_low", "_high")]
    return Finding(
        name="methods",
        title=f"{run.data.name}, {run.facts()['model']}: {samples(trained)} segments, trained on {base:,} symbols",
        facts=run.facts("train_len") | {"seed": methods.seed, "lengths": list(methods.lengths), "left_out": left_out},
        values={**values, "summary": sentence(values["methods"], longest)},
        data=Data(("method", "length", *ends), rows),
        picture=picture(methods, values["methods"]),
        tables=[
            Table(("bits per byte", *lengths), table(values["methods"], lengths, BITS)),
            Table(("x as trained, at this length", *lengths), table(values["methods"], lengths, "to_trained")),
        ],
        sentence=sentence(values["methods"], longest),
        notes=[f"left out: {name}, {reason}" for name, reason in left_out.items()],
    )


def samples(points: Points) -> str:
    """How many segments a length has.

    >>> samples({})
    '0'
    """
    counts = sorted({point.samples for point in points.values()}) or [0]
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"


def table(values: dict[str, Any], lengths: Sequence[str], key: str) -> list[tuple[str, ...]]:
    """A row a method: the value at each length with its interval."""
    return [
        (name, *("{:.3f} ({:.3f}-{:.3f})".format(*of[key][T]) if T in of[key] else "" for T in lengths))
        for name, of in values.items()
        if key == BITS or name != TRAINED
    ]


def sentence(values: dict[str, Any], longest: str) -> str:
    """The best method at the longest length, by its own interval; many are compared, so a close one may be chance.

    >>> values = {"trained": {"to_trained": {"64": [1.0, 1.0, 1.0]}}, "bca": {"to_trained": {"64": [0.5, 0.4, 0.6]}}}
    >>> sentence(values, "64")
    'at 64 symbols, bca is best: perplexity x 0.500 that of the network as trained (95 % interval 0.400 to 0.600)'
    """
    ratios = {name: of["to_trained"][longest] for name, of in values.items() if longest in of["to_trained"]}
    ratios.pop(TRAINED, None)
    if not ratios:
        return f"at {int(longest):,} symbols, no method can be held against the network as trained"
    best = min(ratios, key=lambda name: ratios[name][0])
    value, low, high = ratios[best]
    figures = f"perplexity x {value:.3f} that of the network as trained (95 % interval {low:.3f} to {high:.3f})"
    if high >= 1:
        return f"at {int(longest):,} symbols, no method is better than none: {best} has {figures}"
    return f"at {int(longest):,} symbols, {best} is best: {figures}"


def picture(methods: Methods, values: dict[str, Any]) -> Picture:
    """Bits per byte by length, a line a method."""
    lines = [line(name, of[BITS]) for name, of in values.items()]
    curves = Curves(lines, Axis("length", True), Axis("bits per byte"), {"training length": methods.train_len})
    return Picture([curves], f"{methods.run.data.name}, {methods.run.facts()['model']}")


def line(name: str, bits: dict[str, Any]) -> Line:
    """A method's line with its band."""
    value, low, high = zip(*bits.values(), strict=True)
    return Line(name, [int(T) for T in bits], value, low, high)
