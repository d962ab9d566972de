"""Trained models out of run folders, their weights checked against the run's digests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from languages.errors import UserError, shown
from regulargpt import models
from regulargpt.models import MODELS
from regulargpt.models.base import Model, fill, refuse_shapes
from regulargpt.runs.configured import config_of
from regulargpt.runs.outside import mistakes, outside, warn_of_changes
from regulargpt.storage.folder import RunFolder


def load_model(folder: RunFolder) -> Model:
    """The trained model of a finished run; the refusals of `refuse_output_token`."""
    refuse_output_token(folder)
    return load_reader(folder)


def refuse_output_token(folder: RunFolder) -> None:
    """Raise UserError for a run that reads its answer at an output token: it is no map from words of the alphabet."""
    record = folder.load_model_config()
    if "alphabet" not in record:
        raise UserError(f"{folder.path} is a run on no language: it has no automaton; choose a run on a language")
    if record["n_symbols"] != len(record["alphabet"]):
        raise UserError(f"{folder.path} reads its answer at an output token; only `regulargpt evaluate` asks it there")


def load_reader(folder: RunFolder, changes: Mapping[str, Any] = {}) -> Model:
    """The trained model of a finished run, wherever it reads its answer; some options changed, by their dotted keys."""
    config, model = config_of(folder), load_drawn(folder, 0, changes)
    fill(model, folder.load_weights(), shown(folder.path))
    if outside(config):
        warn_of_changes(folder, config)
        with mistakes(config):
            refuse_shapes(model, folder.load_model_config()["n_outputs"])
    return model


def load_drawn(folder: RunFolder, seed: int, changes: Mapping[str, Any] = {}) -> Model:
    """The model of a finished run as it was before the first step, which the run's seed drew; options may change."""
    record = folder.load_model_config()
    # What stands in the file is checked as a config is: it may come from another machine.
    options = MODELS.options(_changed(record["model"], changes), "model")
    generator = torch.Generator().manual_seed(seed)
    with mistakes(config_of(folder)):
        sizes = record["n_symbols"], record["n_outputs"]
        return models.build(options, *sizes, generator, record.get("direction")).eval()


def _changed(options: Any, changes: Mapping[str, Any]) -> Any:
    for key, value in changes.items():
        first, dot, rest = key.partition(".")
        options = {**options, first: _changed(options[first], {rest: value}) if dot else value}
    return options
