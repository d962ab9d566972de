"""A trained network, opened to be measured, extracted from, tested or shown: here is what may speak against that.

Nothing here imports torch until the model is read, so that refusals are instant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from languages.errors import UserError, shown
from regulargpt import data
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import refuse_attention
from regulargpt.data.base import Data
from regulargpt.data.kinds import KINDS
from regulargpt.data.options import REACH
from regulargpt.evaluation.segmented import Segmented
from regulargpt.runs.configured import config_of
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from regulargpt.models.base import Model
    from regulargpt.objectives.answers import Objective

HERE = {"tensorboard": False, "compile": False}
HALVES, LEAST = 4, 32
"""So many halves of a training length are tested where a text is too short for it, and none that is shorter."""


@runtime_checkable
class HasResults(Protocol):
    """What is measured, and says where results of it lie."""

    def results(self, name: str) -> Path:
        """The folder for results of this name, where nobody says another."""
        ...


@dataclass(frozen=True, eq=False)
class Opened(ABC):
    """A trained network, the config that it was trained with, and the config to measure it with: usually on the CPU."""

    trained: RunConfig
    config: RunConfig

    @property
    @abstractmethod
    def path(self) -> Path:
        """Its folder."""

    @abstractmethod
    def results(self, name: str) -> Path:
        """The folder for results of this name, where nobody says another."""

    @property
    @abstractmethod
    def weights(self) -> str:
        """The digest of its weights."""

    @abstractmethod
    def network(self, changes: Mapping[str, Any] = {}) -> Model:
        """A new model with the trained weights, some options changed, by their keys within `model`."""

    @abstractmethod
    def refuse_words(self, words: Data) -> None:
        """Raise UserError for words that it cannot read: they have changed, or have other symbols."""

    @abstractmethod
    def refuse_objective(self, objective: Objective, name: str) -> None:
        """Raise UserError for an objective that asks for other outputs than it has."""

    def changed_classes(self, config: RunConfig) -> list[str]:
        """The classes from outside that have changed since it was trained."""
        return []

    @property
    def train_len(self) -> int:
        """The training length."""
        return self.config.data.train_len

    @property
    def learned_len(self) -> int:
        """The length above which a text is longer than all that it was trained on."""
        return self.train_len

    @property
    def trained_on(self) -> str:
        """The training length in words, for a title."""
        return f"trained on {self.train_len:,} symbols"

    def usual_lengths(self) -> tuple[list[int], list[str]]:
        """The lengths of a test on a text where nobody names any, and what is said of those that are left out.

        They are the training length and its doubles; where the text is too short for all of them, its halves.
        """
        words, tested = self.data, self.config.tested
        if not isinstance(words, Segmented):
            return tested, []
        cap = min(REACH, words.reach)
        fitting = [T for T in tested if cap >= T] or halves(self.train_len, cap)
        left_out = {
            f"the text allows up to {words.reach:,}": [T for T in tested if not words.is_tested(T)],
            "choose them with --lengths": [T for T in tested if words.is_tested(T) and cap < T],
        }
        notes = [
            f"left out: {', '.join(f'{T:,}' for T in lengths)} symbols; {why}"
            for why, lengths in left_out.items()
            if lengths
        ]
        return fitting or tested, notes

    @property
    def notes(self) -> list[str]:
        """What is to be known of every result."""
        return []

    @property
    def attention(self) -> str:
        """What each position of its model sees: full, bca or sliding:W."""
        return self.config.evaluation.attention

    @cached_property
    def data(self) -> Data:
        """What it is measured on; the refusals of `refuse_words`."""
        words = data.build(self.config.data)
        self.refuse_words(words)
        return words

    @cached_property
    def model(self) -> Model:
        """The trained model on the device to measure it on; UserError where torch has none such."""
        from regulargpt.runs.device import prepare

        device = prepare(self.config)
        return self.network().to(device)

    def through(self, attention: str | None = None) -> AbstractContextManager[None]:
        """While it lasts, each position of the model sees what the run's attention, or another attention, says."""
        from regulargpt.evaluation.by_length import seen_through

        return seen_through(self.model, attention or self.attention, self.train_len)

    def facts(self, *keys: str) -> dict[str, Any]:
        """Which run it is, for a report, and these further facts."""
        which = {"run_dir": str(self.path), "language": self.data.name, "model": self.config.model.title}
        return which | {key: getattr(self, key) for key in keys}


@dataclass(frozen=True, eq=False)
class OpenedRun(Opened):
    """A finished run."""

    folder: RunFolder

    @property
    def path(self) -> Path:
        return self.folder.path

    def results(self, name: str) -> Path:
        """In the run's folder."""
        return self.path / name

    @property
    def weights(self) -> str:
        from regulargpt.evaluation.temperature import weights_of

        return weights_of(self.folder)

    def network(self, changes: Mapping[str, Any] = {}) -> Model:
        from regulargpt.runs.load import load_reader

        return load_reader(self.folder, changes) if changes else load_reader(self.folder)

    def refuse_words(self, words: Data) -> None:
        refuse_other_data(self.folder, words)
        refuse_other_symbols(self.folder, words)

    def refuse_objective(self, objective: Objective, name: str) -> None:
        record = self.folder.load_model_config()
        if objective.n_outputs != record["n_outputs"]:
            trained = record["supervision"]
            raise UserError(f"objective.name = '{name}': the run was trained on '{trained}'; test it on that")

    def changed_classes(self, config: RunConfig) -> list[str]:
        from regulargpt.runs.outside import changed

        return changed(self.folder, config)


def halves(length: int, longest: int, most: int = HALVES) -> list[int]:
    """Some halves of a length that are no longer than the longest, at most so many, increasing.

    >>> halves(16_384, 5_000), halves(64, 40), halves(64, 20)
    ([512, 1024, 2048, 4096], [32], [])
    """
    fitting = [T for T in (length >> i for i in range(1, length.bit_length())) if LEAST <= T <= longest]
    return sorted(fitting[:most])


def opened(place: RunFolder | Opened) -> Opened:
    """What is open already, or the run in a folder, whose data are not read yet."""
    return place if isinstance(place, Opened) else open_run(place, reads=False)


def open_run(
    folder: RunFolder,
    *,
    on: tuple[str, ...] = ("words", "text", "retrieval"),
    attention: str = "",
    scoring: str = "",
    device: str = "cpu",
    reads: bool = True,
) -> OpenedRun:
    """A finished run on one of these kinds of data, under this attention or its own, its text scored so.

    Raises UserError for a run that is not finished or on something else, a model without such an attention, and where
    it `reads` words, for data that have changed, or have other symbols or answers than the run was trained on.
    """
    trained = config_of(folder)
    refuse_kind(folder, trained, on)
    changes = {"data.scoring": scoring} if scoring and data.is_text(trained.data.name) else {}
    changes |= {**HERE, "device": device, "evaluation.attention": attention or trained.evaluation.attention}
    config = trained.replaced(changes)
    if (reason := refuse_attention(config)) is not None:
        raise UserError(reason)
    folder.load_summary()
    run = OpenedRun(trained, config, folder)
    if reads:
        _ = run.data  # refused now, before anything is computed
    return run


def refuse_kind(folder: RunFolder, config: RunConfig, on: tuple[str, ...]) -> None:
    """Raise UserError for a run on another kind of data."""
    name = config.data.name
    if data.kind_of(name) in on:
        return
    if "words" in on:
        data.of_words(config.data)  # it says why a text has no automaton
    raise UserError(f"{shown(folder.path)} is a run on the {data.noun_of(name)} {name}; choose {KINDS[on[0]].run}")


def refuse_other_data(folder: RunFolder, words: Data) -> None:
    """Raise UserError if the data are not those that the run began with: a text's or automaton's file has changed."""
    began, now = folder.load_environment(), words.fingerprint()
    for key, value in now.items():
        if began.get(key, value) != value:
            former = ", ".join(f"{name} {value}" for name, value in began[key].items())
            raise UserError(f"{words.name} is not what {folder.path} began with ({former}); put it back, or run anew")


def refuse_other_symbols(folder: RunFolder, words: Data) -> None:
    """Raise UserError if symbols or answers are not those of the run.

    They are numbers to the network: with another order it would read other words.
    """
    record = folder.load_model_config()
    if any(record.get(key) != value for key, value in words.record().items()):
        raise UserError(f"{words.name} has other symbols or answers than the run in {folder.path} was trained on")
