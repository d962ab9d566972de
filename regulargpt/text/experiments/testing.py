"""What a text table asks of a trained run: the losses of its test segments, and further measures.

A run is tested again under other protocols, attentions and temperatures; what comes out is stored in its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from regulargpt.config.schema import RunConfig
from regulargpt.data import build
from regulargpt.evaluation import segments
from regulargpt.evaluation.interval import Interval
from regulargpt.runs.opened import OpenedRun, open_run
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder
from regulargpt.text.experiments.results import Losses
from regulargpt.text.experiments.sharpening import temperature_at
from regulargpt.text.measurements.quantities import quantity

if TYPE_CHECKING:
    from regulargpt.evaluation.by_length import Point

FOLDER = "tests"
# Segments that a loss by position is the mean of.
SEGMENTS = 128
# Before it symbols cost so much that the rest of a curve by position would be flat.
FIRST_DRAWN = 8
# It is called with what is tested now.
Notice = Callable[[str], None]
# A measure of a trained run by tested length, under an attention or with the temperatures of a strategy ("" for none).
Measuring = Callable[[RunFolder, str], Mapping[int, Interval]]
# The file that each segment lies in, by how many segments there are.
Files = Mapping[int, Int[np.ndarray, " segments"]]


def silent(text: str) -> None:
    """No notice."""


@dataclass(frozen=True)
class Test:
    """Segments of each length, of which those symbols count that the protocol `name` says."""

    name: str

    def losses(
        self, folder: RunFolder, attention: str = "full", strategy: str = "", longest: int = 0, notice: Notice = silent
    ) -> Losses:
        """The loss of every segment in nats a symbol, by length: the run's own test where it is that, else one again.

        A run that was not tested up to `longest` is tested up to there. With a strategy, attention has its temperature
        at each longer length. Raises UserError where the model or the text cannot be tested so.
        """
        trained = RunConfig.parse(folder.config_text)
        config = trained.replaced({"data.scoring": self.name, "evaluation.attention": attention})
        if longest > trained.test_len:
            config = config.replaced({"evaluation.test_len": longest})
        if config == trained and not strategy:
            return segments.read(folder)
        farther = f"-{longest}" * (config.test_len > trained.test_len)

        def test() -> Losses:
            notice(f"{folder.path.name}: {self.name}, {strategy or attention} attention")
            return segments.of_points(points(folder, config, strategy))

        return stored_losses(folder, f"{self.name}-{strategy or attention}{farther}", test)

    def files(self, config: RunConfig, tested: Losses, longest: int) -> Files:
        """The files of the text that these segments lie in, by how many there are, where they are known."""
        return files(config, self.name, {len(each): length for length, each in tested.items()})

    def drawn(self, tested: list[int], shown: list[int]) -> list[int]:
        """Of the lengths that were tested, those of a curve; `shown` are the columns of the table."""
        return [length for length in tested if length in shown]


LAST_K, SIDE_BY_SIDE = Test("last_k"), Test("nonoverlapping")


@dataclass(frozen=True)
class ByPosition(Test):
    """Segments of one length, by the last position of each bin of positions."""

    name: str = "by-position"

    def losses(
        self, folder: RunFolder, attention: str = "full", strategy: str = "", longest: int = 0, notice: Notice = silent
    ) -> Losses:
        """The mean over each bin, of segments as long as the longest."""

        def test() -> Losses:
            from regulargpt import objectives
            from regulargpt.measurements.sample import segments_of
            from regulargpt.text.measurements import positions
            from regulargpt.text.objectives.language_model import LanguageModel

            notice(f"{folder.path.name}: positions 1 to {longest}, {attention} attention")
            run = open_run(folder, on=("text",), attention=attention, scoring="position")
            objective = objectives.build(run.config.objective, run.data)
            assert isinstance(objective, LanguageModel)  # what all text tables train
            with run.through():
                nats = positions.losses(run.model, objective, segments_of(run, longest, SEGMENTS).words)
            return {last: each for (_, last), each in positions.binned(nats).items()}

        return stored_losses(folder, f"{self.name}-{longest}-{attention}", test)

    def files(self, config: RunConfig, tested: Losses, longest: int) -> Files:
        """Those of the longest segments, whatever the position."""
        return files(config, "position", {len(each): longest for each in tested.values()})

    def drawn(self, tested: list[int], shown: list[int]) -> list[int]:
        """All but the first."""
        return [position for position in tested if position >= FIRST_DRAWN]


def files(config: RunConfig, scoring: str, lengths: Mapping[int, int]) -> Files:
    """The files of a run's test segments, by how many there are; `lengths` says how long these are."""
    text = build(config.replaced({"data.scoring": scoring}).data)
    known = {count: text.files(config.seed, length, count) for count, length in lengths.items()}
    return {count: of for count, of in known.items() if of is not None}


def points(folder: RunFolder, config: RunConfig, strategy: str) -> list[Point]:
    """The test of a run, with the temperature of a strategy, if any, at each longer length."""
    from regulargpt.runs.again import points_again

    if not strategy:
        return points_again(folder, config, config.tested, config.seed)
    temperatures = {length: temperature_at(folder, length, strategy) for length in config.tested}
    return [
        point
        for length, temperature in temperatures.items()
        for point in points_again(folder, config, [length], config.seed, temperature=temperature)
    ]


def measured(
    folder: RunFolder, name: str, view: str, measuring: Measuring, notice: Notice = silent
) -> dict[int, Interval]:
    """A further measure of the run by length, under an attention or with the temperatures of a strategy."""

    def measure() -> dict[int, Any]:
        notice(", ".join(filter(None, (f"{folder.path.name}: {name}", view))))
        return {length: asdict(interval) for length, interval in measuring(folder, view).items()}

    values = stored(folder, f"{name}-{view or 'as it is'}", measure)
    return {length: Interval(**interval) for length, interval in values.items()}


def stored_losses(folder: RunFolder, name: str, test: Callable[[], Losses]) -> Losses:
    """Losses that are `stored`."""
    values = stored(folder, name, lambda: {length: each.tolist() for length, each in test().items()})
    return {length: np.array(each) for length, each in values.items()}


def stored(folder: RunFolder, name: str, test: Callable[[], dict[int, Any]]) -> dict[int, Any]:
    """What a test of the run came to, by length: read from its folder, where it is written by the first call."""
    path = folder.path / FOLDER / (name.replace(" ", "-").replace(":", "-") + ".json")
    if not path.exists():
        values = test()
        atomic.make_folder(path.parent)
        atomic.write_json(path, values)
    return {int(length): value for length, value in atomic.parse_json(atomic.read_bytes(path), path).items()}


def tested_as(name: str) -> Measuring:
    """A measure of the test by length: the run's own test, or a test with a strategy's temperatures."""

    def measure(folder: RunFolder, strategy: str) -> Mapping[int, Interval]:
        if not strategy:
            own = folder.load_summary()["measures"][name]
            return {int(T): Interval(value, *own["intervals"][T]) for T, value in own["values"].items()}
        return {
            point.length: point.measures[name]
            for point in points(folder, RunConfig.parse(folder.config_text), strategy)
        }

    return measure


def quantities(*names: str) -> dict[str, Measuring]:
    """Quantities of the measurements, by name, of a run under an attention."""

    def measuring(name: str) -> Measuring:
        return lambda folder, attention: quantity(name)(opened(folder, attention))

    return {name: measuring(name) for name in names}


@lru_cache(maxsize=1)
def opened(folder: RunFolder, attention: str) -> OpenedRun:
    """The run, kept while its quantities are measured: they share what is slow."""
    return open_run(folder, attention=attention)
