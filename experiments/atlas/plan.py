"""What is run: every language with every network, as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import languages
from experiments.atlas import columns
from experiments.atlas.entries import Entry
from experiments.atlas.networks import NETWORKS, AtlasNetwork
from experiments.experiment import Fields
from languages.errors import UserError, nearest, one_of
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import validate
from regulargpt.storage.atomic import disk

MADE = Path(__file__).parents[1] / "results" / "atlas" / columns.FILE
"""The table of the runs that were made, in a clone."""


@dataclass(frozen=True)
class Planned:
    """A run: a language, a network, and the config; `refusal` says why it cannot be run, if it cannot."""

    entry: Entry
    network: AtlasNetwork
    config: RunConfig
    refusal: str = ""


def chosen(names: str | None) -> list[AtlasNetwork]:
    """The networks of a text with commas between their names; all without one. UserError for an unknown name.

    >>> [network.title for network in chosen("lstm,rnn")]
    ['LSTM', 'RNN']
    """
    networks: list[AtlasNetwork] = []
    for name in NETWORKS if names is None else names.split(","):
        if name not in NETWORKS:
            raise UserError(f"unknown network '{name}';{nearest(name, NETWORKS) or ' choose ' + one_of(NETWORKS)}")
        networks.append(NETWORKS[name])
    return networks


def plan(
    entries: Iterable[Entry], networks: Sequence[AtlasNetwork], out: Path, changes: Fields | None = None
) -> Iterator[Planned]:
    """All runs, language by language; the files of the languages are there.

    One language that cannot be tested would refuse the whole sweep: it is found here.
    """
    for entry in entries:
        task = languages.get(f"dfa:{entry.path(out)}")
        for network in networks:
            config, refusal = network.config(entry.path(out), changes), ""
            try:
                validate(config, task)
            except UserError as error:
                refusal = str(error)
            yield Planned(entry, network, config, refusal)


def core_hours(n_entries: int, networks: Iterable[AtlasNetwork], made: Path = MADE) -> float | None:
    """What the runs take on one core, by what those of the table `made` took; None of a network that is not in it.

    >>> core_hours(324, [AtlasNetwork("new", "New", "rnn", "words")])
    """
    seconds: dict[str, list[float]] = {}
    for row in columns.read(made) if disk.exists(made) else ():
        if row["seconds"] is not None:
            seconds.setdefault(row["network"], []).append(row["seconds"])
    names = [network.name for network in networks]
    return n_entries * sum(fmean(seconds[name]) for name in names) / 3600 if seconds.keys() >= set(names) else None
