"""A row of the tidy table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from regulargpt.objectives.measures import measure
from regulargpt.training.given import Given

Value = str | int | float | bool | None
Key = tuple[Value, ...]

DONE, FAILED, DAMAGED = "done", "failed", "damaged"


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, a test of it, and a length; a run that failed or is damaged is one row without length.

    `config` is its config.toml by dotted keys, `tested` the protocol of the test, `measures` what was measured at the
    length, `measure` that of these which the run's score is the mean of, `in_score` whether the length is one of
    those scored. `guesses` has chance and the best single answer of a measure, over all scored lengths of the test.
    `as_it_is` is whether it is proven without replacing a state, `first_wrong` the length of the shortest wrong word
    that is known, no shorter than the words of training. `given` is what training had beside the answers to its
    batches, and `n_given` how many of it. None is what a row does not have: the proof of a run of which
    none was asked. `reason` says why a run failed, or why a run that ended with a proof is not proven of its language
    now.
    """

    run: str
    status: str
    reason: str = ""
    config: Mapping[str, Value] = field(default_factory=dict)
    tested: str = ""
    steps: int | None = None
    train_seconds: float | None = None
    proven: bool | None = None
    as_it_is: bool | None = None
    first_wrong: int | None = None
    given: str | None = None
    n_given: int | None = None
    length: int | None = None
    samples: int | None = None
    in_score: bool | None = None
    measure: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    guesses: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Whether the row is a result."""
        return self.status == DONE

    def get(self, key: str) -> Value:
        """A value by its name, one of the config by its dotted key; None if the row has none.

        >>> row = RunRow("a", "done", config={"model.chunk_size": 2}, length=41)
        >>> row.get("model.chunk_size"), row.get("length"), row.get("training.lr")
        (2, 41, None)
        """
        return getattr(self, key) if key in OWN else self.config.get(key)

    @property
    def beside_batches(self) -> Given | None:
        """What training had beside the answers to its batches."""
        return Given.read(self.given, self.n_given) if self.given else None

    def value(self, name: str) -> float | None:
        """What was measured by this name; a scaled measure is made of another and of chance.

        >>> row = RunRow("a", "done", measures={"accuracy": 60.0}, guesses={"accuracy": (20.0, 25.0)})
        >>> row.value("accuracy"), row.value("scaled_accuracy"), row.value("words")
        (60.0, 50.0, None)
        """
        scaled = measure(name).scales
        if not scaled:
            return self.measures.get(name)
        score, (chance, _) = self.measures.get(scaled), self.guesses.get(scaled, (100.0, 100.0))
        return None if score is None or chance == 100 else 100 * (score - chance) / (100 - chance)


# The values of a row by name, besides those of its config and of its measures.
OWN = ("run", "status", "reason", "tested", "steps", "train_seconds", "proven", "as_it_is", "first_wrong")
OWN += ("given", "n_given", "measure", "length", "samples", "in_score")
# What a run has once a test and length, so that a run that failed has none of it.
OF_A_TEST = ("tested", "measure", "length", "samples", "in_score")


def cell(value: Value) -> str:
    """A value as it stands in the table.

    >>> [cell(value) for value in (None, True, 0.0003, "regex:(a|b)*")]
    ['', 'true', '0.0003', 'regex:(a|b)*']
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def sortable(value: Value) -> tuple[bool, float, list[str | int]]:
    """What sorts values: numbers by size, also those in names; what is missing last.

    >>> sorted([None, 10, 9.5], key=sortable), sorted(["dyck-12", "dyck-2"], key=sortable)
    ([9.5, 10, None], ['dyck-2', 'dyck-12'])
    """
    if isinstance(value, str):
        parts = re.split(r"([0-9]+)", value)
        return False, 0.0, [int(part) if at % 2 else part for at, part in enumerate(parts)]
    return value is None, float(value or 0), []
