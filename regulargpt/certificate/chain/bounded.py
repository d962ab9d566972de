"""The recurrent networks that have bounds: layers of torch.nn, and one block of sLSTM without a convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regulargpt.certificate.chain.intervals import Interval, linear
from regulargpt.finite.chain import tensors
from regulargpt.models.mixing.layers import EPS, RmsNorm, Swiglu
from regulargpt.models.mixing.model import Block
from regulargpt.models.recurrent import TorchRecurrent
from regulargpt.models.xlstm.mlstm import HeadNorm
from regulargpt.models.xlstm.model import Xlstm
from regulargpt.models.xlstm.slstm import SlstmMixer

Bounded = TorchRecurrent | Xlstm


def is_bounded(model: nn.Module) -> TypeGuard[Bounded]:
    """Whether all states of a box can be followed in it.

    >>> from regulargpt.models.xlstm.model import Slstm
    >>> is_bounded(Slstm(2, 2, d_model=8, n_layers=1)), is_bounded(Slstm(2, 2, d_model=8, n_layers=2))
    (True, False)
    """
    if isinstance(model, Xlstm):
        mixers = [block.mixer for block in model.blocks]
        return len(mixers) == 1 and isinstance(mixers[0], SlstmMixer) and mixers[0].conv is None
    return isinstance(model, TorchRecurrent)


def block_of(model: Xlstm) -> Block:
    """Its only one."""
    block = model.blocks[0]
    assert isinstance(block, Block)
    return block


def mixer_of(model: Xlstm) -> SlstmMixer:
    """That of its only block."""
    mixer = block_of(model).mixer
    assert isinstance(mixer, SlstmMixer), "whoever asks has asked `is_bounded`"
    return mixer


def shape_of(model: Bounded) -> tuple[int, int, int]:
    """A state's parts, layers, and numbers of each."""
    if isinstance(model, Xlstm):
        return 3, 1, len(mixer_of(model).head_norm.weight)
    return model.parts, len(model.layers), model.d_model


def start_of(model: Bounded, n: int) -> Float[Tensor, "n d_state"]:
    """The state before the first symbol."""
    if isinstance(model, Xlstm):
        return torch.cat(tensors(mixer_of(model).start(n)), 1)
    return model.start(n)


def sums_of(model: Bounded) -> list[Sequence[Tensor]]:
    """For each layer what its sums multiply and add: what it reads, h, and two biases; a row for each gate and unit."""
    if isinstance(model, Xlstm):
        mixer = mixer_of(model)
        return [(mixer.w.weight, mixer.whole(), mixer.w.bias, torch.zeros_like(mixer.w.bias))]
    return [*model.rnn.all_weights]


def rows_of(model: Bounded) -> list[Sequence[Tensor]]:
    """The parameters of each layer, with a row for each gate and unit."""
    if isinstance(model, Xlstm):
        mixer = mixer_of(model)
        return [(mixer.w.weight, mixer.w.bias, mixer.r)]
    return [*model.rnn.all_weights]


def read_by(model: Bounded, symbols: Int[Tensor, "n"]) -> Float[Tensor, "n width"]:
    """What the first layer reads of symbols."""
    if isinstance(model, Xlstm):
        return block_of(model).norm(model.embedding(symbols))
    return model.embed(symbols[:, None])[:, 0]


def answer_margins(
    model: Bounded, states: Interval, answers: Int[Tensor, "n"], symbols: Int[Tensor, "n"]
) -> Float[Tensor, "n n_outputs"]:
    """By how much the logit of an answer is above each other's at least, all over boxes to which symbols led; its own
    place has 0."""
    weight, bias = model.readout.weight, model.readout.bias
    apart, offset = weight[answers][:, None] - weight, bias[answers][:, None] - bias  # (n, n_outputs, d_model) each
    if isinstance(model, Xlstm):
        read, size = answered_by(model, states, symbols)
        assert isinstance(model.norm, RmsNorm)
        apart = apart * model.norm.weight  # (n, n_outputs, d_model)
    else:
        read, size = Interval(model.output(states.lower), model.output(states.upper)).relu(), None
    centre = (apart @ read.centre[..., None])[..., 0]
    least = centre - (apart.abs() @ read.radius[..., None])[..., 0]  # (n, n_outputs)
    if size is not None:
        least = torch.where(least < 0, least / size.lower, least / size.upper)
    return least + offset


def answered_by(model: Xlstm, states: Interval, symbols: Int[Tensor, "n"]) -> tuple[Interval, Interval]:
    """What the last norm reads (n, d_model), and by what it divides that (n, 1)."""
    mixer, block, d = mixer_of(model), block_of(model), shape_of(model)[2]
    x = normed(Interval(states.lower[:, :d], states.upper[:, :d]), mixer.head_norm, mixer.r.shape[1])
    embedded = model.embedding(symbols.to(model.embedding.weight.device)).to(states.lower)
    x = x + Interval(embedded, embedded)
    if isinstance(block.mlp, Swiglu) and isinstance(block.mlp_norm, RmsNorm):
        size = root_mean_square(x)
        read = linear(x.over(size), block.mlp_norm.weight * block.mlp.up.weight)
        gate, value = (Interval(*both) for both in zip(read.lower.chunk(2, 1), read.upper.chunk(2, 1), strict=True))
        x = x + linear(gate * gate.sigmoid() * value, block.mlp.down.weight)
    return x, root_mean_square(x)


def normed(x: Interval, norm: HeadNorm, size: int) -> Interval:
    """The norm of each head of so many numbers: a number moves away from the mean, of which it is a part, by less."""
    centre, radius = (part.unflatten(1, (-1, size)) for part in (x.centre, x.radius))  # (n, H, P) each
    mean = radius.mean(-1, keepdim=True)
    centred = Interval.round(centre - centre.mean(-1, keepdim=True), radius * (1 - 2 / size) + mean)
    found = centred.over(root_mean_square(centred))
    return Interval.round(found.centre.flatten(1) * norm.weight, found.radius.flatten(1) * norm.weight.abs())


def root_mean_square(x: Interval) -> Interval:
    """sqrt(mean x^2 + eps) along the last axis."""
    centre, radius = x.centre.abs(), x.radius
    ends = ((part.square().mean(-1, keepdim=True) + EPS).sqrt() for part in ((centre - radius).relu(), centre + radius))
    return Interval(*ends)
