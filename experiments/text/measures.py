"""Measures of trained runs beside the loss, kept in their folders: how far back a prediction looks, and how sharply.

They need torch, which is imported where they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from experiments.text.results import Interval, Unknown, of_mean
from regulargpt import data
from regulargpt.config.schema import RunConfig
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regulargpt.models.transformer.views import View

SHARE, RESOLUTION = "share of the gradient within L", "attention resolution"
# The share that an empirical receptive field holds.
HELD = 0.99
# The length that receptive fields are measured at, in training lengths, and of how many segments.
REACH, SEGMENTS = 4, 48


def share_of_gradient(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How much of the gradient of a prediction lies on as many recent symbols as a training segment has.

    The empirical receptive field is within the training length where it is above 0.99.
    """
    from regulargpt.analysis.receptive_field import gradient_norms
    from regulargpt.runs.load import load_reader

    config = RunConfig.parse(folder.config_text)
    length = REACH * config.data.train_len
    words = data.build(config.data).test(config.seed, length, SEGMENTS)[:, :-1]
    norms = gradient_norms(load_reader(folder), words)  # (segments, length)
    total = norms.sum(1)
    whole = (total > 0) & np.isfinite(total)
    if whole.sum() < 2:
        raise Unknown("the prediction depends on no symbol")
    return {length: of_mean(norms[whole, -config.data.train_len :].sum(1) / total[whole])}


def attention_resolution(folder: RunFolder, attention: str) -> Mapping[int, Interval]:
    """How well mean attention logits tell distances apart at L and 2 L: a mean over layers and heads, text by text."""
    import torch

    from regulargpt.analysis.resolution import mean_by_distance, resolution
    from regulargpt.evaluation.by_length import seen_through
    from regulargpt.runs.load import load_reader

    config, model = RunConfig.parse(folder.config_text), load_reader(folder)
    text, train_len, found = data.build(config.data), config.data.train_len, {}
    for length in (train_len, 2 * train_len):
        words = torch.as_tensor(text.test(config.seed, length, SEGMENTS)[:, :-1].astype(np.int64))
        with torch.no_grad(), seen_through(model, attention, train_len):
            heads = [resolution(mean_by_distance(logits, seen)) for logits, seen in logits_of(model, words)]
        found[length] = of_mean(np.stack(heads).mean((0, 2)))  # over (layers, texts, n_heads)
    return found


def logits_of(model: nn.Module, words: Int[Tensor, "texts length"]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The logits of each layer, bias and all, (texts, n_heads, length, length), and which of them are seen."""
    from regulargpt.models.hooks import hooks
    from regulargpt.models.transformer.attention import Attention
    from regulargpt.models.transformer.views import hidden

    heard: list[tuple[np.ndarray, np.ndarray]] = []

    def listening(softmax: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def hear(logits: Tensor, bias: Tensor | None, view: View, begin: int) -> Tensor:
            whole = logits if bias is None else logits + bias
            seen = ~hidden(view, whole.shape[-2], whole.shape[-1], begin, whole.device)
            heard.append((whole.double().numpy(), seen.numpy()))
            return softmax(logits, bias, view, begin)

        return hear

    layers = [module for module in model.modules() if isinstance(module, Attention)]
    for layer in layers:
        layer.softmax = listening(layer.softmax)
    try:
        # Somebody listens, so that the whole pattern is made.
        with hooks(model, [(lambda name: name.endswith("hook_pattern"), lambda value, hook: None)]):
            model(words, readout="all")
    finally:
        for layer in layers:
            del layer.softmax
    yield from heard
