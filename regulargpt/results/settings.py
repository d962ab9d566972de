"""What else of their configs tells runs apart that agree in the columns of the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from regulargpt.config import RunConfig, keys, value_of
from regulargpt.protocols import shown
from regulargpt.results.read import FACTS
from regulargpt.results.row import Row

Fields = Mapping[str, Any]  # of a config.toml, by dotted keys

# What changes no score: how a run is watched, where it runs, what is tested besides.
IMMATERIAL = {
    *("device", "threads", "compile", "tensorboard", "training.log_every", "training.checkpoint_every"),
    *("evaluation.also", "evaluation.beyond"),
}
COLUMNS = tuple(column for column in FACTS if column != "seed")


def with_settings(rows: Iterable[Row], configs: Mapping[str, Fields]) -> list[Row]:
    """The rows with their column `settings`, by the configs of the runs: fields in which runs else alike differ.

    >>> runs = [Row(name, "done", language="parity", model="transformer") for name in "ab"]
    >>> configs = {"a": {"model.encoding": "rotary"}, "b": {"model.encoding": "alibi", "training.clip": 1.0}}
    >>> [row.settings for row in with_settings(runs, configs)]
    ['model.encoding=rotary', 'model.encoding=alibi']
    """
    rows = list(rows)
    alike: dict[tuple[Any, ...], dict[str, Fields]] = defaultdict(dict)
    for row in {row.run: row for row in rows}.values():
        alike[tuple(getattr(row, column) for column in COLUMNS)][row.run] = configs[row.run]
    settings = {run: text for runs in alike.values() for run, text in apart(runs)}
    return [replace(row, settings=text) if (text := settings[row.run]) else row for row in rows]


def apart(runs: Mapping[str, Fields]) -> Iterator[tuple[str, str]]:
    """Each run with the fields in which these runs differ."""
    told = {key for key, _ in FACTS.values()} | IMMATERIAL
    known = sorted({key for fields in runs.values() for key in fields} - told)
    values = {run: {key: shown(value(key, fields)) for key in known} for run, fields in runs.items()}
    differ = [key for key in known if len({of_run[key] for of_run in values.values()}) > 1]
    for run, of_run in values.items():
        yield run, " ".join(f"{key}={of_run[key]}" for key in differ)


def value(key: str, fields: Fields) -> Any:
    """The value of a field; of one that a config of another version does not have, the default."""
    found = fields.get(key, defaults().get(key, ""))
    return tuple(found) if isinstance(found, list) else found


@cache
def defaults() -> Fields:
    """The default of every field."""
    return {key: value_of(RunConfig(), key) for key in keys()}
