"""Encodings of the registry for small models, whatever options they have, and one attention written out."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch
from torch import Tensor

from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import Positions
from regulargpt.encodings.options import EncodingOptions
from regulargpt.models.transformer import Attention, Transformer

D_MODEL, N_HEADS, SYMBOLS = 16, 2, 5


def options_of(name: str | dict[str, Any], train_len: int) -> EncodingOptions:
    """The options by default, told the length of training where they ask for one."""
    options = ENCODINGS.options(name, "encoding")
    asks = {field.name for field in dataclasses.fields(options)} & {"train_len"}
    return dataclasses.replace(options, **dict.fromkeys(asks, train_len))


def transformer(name: str | dict[str, Any], train_len: int = 64, **options) -> Transformer:
    """Two blocks in float64, with embeddings large enough for a wrong attention to be seen."""
    sizes = {"d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": 24, "n_layers": 2, "norm": "pre", "activation": "gelu"}
    generator = torch.Generator().manual_seed(3)
    encoding = options_of(name, train_len)
    model = Transformer(SYMBOLS, SYMBOLS, encoding=encoding, generator=generator, **(sizes | options)).double()
    with torch.no_grad():
        model.embedding.weight.mul_(20.0)
    return model.eval()


def words(batch: int, length: int, seed: int = 0) -> Tensor:
    """Random symbols."""
    return torch.randint(0, SYMBOLS, (batch, length), generator=torch.Generator().manual_seed(seed))


def visible(length: int, view: str) -> Tensor:
    """Who sees whom by the definitions of the papers, pair by pair: (queries, keys)."""
    name, _, number = view.partition(":")
    rules = {
        "full": lambda m, n: True,
        "bca": lambda m, n: m // (int(number or 2) // 2) - n // (int(number or 2) // 2) <= 1,
        "sliding": lambda m, n: m - n < int(number),
    }
    return torch.tensor([[n <= m and rules[name](m, n) for n in range(length)] for m in range(length)])


def attention_of(model: Transformer, layer: int) -> Attention:
    """The attention of a block."""
    found = model.blocks[layer].attn
    assert isinstance(found, Attention)
    return found


def attended(model: Transformer, layer: int, x: Tensor, seen: Tensor, n: Tensor | None = None) -> Tensor:
    """Attention over the whole pattern, the pairs that are not seen left out: x and the result (batch, length, d)."""
    attn = attention_of(model, layer)
    n = torch.arange(x.shape[1], dtype=torch.float64) if n is None else n
    hides = not torch.equal(seen, torch.ones_like(seen).tril())
    at = Positions(n, n, layer, model.encoding.prepare(x, layer), seen.sum(-1).double() if hides else None)
    q, k, v = (x @ w.T for w in attn.qkv.weight.split(D_MODEL))
    q, k, v = (y.unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for y in (q, k, v))  # (batch, n_heads, length, d_head)
    q, k = model.encoding.rotate(q, k, at)
    logits = model.encoding.score(q @ k.mT / math.sqrt(q.shape[-1]), q, k, at)
    bias = model.encoding.bias(q, k, at)
    logits = logits if bias is None else logits + bias
    mixed = torch.where(seen, logits, -math.inf).softmax(-1) @ v
    return mixed.transpose(1, 2).flatten(-2) @ attn.out.weight.T  # (batch, length, d_model)
