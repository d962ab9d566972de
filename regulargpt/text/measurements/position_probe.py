"""How well positions can be read from the layers of a frozen random Transformer without encodings (section 2.2).

A two-layer classifier with a ReLU reads the layer-normed residual stream behind each layer and names the position. The
inputs are fresh vectors N(0, s^2), so that nothing but the causal mask tells positions apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from languages.errors import UserError
from regulargpt.models.layers import linear
from regulargpt.text.measurements.position_variance import (
    AttentionMaps,
    RandomModel,
    draw_layer,
    generator,
    layer_norm,
    normal,
    split,
)
from regulargpt.training.optimisers import Adam

Progress = Callable[[int, int], None]
Streams = Callable[[str, int], Iterator[Tensor]]
"""What the classifiers read of a batch, by its purpose and number."""

LR = 1e-3
TEST_BATCHES = 8


@dataclass(frozen=True)
class ProbeSetting:
    """The frozen model, and how its classifiers are trained."""

    model: RandomModel
    updates: int = 5000
    batch_size: int = 32

    def __post_init__(self) -> None:
        if min(self.updates, self.batch_size) < 1:
            raise UserError("updates and batch_size are at least 1")


@dataclass(frozen=True)
class LayerError:
    """The mean absolute error of the position behind a layer; layer 0 is the input, which has no position in it.

    The thesis does not say which guess it takes: `argmax` is the most likely position, `mean` the expected position.
    """

    layer: int
    argmax: float
    mean: float

    def as_json(self) -> dict[str, Any]:
        """Its numbers."""
        return {"layer": self.layer, "mae_argmax": self.argmax, "mae_mean": self.mean}


@dataclass(frozen=True)
class FrozenBlock:
    """A frozen layer: attention, then an MLP of four times the width, each behind a layer norm, all N(0, s^2)."""

    attention: AttentionMaps
    up: Float[Tensor, "d_ff d"]
    down: Float[Tensor, "d d_ff"]

    def __call__(self, x: Float[Tensor, "batch length d"], n_heads: int) -> Float[Tensor, "batch length d"]:
        """The residual stream behind it."""
        e = layer_norm(x)
        q, k, v = (split(e @ weight.T, n_heads) for weight in self.attention[:3])
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (batch, n_heads, length, d_head)
        x = x + mixed.transpose(1, 2).flatten(-2) @ self.attention.o.T  # (batch, length, d)
        return x + F.gelu(layer_norm(x) @ self.up.T) @ self.down.T


def draw_blocks(setting: RandomModel, chance: torch.Generator) -> list[FrozenBlock]:
    """All layers at random."""
    d = setting.d_model
    return [
        FrozenBlock(
            draw_layer(setting, chance),
            normal((4 * d, d), setting, chance),
            normal((d, 4 * d), setting, chance),
        )
        for _ in range(setting.n_layers)
    ]


def streams(x: Float[Tensor, "batch length d"], blocks: Sequence[FrozenBlock], n_heads: int) -> Iterator[Tensor]:
    """What the classifiers read, each (batch, length, d): the input, then the stream behind each layer."""
    yield layer_norm(x)
    for block in blocks:
        x = block(x, n_heads)
        yield layer_norm(x)


def classifier(setting: RandomModel, chance: torch.Generator) -> nn.Module:
    """Linear, ReLU, linear; as many outputs as there are positions."""
    d = setting.d_model
    return nn.Sequential(linear(d, d, chance), nn.ReLU(), linear(d, setting.length, chance))


def middle_error(length: int) -> float:
    """The error of always naming the middle: about a quarter of the length.

    >>> middle_error(512), middle_error(3)
    (128.0, 0.6666666666666666)
    """
    return sum(abs(m - (length + 1) / 2) for m in range(1, length + 1)) / length


def probe_positions(
    setting: ProbeSetting, seed: int, device: torch.device | None = None, progress: Progress = lambda done, count: None
) -> list[LayerError]:
    """Train a classifier a layer, all on the same fresh inputs, and measure it on others.

    >>> tiny = ProbeSetting(RandomModel(d_model=8, n_heads=2, length=4, n_layers=1), updates=2, batch_size=2)
    >>> [error.layer for error in probe_positions(tiny, seed=0)]
    [0, 1]
    """
    device = device or torch.device("cpu")
    # Weights are drawn on the CPU, so that every device has the same.
    blocks = [moved(block, device) for block in draw_blocks(setting.model, generator(seed, "probed model"))]

    def drawn(purpose: str, step: int) -> Iterator[Tensor]:
        return streams(inputs(setting, generator(seed, purpose, step, device)), blocks, setting.model.n_heads)

    return probe_streams(setting, seed, drawn, device, progress)


def probe_streams(
    setting: ProbeSetting,
    seed: int,
    drawn: Streams,
    device: torch.device,
    progress: Progress = lambda done, count: None,
) -> list[LayerError]:
    """The same of any model: `drawn` gives the streams of a batch, the input first, for "probe inputs" or "probe test".

    Each is (batch, length, d_model), behind a layer norm.
    """
    model = setting.model
    probes = [classifier(model, generator(seed, "probe", at)).to(device) for at in range(model.n_layers + 1)]
    optimisers = [Adam(probe.parameters(), lr=LR) for probe in probes]
    positions = torch.arange(model.length, device=device).repeat(setting.batch_size)
    for step in range(setting.updates):
        # One layer after the other: only one table of logits is alive at a time.
        for stream, probe, optimiser in zip(drawn("probe inputs", step), probes, optimisers, strict=True):
            loss = F.cross_entropy(probe(stream).flatten(0, 1), positions)  # (batch * length, positions)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        progress(step + 1, setting.updates)
    return errors(model.length, probes, drawn, device)


def moved(block: FrozenBlock, device: torch.device) -> FrozenBlock:
    """The block on a device."""
    return FrozenBlock(
        AttentionMaps(*(w.to(device) for w in block.attention)), block.up.to(device), block.down.to(device)
    )


def inputs(setting: ProbeSetting, chance: torch.Generator) -> Float[Tensor, "batch length d"]:
    """Fresh vectors N(0, s^2)."""
    return normal((setting.batch_size, setting.model.length, setting.model.d_model), setting.model, chance)


@torch.no_grad()
def errors(length: int, probes: Sequence[nn.Module], drawn: Streams, device: torch.device) -> list[LayerError]:
    """The mean absolute errors on inputs of their own."""
    totals = torch.zeros(len(probes), 2, dtype=torch.float64)
    positions = torch.arange(1, length + 1, device=device, dtype=torch.float32)
    for batch in range(TEST_BATCHES):
        for at, stream in enumerate(drawn("probe test", batch)):
            logits = probes[at](stream).float()  # (batch, length, positions)
            guesses = (positions[logits.argmax(-1)], logits.softmax(-1) @ positions)
            totals[at] += torch.stack([(guess - positions).abs().mean() for guess in guesses]).double().cpu()
    means = (totals / TEST_BATCHES).tolist()
    return [LayerError(layer, argmax, mean) for layer, (argmax, mean) in enumerate(means)]
