"""What trained models came to on the same segments of text, and differences between them with paired intervals.

losses.json beside a page has what every segment cost every network, so that each paired verdict can be computed again:
`files[seed][segments]` has the file of the text that each of so many segments lies in (`[7, 3]` is three times file 7);
`losses`, squeezed, have by row, seed and length the loss of each segment in thousandths of a nat a symbol. Pages are
made of these rounded numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from experiments.page.compact import dense, squeezed, stretches, unsqueezed, whole
from languages.errors import UserError
from regulargpt.evaluation.interval import Interval, Sample
from regulargpt.storage import atomic

LOSSES = "losses.json"
UNIT = 1000

# The loss of each segment in nats a symbol, by tested length.
Losses = Mapping[int, Float[np.ndarray, " segments"]]
# The file that each segment lies in, by seed and how many segments there are.
Files = Mapping[int, Mapping[int, Int[np.ndarray, " segments"]]]


class Unknown(UserError):
    """Something that cannot be said of these results, in a sentence."""


# A measure of a run, by tested length.
Measured = Mapping[int, Interval]


def of_mean(numbers: Float[np.ndarray, " n"], files: Int[np.ndarray, " n"] | None = None) -> Interval:
    """The mean of at least two numbers of one network; Unknown of fewer.

    >>> of_mean(np.array([1.0, 1.0, 1.0])).high
    1.0
    """
    if len(numbers) < 2:
        raise Unknown("one segment has no interval")
    return Interval.of_mean(numbers, files)


def of_networks(samples: list[Sample]) -> Interval:
    """The mean over networks of at least two segments each; Unknown of fewer."""
    if any(len(numbers) < 2 for numbers, _ in samples):
        raise Unknown("one segment has no interval")
    return Interval.of_networks(samples)


def paired(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " m"]) -> Float[np.ndarray, " pairs"]:
    """a - b over the same text. Of consecutive segments, so many short ones as make a long one are one pair with it.

    Raises Unknown where neither number of segments is a multiple of the other.

    >>> paired(np.array([1.0, 3.0, 5.0, 7.0]), np.array([1.0, 2.0]))
    array([1., 4.])
    """
    pairs = min(len(a), len(b))
    if not pairs or len(a) % pairs or len(b) % pairs:
        raise Unknown(f"{len(a)} and {len(b)} segments are not the same text")
    first, second = (part.reshape(pairs, -1).mean(1) for part in (a, b))  # (pairs,)
    return first - second


@dataclass(frozen=True)
class TextResults:
    """What the rows of a table came to: `losses[row][seed][length]`, and further `measured[name][row][seed][length]`.

    `files[seed][segments]` has the file of each of so many segments; where it is not known, segments count as if drawn
    one by one. A point is a row and a multiple of the training length. `steps[row]` are the most of its networks, where
    they were trained here.
    """

    train_len: int
    losses: Mapping[str, Mapping[int, Losses]]
    measured: Mapping[str, Mapping[str, Mapping[int, Measured]]] = field(default_factory=dict)
    files: Files = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)

    def steps_of(self, points: Iterable[tuple[str, int]]) -> list[int]:
        """The most steps of the rows of these points."""
        return [self.steps[row] for row, _ in points if row in self.steps]

    def seeds(self, row: str) -> Mapping[int, Losses]:
        """The runs of a row by seed; Unknown if none is done."""
        if not (by_seed := self.losses.get(row)):
            raise Unknown(f"no run of {row} is done")
        return by_seed

    def loss(self, row: str, multiple: int) -> Interval:
        """The mean loss in nats a symbol; its interval has what makes texts hard, which all rows share."""
        return self.loss_at(row, self.train_len * multiple)

    def loss_at(self, row: str, length: int) -> Interval:
        """The same at a length, or at the position that stands for one."""
        return of_networks([self.sample(seed, at(run, length)) for seed, run in self.seeds(row).items()])

    def sample(self, seed: int, losses: Float[np.ndarray, " segments"]) -> Sample:
        """Numbers of a network, with the file of each segment."""
        files = self.files.get(seed, {}).get(len(losses))
        return losses, np.arange(len(losses)) if files is None else files

    def lengths(self, row: str) -> list[int]:
        """Where the row was tested, every run of it."""
        return sorted(set.intersection(*(set(run) for run in self.losses.get(row, {0: {}}).values())))

    def difference(self, a: tuple[str, int], b: tuple[str, int]) -> Interval:
        """The loss at point `a` minus that at `b`, in nats: paired by seed and segment, over the seeds that both have.

        Raises Unknown for a point that was not tested, and where no seed is in both.

        >>> losses = {64: np.array([1.0, 2.0]), 128: np.array([1.5, 2.5])}
        >>> TextResults(64, {"alibi": {0: losses}}).difference(("alibi", 2), ("alibi", 1)).high
        0.5
        """
        first, second = self.seeds(a[0]), self.seeds(b[0])
        common = sorted(first.keys() & second.keys())
        if not common:
            raise Unknown(f"{a[0]} and {b[0]} have no seed in common")
        ends = {s: (at(first[s], self.train_len * a[1]), at(second[s], self.train_len * b[1])) for s in common}
        return of_networks([self.sample(seed, paired(*both)) for seed, both in ends.items()])

    def measure(self, name: str, row: str, multiple: int) -> Interval:
        """Another measure at a point; Unknown if there is none."""
        return Interval.over_seeds(list(self.measures(name, row, multiple).values()))

    def change(self, name: str, a: tuple[str, int], b: tuple[str, int]) -> Interval:
        """A measure at point `a` minus that at `b`, over the seeds that both have; the two intervals are added up.

        >>> runs = {0: {64: Interval(2.0, 1.0, 3.0), 128: Interval(4.0, 4.0, 4.0)}}
        >>> change = TextResults(64, {}, {"H": {"t5": runs}}).change("H", ("t5", 2), ("t5", 1))
        >>> change.value, change.low, change.high
        (2.0, 1.0, 3.0)
        """
        first, second = self.measures(name, *a), self.measures(name, *b)
        common = sorted(first.keys() & second.keys())
        if not common:
            raise Unknown(f"{a[0]} and {b[0]} have no seed in common")
        return Interval.over_seeds([first[seed].minus(second[seed]) for seed in common])

    def measures(self, name: str, row: str, multiple: int) -> Mapping[int, Interval]:
        """A measure at a point by seed; Unknown unless every seed has it."""
        length, by_seed = self.train_len * multiple, self.measured.get(name, {}).get(row, {})
        if not by_seed or not all(length in run for run in by_seed.values()):
            raise Unknown(f"{name} of {row} at {length:,} symbols was not measured")
        return {seed: run[length] for seed, run in by_seed.items()}

    def curve(self, name: str, row: str) -> Measured:
        """A measure at the lengths that all seeds have."""
        first, *others = runs = list(self.measured.get(name, {}).get(row, {0: {}}).values())
        lengths = [length for length in first if all(length in run for run in others)]
        return {length: Interval.over_seeds([run[length] for run in runs]) for length in lengths}


def at(losses: Losses, length: int) -> Float[np.ndarray, " segments"]:
    """The losses at a length; Unknown if it was not tested."""
    if length not in losses:
        raise Unknown(f"{length:,} symbols were not tested")
    return losses[length]


def rounded(losses: Losses) -> Losses:
    """The losses as they are kept.

    >>> rounded({64: np.array([1.23449, 2.0])})
    {64: array([1.234, 2.   ])}
    """
    return {length: np.rint(UNIT * each) / UNIT for length, each in losses.items()}


def write_losses(place: Path, results: TextResults) -> None:
    """Write the losses of a page into its folder."""
    losses = {row: {seed: in_units(run) for seed, run in seeds.items()} for row, seeds in results.losses.items()}
    files = {
        str(seed): {n: [*stretches(of.tolist())] for n, of in counts.items()} for seed, counts in results.files.items()
    }
    unit = f"1/{UNIT} nat a symbol"
    stored = {"unit": unit, "train_len": results.train_len, "files": files, "losses": squeezed(losses)}
    atomic.make_folder(place)
    atomic.write_text(place / LOSSES, dense(stored) + "\n")


def in_units(run: Losses) -> dict[int, list[int]]:
    """The losses of a run as whole numbers."""
    return {length: np.rint(UNIT * each).astype(int).tolist() for length, each in run.items()}


def read_losses(place: Path) -> TextResults:
    """The results that the losses of a page are; it has no further measures."""
    path = place / LOSSES
    stored = atomic.parse_json(atomic.read_bytes(path), path)
    if not isinstance(stored["losses"], str):
        raise atomic.FormatError(f"{atomic.shown(path)} has no squeezed losses; make the page anew")
    losses = {
        row: {int(seed): numbered(run, lambda each: np.array(each) / UNIT) for seed, run in seeds.items()}
        for row, seeds in unsqueezed(stored["losses"]).items()
    }
    files: Files = {
        int(seed): numbered(of, lambda parts: np.array(whole(parts))) for seed, of in stored["files"].items()
    }
    return TextResults(stored["train_len"], losses, files=files)


def numbered(values: Mapping[str, Any], made: Callable[[Any], Any]) -> dict[int, Any]:
    """Keys as numbers, and values made arrays.

    >>> numbered({"64": [1]}, tuple)
    {64: (1,)}
    """
    return {int(key): made(value) for key, value in values.items()}
