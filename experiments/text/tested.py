"""Trained runs tested under other protocols and attentions; what comes out is kept in their folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.text.results import Losses
from experiments.text.sharpening import temperature_at
from experiments.text.table import BY_POSITION, Measuring
from regulargpt.config.schema import RunConfig
from regulargpt.evaluation import segments
from regulargpt.evaluation.interval import Interval
from regulargpt.measurements.quantities import quantity
from regulargpt.runs.opened import OpenedRun, open_run
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from regulargpt.evaluation.by_length import Point

FOLDER = "tests"
# Segments that a loss by position is the mean of.
SEGMENTS = 128
# Told what is tested now.
Notice = Callable[[str], None]


def losses(
    folder: RunFolder, scoring: str, attention: str, notice: Notice = lambda text: None, longest: int = 0
) -> Losses:
    """The loss of every test segment in nats a symbol, by length: the run's own test where it is that, else one again.

    Of a run that was not tested up to `longest`, it is one up to there. Raises UserError where the model cannot be
    tested so.
    """
    config = RunConfig.parse(folder.config_text)
    other = config.replaced({"data.scoring": scoring, "evaluation.attention": attention})
    if longest > config.test_len:
        other = other.replaced({"evaluation.test_len": longest})
    if other == config:
        return segments.read(folder)
    farther = f"-{longest}" * (other.test_len > config.test_len)

    def test() -> Losses:
        from regulargpt.runs.again import points_again

        notice(f"{folder.path.name}: {scoring}, {attention} attention")
        return segments.of_points(points_again(folder, other, other.tested, config.seed))

    return once(kept(folder, f"{scoring}-{attention}{farther}", ".csv"), test)


def sharpened(folder: RunFolder, scoring: str, strategy: str, notice: Notice = lambda text: None) -> Losses:
    """The losses with the temperature that a strategy finds for each length; at the training length there is none.

    Raises UserError for a model without attention.
    """

    def test() -> Losses:
        config = RunConfig.parse(folder.config_text).replaced({"data.scoring": scoring})
        return segments.of_points(sharpened_points(folder, config, strategy, notice))

    return once(kept(folder, f"{scoring}-{strategy}", ".csv"), test)


def sharpened_points(
    folder: RunFolder, config: RunConfig, strategy: str, notice: Notice = lambda text: None
) -> list[Point]:
    """The test of a run with the temperature that a strategy finds for each length beyond the training length."""
    from regulargpt.runs.again import points_again

    points = []
    for length in config.tested:
        notice(f"{folder.path.name}: temperature by {strategy} at {length}")
        temperature = temperature_at(folder, length, strategy)
        points += points_again(folder, config, [length], config.seed, temperature=temperature)
    return points


def tested_as(name: str) -> Callable[[RunFolder, str], Mapping[int, Interval]]:
    """A measure of the test by length: the run's own test, or one with a strategy's temperatures."""

    def measured(folder: RunFolder, strategy: str) -> Mapping[int, Interval]:
        if not strategy:
            found = folder.load_summary()["measures"][name]
            ends = found["intervals"]
            return {int(T): Interval(value, *ends[T]) for T, value in found["values"].items()}
        points = sharpened_points(folder, RunConfig.parse(folder.config_text), strategy)
        return {point.length: point.measures[name] for point in points}

    return measured


def by_position(folder: RunFolder, length: int, attention: str, notice: Notice = lambda text: None) -> Losses:
    """The loss of every test segment of one length in nats a symbol, by the last position of each bin of positions.

    Raises UserError where the model or the text does not allow such segments.
    """

    def test() -> Losses:
        from regulargpt import objectives
        from regulargpt.measurements import positions
        from regulargpt.measurements.sample import segments_of
        from regulargpt.objectives.language_model import LanguageModel

        notice(f"{folder.path.name}: positions 1 to {length}, {attention} attention")
        run = open_run(folder, on=("text",), attention=attention, scoring="position")
        objective = objectives.build(run.config.objective, run.data)
        assert isinstance(objective, LanguageModel)  # what all text tables train
        with run.through():
            nats = positions.losses(run.model, objective, segments_of(run, length, SEGMENTS).words)
        return {last: each for (_, last), each in positions.binned(nats).items()}

    return once(kept(folder, f"{BY_POSITION}-{length}-{attention}", ".csv"), test)


def once(path: Path, test: Callable[[], Losses]) -> Losses:
    """What the file has of a test, which is made first if there is no file."""
    if not path.exists():
        found = test()
        atomic.make_folder(path.parent)
        atomic.write_text(path, segments.render(found))
    return segments.parse(atomic.parse_text(atomic.read_bytes(path), path))


def quantities(*names: str) -> dict[str, Measuring]:
    """Quantities of the measurements, by name, of a run under an attention."""

    def of(name: str) -> Measuring:
        return lambda folder, attention: quantity(name)(opened(folder, attention))

    return {name: of(name) for name in names}


@lru_cache(maxsize=1)
def opened(folder: RunFolder, attention: str) -> OpenedRun:
    """The run, kept while its quantities are measured: they share what is slow."""
    return open_run(folder, attention=attention)


def measured(
    folder: RunFolder,
    name: str,
    seen: str,
    measuring: Callable[[RunFolder, str], Mapping[int, Interval]],
    notice: Notice = lambda text: None,
) -> Mapping[int, Interval]:
    """A further measure of the run by length, under an attention or with the temperatures of a strategy."""
    path = kept(folder, f"{name}-{seen or 'as it is'}", ".json")
    if not path.exists():
        notice(", ".join(filter(None, (f"{folder.path.name}: {name}", seen))))
        found = measuring(folder, seen)
        values = {str(length): asdict(one) for length, one in found.items()}
        atomic.make_folder(path.parent)
        atomic.write_json(path, {"measure": name, "seen": seen, "intervals": values})
    known = atomic.parse_json(atomic.read_bytes(path), path)
    return {int(length): Interval(**one) for length, one in known["intervals"].items()}


def kept(folder: RunFolder, name: str, ending: str) -> Path:
    """Where a test of a run is kept."""
    return folder.path / FOLDER / (name.replace(" ", "-").replace(":", "-") + ending)
