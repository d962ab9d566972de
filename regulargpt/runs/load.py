"""Trained models out of run folders, their weights checked against the run's digests."""

from __future__ import annotations

import torch
from torch import nn

from languages.errors import UserError
from regulargpt import models
from regulargpt.models import MODELS
from regulargpt.storage.folder import RunFolder


def load_model(folder: RunFolder) -> nn.Module:
    """The trained model of a finished run.

    Raises UserError for one that reads its answer at an output token: it is no map from words of the alphabet.
    """
    record = folder.load_model_config()
    if "alphabet" not in record:
        raise UserError(f"{folder.path} is a run on a text: it has no automaton; choose a run on a language")
    if record["n_symbols"] != len(record["alphabet"]):
        raise UserError(f"{folder.path} reads its answer at an output token; only `regulargpt evaluate` asks it there")
    return load_reader(folder)


def load_reader(folder: RunFolder) -> nn.Module:
    """The trained model of a finished run, wherever it reads its answer."""
    record = folder.load_model_config()
    # What stands in the file is checked as a config is: it may come from another machine.
    options = MODELS.options(record["model"], "model")
    model = models.build(options, record["n_symbols"], record["n_outputs"], torch.Generator().manual_seed(0))
    model.load_state_dict(folder.load_weights())
    return model.eval()
