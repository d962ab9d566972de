"""The attention patterns of a model, handed over some queries at a time: memory is linear in the length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

from regulargpt.data.base import Words
from regulargpt.encodings.base import Encoding
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.models.base import device_of
from regulargpt.models.transformer import Attention, Transformer
from regulargpt.models.transformer.attention import Pass, pieces
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.models.transformer.piece import Piece
from regulargpt.objectives.answers import to_tensor

# Told a layer and a piece of its pattern.
Hearing = Callable[[int, Piece], None]


@torch.no_grad()
def listen(model: Attentive, words: Words, hear: Hearing) -> None:
    """Read the words; each layer's pattern is handed over piece by piece, just before the layer attends.

    A piece is let go before the next piece is made. The model computes as it would without a listener.
    """
    at_once, device = words_at_once(model.eval(), words.shape[1]), device_of(model)
    with listening(model, hear):
        for at in range(0, len(words), at_once):
            model(to_tensor(words[at : at + at_once], device))


@torch.no_grad()
def rows_at(
    model: Transformer, word: Words, at: Sequence[int]
) -> tuple[Float[Tensor, "n_layers n_heads queries keys"], Float[Tensor, "queries n_outputs"]]:
    """What the positions `at` of a word (1, length) attend to in every head, and the logits there, on the CPU.

    No more of the patterns than these rows is made, so that memory is linear in the length.

    >>> model = Transformer(2, 3, d_model=4, n_heads=2, d_ff=4, n_layers=1, encoding="none")
    >>> import numpy as np
    >>> rows, logits = rows_at(model, np.zeros((1, 4), dtype=int), [1, 3])
    >>> rows[0, 0], logits.shape
    (tensor([[0.5000, 0.5000, 0.0000, 0.0000],
            [0.2500, 0.2500, 0.2500, 0.2500]]), torch.Size([2, 3]))
    """
    length, device = word.shape[1], device_of(model)
    patterns = torch.zeros(model.n_layers, model.encoding.n_heads, len(at), length, device=device)

    def hear(layer: int, whole: Piece) -> None:
        # In a causal model the queries of a piece are the last of its keys.
        ends = [m + 1 if whole.encoding.causal else length for m in at]
        where = [(slice(m, m + 1), slice(0, end)) for m, end in zip(at, ends, strict=True)]
        for i, (piece, end) in enumerate(zip(whole.cut(where), ends, strict=True)):
            patterns[layer, :, i, :end] = piece.pattern(piece.bias())[0, :, 0]  # (n_heads, keys)

    with listening_to_all(model.eval(), hear):
        logits = model(to_tensor(word, device), readout="all")
    return patterns.cpu(), logits[0].cpu()[list(at)]


@contextmanager
def listening(model: Attentive, hear: Hearing) -> Iterator[None]:
    """Hand over the pieces while this lasts."""

    def in_pieces(layer: int, whole: Piece) -> None:
        for piece in whole.cut(list(pieces(whole))):
            hear(layer, piece)

    with listening_to_all(model, in_pieces):
        yield


@contextmanager
def listening_to_all(model: Attentive, hear: Hearing) -> Iterator[None]:
    """Hand over all queries and keys of each layer, of which any part can be made, while this lasts."""

    def before(attn: Attention, inputs: tuple[Tensor, Encoding, Tensor, int, str, Pass]) -> None:
        x, encoding, n, layer, _, passing = inputs
        whole, _ = attn.turned(x, encoding, n, layer, "all", passing)
        hear(layer, whole)

    handles = [attn.register_forward_pre_hook(before) for attn in model.attentions]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
