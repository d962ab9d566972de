"""The recurrent networks that have bounds: layers of torch.nn, and one block of sLSTM without a convolution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regulargpt.certificate.chain.boxes import (
    CellBounds,
    GruBounds,
    LstmBounds,
    ReluBounds,
    Saturated,
    SlstmBounds,
    TanhBounds,
)
from regulargpt.certificate.chain.intervals import TensorInterval, linear
from regulargpt.certificate.chain.moves import PointMoves
from regulargpt.finite.chain import tensors
from regulargpt.models.lstm import Lstm
from regulargpt.models.mixing.layers import EPS, RmsNorm, Swiglu
from regulargpt.models.mixing.model import MixerBlock
from regulargpt.models.recurrent import TorchRecurrent
from regulargpt.models.rnn import Rnn
from regulargpt.models.xlstm.mlstm import HeadNorm
from regulargpt.models.xlstm.model import Xlstm
from regulargpt.models.xlstm.slstm import SlstmMixer


class BoxNetwork(ABC):
    """A recurrent network of which all states in a box can be followed, with the weights that it has then.

    A state has `shape` parts, layers, and numbers of each; `cell` bounds the cells.
    """

    shape: tuple[int, int, int]
    cell: type[CellBounds]

    @property
    @abstractmethod
    def sums(self) -> Sequence[Sequence[Tensor]]:
        """For each layer what its sums multiply and add: what it reads, h, two biases; a row for each gate and unit."""

    @property
    def rows(self) -> Sequence[Sequence[Tensor]]:
        """The parameters of each layer, with a row for each gate and unit."""
        return self.sums

    @abstractmethod
    def start(self, n: int) -> Float[Tensor, "n d_state"]:
        """The state before the first symbol."""

    @abstractmethod
    def read(self, symbols: Int[Tensor, "n"]) -> Float[Tensor, "n width"]:
        """What the first layer reads of symbols."""

    @abstractmethod
    def margins(
        self, states: TensorInterval, answers: Int[Tensor, "n"], symbols: Int[Tensor, "n"]
    ) -> Float[Tensor, "n n_outputs"]:
        """By how much the logit of an answer is above each other's at least, all over boxes to which symbols led; its
        own place has 0."""

    def answers(self, boxes: TensorInterval, moves: PointMoves) -> bool:
        """Whether each answer is the right one, wherever in its box the state is that it is read of."""
        states = TensorInterval(boxes.lower[moves.answered], boxes.upper[moves.answered])
        margins = self.margins(states, moves.answers, moves.by)
        margins.scatter_(1, moves.answers[:, None], torch.inf)
        return bool((margins > 0).all())

    def images(self, states: TensorInterval, symbols: Int[Tensor, "n"]) -> TensorInterval:
        """Where all states of boxes (n, d_state) come to by another symbol each."""
        x = self.read(symbols).to(states.lower)
        read, (parts, layers, d) = TensorInterval(x, x), self.shape
        ends = (end.unflatten(1, (parts, layers, d)).unbind(2) for end in (states.lower, states.upper))  # (n, parts, d)
        of_layers = zip(*ends, strict=True)  # a layer's two ends, each (n, parts, d_model)
        after = []
        for weights, (lower, upper) in zip(self.sums, of_layers, strict=True):
            moved = self.cell(weights, d).moved(read, TensorInterval(lower, upper).unbind(1))
            read = moved[0]
            after.append(moved)
        # h of all layers first, as the state has them.
        ends = ([getattr(layer[part], end) for part in range(parts) for layer in after] for end in ("lower", "upper"))
        return TensorInterval(*(torch.cat(state, 1) for state in ends))  # each (n, d_state)

    def saturated(
        self, states: Float[Tensor, "n d_state"], after: Float[Tensor, "n d_state"], symbols: Int[Tensor, "n"]
    ) -> list[Saturated]:
        """What can be so large that no gradient is left, in each layer of a step with gates.

        `after` are the states after the step: a layer reads what the layer below it has become.
        """
        x, layers = self.read(symbols).to(states), []
        for number, weights in enumerate(self.sums):
            layer = (each.unflatten(1, self.shape)[:, :, number] for each in (states, after))  # (n, parts, d_model)
            before, moved = (each.unbind(1) for each in layer)
            at, h = TensorInterval(x, x), TensorInterval(before[0], before[0])  # (n, d_model)
            summed = self.cell(weights, self.shape[2]).summed(at, h).lower.unbind(1)
            layers.append(self.cell.saturated(summed, before))
            x = moved[0]
        return [layer for layer in layers if layer is not None]


class TorchBoxes(BoxNetwork):
    """That of layers of torch.nn."""

    def __init__(self, model: TorchRecurrent):
        self.model, self.shape = model, (model.parts, len(model.layers), model.d_model)
        if isinstance(model, Rnn):
            self.cell = ReluBounds if model.rnn.nonlinearity == "relu" else TanhBounds
        else:
            self.cell = LstmBounds if isinstance(model, Lstm) else GruBounds

    @property
    def sums(self) -> Sequence[Sequence[Tensor]]:
        return [*self.model.rnn.all_weights]

    def start(self, n: int) -> Float[Tensor, "n d_state"]:
        return self.model.start(n)

    def read(self, symbols: Int[Tensor, "n"]) -> Float[Tensor, "n width"]:
        return self.model.embed(symbols[:, None])[:, 0]

    def margins(
        self, states: TensorInterval, answers: Int[Tensor, "n"], symbols: Int[Tensor, "n"]
    ) -> Float[Tensor, "n n_outputs"]:
        apart, offset = between(self.model.readout, answers)
        read = TensorInterval(self.model.output(states.lower), self.model.output(states.upper)).relu()
        return least(apart, read) + offset


class SlstmBoxes(BoxNetwork):
    """That of a block of sLSTM without a convolution."""

    cell = SlstmBounds

    def __init__(self, model: Xlstm, block: MixerBlock, mixer: SlstmMixer):
        self.model, self.block, self.mixer = model, block, mixer
        self.shape = 3, 1, len(mixer.head_norm.weight)

    @property
    def sums(self) -> Sequence[Sequence[Tensor]]:
        w = self.mixer.w
        return [(w.weight, self.mixer.whole(), w.bias, torch.zeros_like(w.bias))]

    @property
    def rows(self) -> Sequence[Sequence[Tensor]]:
        return [(self.mixer.w.weight, self.mixer.w.bias, self.mixer.r)]

    def start(self, n: int) -> Float[Tensor, "n d_state"]:
        return torch.cat(tensors(self.mixer.start(n)), 1)

    def read(self, symbols: Int[Tensor, "n"]) -> Float[Tensor, "n width"]:
        return self.block.norm(self.model.embedding(symbols))

    def margins(
        self, states: TensorInterval, answers: Int[Tensor, "n"], symbols: Int[Tensor, "n"]
    ) -> Float[Tensor, "n n_outputs"]:
        apart, offset = between(self.model.readout, answers)
        assert isinstance(self.model.norm, RmsNorm)
        read = self.answered(states, symbols)
        size, margin = root_mean_square(read), least(apart * self.model.norm.weight, read)
        return torch.where(margin < 0, margin / size.lower, margin / size.upper) + offset

    def answered(self, states: TensorInterval, symbols: Int[Tensor, "n"]) -> TensorInterval:
        """What the last norm reads (n, d_model)."""
        mixer, block, d = self.mixer, self.block, self.shape[2]
        x = normed(TensorInterval(states.lower[:, :d], states.upper[:, :d]), mixer.head_norm, mixer.r.shape[1])
        embedding = self.model.embedding
        embedded = embedding(symbols.to(embedding.weight.device)).to(states.lower)
        x = x + TensorInterval(embedded, embedded)
        if isinstance(block.mlp, Swiglu) and isinstance(block.mlp_norm, RmsNorm):
            read = linear(x.over(root_mean_square(x)), block.mlp_norm.weight * block.mlp.up.weight)
            gate, value = (
                TensorInterval(*both) for both in zip(read.lower.chunk(2, 1), read.upper.chunk(2, 1), strict=True)
            )
            x = x + linear(gate * gate.sigmoid() * value, block.mlp.down.weight)
        return x


def box_network(model: nn.Module) -> BoxNetwork | None:
    """The network with which all states of a box can be followed; None where they cannot.

    >>> from regulargpt.models.xlstm.model import Slstm
    >>> [box_network(Slstm(2, 2, d_model=8, n_layers=n)) is not None for n in (1, 2)]
    [True, False]
    """
    if isinstance(model, TorchRecurrent):
        return TorchBoxes(model)
    if isinstance(model, Xlstm) and len(model.blocks) == 1:
        block = model.blocks[0]
        if isinstance(block, MixerBlock) and isinstance(block.mixer, SlstmMixer) and block.mixer.conv is None:
            return SlstmBoxes(model, block, block.mixer)
    return None


def between(readout: nn.Linear, answers: Int[Tensor, "n"]) -> tuple[Float[Tensor, "n n_outputs d_model"], Tensor]:
    """Weights and biases of the differences between an answer's logit and each other's."""
    weight, bias = readout.weight, readout.bias
    return weight[answers][:, None] - weight, bias[answers][:, None] - bias


def least(weights: Float[Tensor, "n m d_model"], read: TensorInterval) -> Float[Tensor, "n m"]:
    """The least that sums with these weights come to over boxes (n, d_model)."""
    return (weights @ read.centre[..., None])[..., 0] - (weights.abs() @ read.radius[..., None])[..., 0]


def normed(x: TensorInterval, norm: HeadNorm, size: int) -> TensorInterval:
    """The norm of each head of so many numbers: a number moves away from the mean, of which it is a part, by less."""
    centre, radius = (part.unflatten(1, (-1, size)) for part in (x.centre, x.radius))  # (n, H, P) each
    mean = radius.mean(-1, keepdim=True)
    centred = TensorInterval.round(centre - centre.mean(-1, keepdim=True), radius * (1 - 2 / size) + mean)
    scaled = centred.over(root_mean_square(centred))
    return TensorInterval.round(scaled.centre.flatten(1) * norm.weight, scaled.radius.flatten(1) * norm.weight.abs())


def root_mean_square(x: TensorInterval) -> TensorInterval:
    """sqrt(mean x^2 + eps) along the last axis."""
    centre, radius = x.centre.abs(), x.radius
    ends = ((part.square().mean(-1, keepdim=True) + EPS).sqrt() for part in ((centre - radius).relu(), centre + radius))
    return TensorInterval(*ends)
