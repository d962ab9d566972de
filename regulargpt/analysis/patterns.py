"""The attention patterns of a model, handed over some queries at a time: memory is linear in the length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from regulargpt.data.base import Words
from regulargpt.encodings.base import Encoding
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.models.transformer import Attention
from regulargpt.models.transformer.attention import Pass, pieces
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.models.transformer.piece import Piece
from regulargpt.objectives.answers import to_tensor

# Told a layer and a piece of its pattern.
Hearing = Callable[[int, Piece], None]


@torch.no_grad()
def listen(model: Attentive, words: Words, hear: Hearing) -> None:
    """Read the words; each layer's pattern is handed over piece by piece, just before the layer attends.

    A piece is let go before the next one is made. The model computes as it would without a listener.
    """
    at_once = words_at_once(model.eval(), words.shape[1])
    with listening(model, hear):
        for at in range(0, len(words), at_once):
            model(to_tensor(words[at : at + at_once], torch.device("cpu")))


@contextmanager
def listening(model: Attentive, hear: Hearing) -> Iterator[None]:
    """Hand over the pieces while this lasts."""

    def before(attn: Attention, inputs: tuple[Tensor, Encoding, Tensor, int, str, Pass]) -> None:
        x, encoding, n, layer, _, passing = inputs
        whole, _ = attn.turned(x, encoding, n, layer, "all", passing)
        for piece in whole.cut(list(pieces(whole))):
            hear(layer, piece)

    handles = [attn.register_forward_pre_hook(before) for attn in model.attentions]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
