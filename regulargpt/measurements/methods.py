"""What each method of a test does to a trained network on a text, length by length, in pairs of segments.

The score is bits per byte, scored as in `evaluate`; beside it stands the perplexity over that of the network as it was
trained, at the same length and at the training length. No method is fitted to the test: `alignment` is the temperature
that restores P_max, found on the training part (Chi 2024, Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from languages.errors import UserError, nearest, one_of
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.methods import METHODS
from regulargpt.evaluation.temperature import Temperature
from regulargpt.findings import Finding
from regulargpt.measurements.alignment.setting import LONGEST, find, setting_of
from regulargpt.measurements.method_scores import SCORES, Score
from regulargpt.measurements.method_tables import TRAINED, finding_of
from regulargpt.measurements.options import MethodOptions
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.options.lengths import read_lengths
from regulargpt.runs.again import Retest
from regulargpt.runs.opened import Opened

ALIGNED = "alignment"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Methods:
    """A network on a text, the lengths it is tested at, and by which scores."""

    run: Opened
    lengths: Sequence[int]
    seed: int
    scores: Sequence[Score] = SCORES

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
            test = self.test(config, length)
            changes = METHODS[name].settings(self.train_len, length)
            yield test.points(test.model(changes, self.temperature(name, length)))[0]

    def test(self, config: Any, length: int) -> Retest:
        """The test of one length, which measures every score."""
        test = Retest.of(self.run, replace(config, model=self.run.config.model), [length], self.seed)
        return reduce(lambda test, score: score.within(test), self.scores, test)

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
