"""One model of each kind and of each encoding, as it is typed: what every model owes is tested on all of them."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args, get_origin

import torch
from torch import Tensor

from regulargpt import models
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.models.mixing.options import HeadsOptions, MixingOptions
from regulargpt.models.transformer import Transformer
from regulargpt.options import ConfigError, hints, shown

SYMBOLS, OUTPUTS = 3, 4
SMALL: dict[str, Any] = {"d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 2}
MOST = 8
"""The largest end of a range that is tried."""
STACKS = ["stack-rnn:controller=tanh,stacks=2", "stack-rnn:controller=lstm,empty=-1"]
MIXING = [name for name, row in MODELS.items() if issubclass(row.options, MixingOptions)]
RECURRENT = ["rnn", "rnn:activation=tanh", "lstm", "gru", "linear-rnn", *STACKS, *MIXING]
TREES = [
    *("ldru", "ldru:operator=sum", "regulargpt", "regulargpt:gates=true,chunk_size=3", "regulargpt:attention=full"),
    *("regulargpt:chunk_size=3,thickness=2,pad=masked", "regulargpt:norm=post,activation=relu,levels=3"),
]
LOOPED = ["looped", "looped:loops=2,norm=post"]
DECODERS = [
    "decoder-only:n_kv_heads=1,qk_norm=true,window=3,window_from=1",
    "decoder-only:norm=layer,gated=false,parallel=true,qkv_bias=true,mlp_bias=true,encoding=t5",
]
OF_TRANSFORMERS = [*LOOPED, *DECODERS]
CAUSAL = [
    "transformer:norm=post,activation=relu",
    *(f"transformer:encoding={name}" for name in ENCODINGS),
    *OF_TRANSFORMERS,
]
BIDIRECTIONAL = [name for name in ENCODINGS if not ENCODINGS[name].options.causal_only]
BOTH_WAYS = [f"transformer:causal=false,encoding={name}" for name in BIDIRECTIONAL]
AT_ONCE = [
    "tape-rnn:tapes=2",
    *(f"encoder-decoder:encoding={name}" for name in ("t5", "rotary", "kerple_log", "transformer_xl")),
]
"""They answer at the last position alone."""
EVERY = [*RECURRENT, *TREES, *CAUSAL, *BOTH_WAYS]
"""They answer at every position."""
CASES = [*EVERY, *AT_ONCE]
KINDS = [*RECURRENT, *TREES, *CAUSAL[:2], *BOTH_WAYS[:1], *AT_ONCE[:2]]
"""One encoding each."""


def values(name: str, option: str) -> list[Any]:
    """What is tried of an option: all that may be chosen, or the ends of a range of whole numbers."""
    field = MODELS[name].options.__dataclass_fields__[option]
    kind = hints(MODELS[name].options)[option]
    ends = {field.metadata["least"], field.metadata["most"]} if kind is int else set()
    return [
        *(get_args(kind) if get_origin(kind) is Literal else ()),
        *((True, False) if kind is bool else ()),
        *sorted(end for end in ends if end is not None and end <= MOST),
    ]


def variants(name: str) -> list[str]:
    """A network of mixers, and those with one of its own options changed."""
    own = [key for key in hints(MODELS[name].options) if key not in hints(HeadsOptions)]
    usual = MODELS.options(name, "model")
    changed = [(key, value) for key in own for value in values(name, key) if value != getattr(usual, key)]
    return [name, *(written for key, value in changed if possible(written := f"{name}:{key}={shown(value)}"))]


def possible(written: str) -> bool:
    """Whether these options go together."""
    try:
        MODELS.options(written, "model")
    except ConfigError:
        return False
    return True


def fresh(written: str, seed: int = 0, **changes: Any) -> Any:
    """A model in float64, as it starts."""
    options = MODELS.options(written, "model")
    sizes = {key: value for key, value in SMALL.items() if key in hints(type(options))}
    options = dataclasses.replace(options, **(sizes | changes))
    return models.build(options, SYMBOLS, OUTPUTS, torch.Generator().manual_seed(seed)).double().eval()


def built(written: str, seed: int = 0, **changes: Any) -> Any:
    """A model in which no parameter hides at 0 or 1, and embeddings are large enough for wrong attention to be seen."""
    model, generator = fresh(written, seed, **changes), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        if isinstance(model, Transformer):
            model.embedding.weight.mul_(20.0)
        for p in model.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
        model.project()
    return model


def words_of(batch: int, length: int, seed: int = 0) -> Tensor:
    """Random words."""
    return torch.randint(0, SYMBOLS, (batch, length), generator=torch.Generator().manual_seed(seed))


def slopes(model: Any, outputs: Tensor, *also: Tensor) -> list[Tensor]:
    """The outputs, and the gradients of a mixture of them by the parameters and by what else is named."""
    mixture = torch.linspace(-1, 1, outputs.numel(), dtype=outputs.dtype).reshape(outputs.shape)
    of = [*model.parameters(), *also]
    return [outputs.detach(), *torch.autograd.grad((outputs * mixture).sum(), of, materialize_grads=True)]


def assert_equal(found: list[Tensor], expected: list[Tensor], tolerance: float = 1e-11) -> None:
    """Tensor by tensor."""
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)
