"""The models, one file each, behind one call: `model(words, readout="last" | "all") -> logits`."""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from languages.errors import UserError, nearest, one_of

if TYPE_CHECKING:
    import torch
    from torch import nn

    from regulargpt.config import ModelConfig


class Row(NamedTuple):
    """One line of the registry: where the class lives, what it is, who published it, which config fields it knows."""

    place: str
    summary: str
    source: str
    fields: tuple[str, ...]


RECURRENT = ("d_model", "n_layers")

MODELS = {
    "regulargpt": Row(
        "regulargpt:RegularGPT",
        "one weight-shared block, depth log_C T, sliding-dilated attention",
        "Chi et al. 2023",
        (
            *("chunk_size", "thickness", "d_model", "n_heads", "d_ff", "norm", "activation", "attention_bias"),
            *("embedding_std", "embedding_scale", "state_norm", "distinct_levels", "levels", "pad", "attention"),
        ),
    ),
    "rnn": Row("rnn:Rnn", "recurrent network with ReLU", "Elman 1990", RECURRENT),
    "lstm": Row("lstm:Lstm", "long short-term memory", "Hochreiter and Schmidhuber 1997", RECURRENT),
    "gru": Row("gru:Gru", "gated recurrent unit", "Cho et al. 2014", RECURRENT),
    "transformer": Row(
        "transformer:Transformer",
        "pre- or post-LN, causal or not, any encoding",
        "Vaswani et al. 2017",
        ("d_model", "n_heads", "d_ff", "n_layers", "norm", "activation", "dropout", "causal", "encoding"),
    ),
    "linear-rnn": Row(
        "linear_rnn:LinearRnn", "x_k = A x_{k-1} + B u_k by a parallel scan", "Orvieto et al. 2023", RECURRENT
    ),
}


def model_class(name: str) -> type[nn.Module]:
    """The class of the model with this name; UserError with the nearest name if there is none."""
    if name not in MODELS:
        raise UserError(f"unknown model '{name}';{nearest(name, MODELS) or ' choose ' + one_of(MODELS)}")
    module, _, attribute = MODELS[name].place.partition(":")
    return getattr(import_module(f"regulargpt.models.{module}"), attribute)


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
