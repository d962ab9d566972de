"""The models, one file each, behind one call: `model(words, readout="last" | "all") -> logits`."""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module
from typing import TYPE_CHECKING

from languages.errors import UserError, nearest, one_of

if TYPE_CHECKING:
    import torch
    from torch import nn

    from regulargpt.config import ModelConfig

MODELS: dict[str, tuple[str, str]] = {
    "regulargpt": (
        "regulargpt.models.regulargpt:RegularGPT",
        "one weight-shared block, adaptive depth log_C T, sliding-dilated attention over chunks of C",
    ),
    "rnn": ("regulargpt.models.rnn:Rnn", "Elman RNN with ReLU, read out through a ReLU"),
    "lstm": ("regulargpt.models.lstm:Lstm", "LSTM"),
    "gru": ("regulargpt.models.gru:Gru", "GRU"),
    "transformer": ("regulargpt.models.transformer:Transformer", "pre- or post-LN, causal or not, any encoding"),
    "linear-rnn": ("regulargpt.models.linear_rnn:LinearRnn", "x_k = A x_{k-1} + B u_k by a parallel scan"),
}


def model_class(name: str) -> type[nn.Module]:
    """The class of the model with this name; UserError with the nearest name if there is none."""
    if name not in MODELS:
        raise UserError(f"unknown model '{name}';{nearest(name, MODELS) or ' choose ' + one_of(MODELS)}")
    module, _, attribute = MODELS[name][0].partition(":")
    return getattr(import_module(module), attribute)


def build(config: ModelConfig, n_symbols: int, n_outputs: int, generator: torch.Generator) -> nn.Module:
    """The model of a config, its weights drawn from `generator`. A model takes the config fields it knows.

    >>> import torch
    >>> from regulargpt.config import ModelConfig
    >>> build(ModelConfig(name="gru", d_model=8), 2, 2, torch.Generator().manual_seed(0))(torch.tensor([[0, 1]])).shape
    torch.Size([1, 2])
    """
    cls = model_class(config.name)
    known = inspect.signature(cls).parameters
    fields = {name: value for name, value in dataclasses.asdict(config).items() if name in known and name != "name"}
    return cls(n_symbols, n_outputs, **fields, generator=generator)
