"""Position in the variance of a causal Transformer without encodings: Lemmas 2.1-2.4 of the thesis, simulated.

The Transformer of section 2.3: inputs x_m ~ N(0, s^2 I) in d dimensions, a layer norm without parameters, H heads,
all weights N(0, s^2), the residual x + o; the MLP is left out. Positions m count from 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor
from torch.nn import functional as F

from languages.errors import UserError
from languages.randomness import rng

Attention = Literal["causal", "uniform", "bidirectional"]
"""As it is; with every weight of a row equal (Property 2.1); without the mask."""

MOST_LOGITS = 1 << 27  # of one sequence in one layer: 512 MiB of float32


@dataclass(frozen=True)
class RandomModel:
    """A random model: its sizes, the standard deviation s of inputs and weights, and how many models are drawn.

    Raises UserError for sizes that do not fit each other or a logit matrix beyond memory.
    """

    d_model: int = 768
    n_heads: int = 12
    length: int = 512
    sigma: float = 0.02
    n_layers: int = 1
    draws: int = 12
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        if min(self.d_model, self.n_heads, self.length, self.n_layers, self.draws) < 1 or not self.sigma > 0:
            raise UserError("the sizes of a random model, its draws and its sigma are positive")
        if self.d_model % self.n_heads:
            raise UserError(f"n_heads = {self.n_heads} does not divide d_model = {self.d_model}; choose one that does")
        if self.n_heads * self.length**2 > MOST_LOGITS:
            raise UserError(f"{self.n_heads} heads and length {self.length}: too many logits; choose a shorter length")


@dataclass(frozen=True)
class Lemmas:
    """What the lemmas predict for a setting; the logits' variance as it is, and as Lemma 2.2 prints it.

    Lemma 2.2 takes E[W_q W_q'] for (d/H) s^2 I. The rows of W_q have d entries, so it is d s^2 I, and the trace over
    d/H rows is (d/H) (d s^2)^2 = d^3 s^4 / H: the printed d^3 s^4 / H^2 is short by the factor H.

    >>> lemmas = Lemmas.from_setting(RandomModel())
    >>> [f"{value:.4f}" for value in (lemmas.vector, lemmas.logit, lemmas.logit_printed, lemmas.scaled)]
    ['0.3072', '6.0398', '0.5033', '0.0944']
    """

    vector: float
    logit: float
    logit_printed: float
    scaled: float
    scaled_printed: float
    output: Float[ndarray, "length"]

    @classmethod
    def from_setting(cls, setting: RandomModel) -> Lemmas:
        """Lemma 2.1, 2.2 (right and printed, unscaled and scaled) and 2.3, whose output falls as 1/m."""
        d, H, s = setting.d_model, setting.n_heads, setting.sigma
        logit, scaled = d**3 * s**4 / H, d**2 * s**4
        return cls(d * s**2, logit, logit / H, scaled, scaled / H, scaled / np.arange(1, setting.length + 1))


@dataclass(frozen=True)
class Variances:
    """What was simulated: variances of the value vectors, of the logits and of the outputs o_m of each layer.

    `cumulative` is the share of the last query's attention in layer 1 on the keys up to each position, a straight line
    under Property 2.1.
    """

    vector: float
    logit: float
    scaled: float
    output: Float[ndarray, "layers length"]
    cumulative: Float[ndarray, "length"]


class AttentionMaps(NamedTuple):
    """The four maps of an attention layer, as (out, in)."""

    q: Float[Tensor, "d d"]
    k: Float[Tensor, "d d"]
    v: Float[Tensor, "d d"]
    o: Float[Tensor, "d d"]


def normal(shape: Sequence[int], setting: RandomModel, generator: torch.Generator) -> Tensor:
    """N(0, s^2), on the generator's device."""
    device = generator.device
    return torch.randn(*shape, generator=generator, dtype=setting.dtype, device=device) * setting.sigma


def draw_layer(setting: RandomModel, generator: torch.Generator) -> AttentionMaps:
    """A layer at random."""
    d = setting.d_model
    return AttentionMaps(*(normal((d, d), setting, generator) for _ in range(4)))


def layer_norm(x: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows d"]:
    """Mean 0 and variance 1 along the last axis, without parameters.

    Without the usual eps of 1e-5 either: at s = 0.002 it would be more than the variance.
    """
    return F.layer_norm(x, x.shape[-1:], eps=1e-30)


def split(x: Float[Tensor, "*rows d"], n_heads: int) -> Float[Tensor, "*batch n_heads length d_head"]:
    """Heads beside each other."""
    return x.unflatten(-1, (n_heads, -1)).transpose(-2, -3)  # (*batch, n_heads, length, d_head)


def logits_of(
    e: Float[Tensor, "length d"], layer: AttentionMaps, n_heads: int
) -> Float[Tensor, "n_heads length length"]:
    """q_m k_n, unscaled, for every head and pair."""
    return split(e @ layer.q.T, n_heads) @ split(e @ layer.k.T, n_heads).mT  # (n_heads, length, length)


def attention(
    scaled: Float[Tensor, "n_heads length length"], kind: Attention
) -> Float[Tensor, "n_heads length length"]:
    """The attention weights from the scaled logits."""
    if kind == "bidirectional":
        return scaled.softmax(-1)
    if kind == "uniform":
        scaled = torch.zeros_like(scaled)
    future = torch.ones_like(scaled[0], dtype=torch.bool).triu(1)
    return scaled.masked_fill(future, -math.inf).softmax(-1)


def simulate(setting: RandomModel, seed: int, kind: Attention = "causal") -> Variances:
    """The variances over all dimensions and draws of fresh inputs and weights.

    >>> found = simulate(RandomModel(d_model=64, n_heads=4, length=16, sigma=0.05, draws=40), seed=0)
    >>> lemmas = Lemmas.from_setting(RandomModel(d_model=64, n_heads=4, length=16, sigma=0.05))
    >>> 0.9 < found.vector / lemmas.vector < 1.1, 0.9 < found.logit / lemmas.logit < 1.1
    (True, True)
    """
    draws = [_draw(setting, generator(seed, f"position variance {kind}", at), kind) for at in range(setting.draws)]
    scale = setting.d_model / setting.n_heads
    logit = float(np.mean([draw.logit for draw in draws]))
    return Variances(
        vector=float(np.mean([draw.vector for draw in draws])),
        logit=logit,
        scaled=logit / scale,
        output=np.mean(np.stack([draw.output for draw in draws]), 0),
        cumulative=np.mean(np.stack([draw.cumulative for draw in draws]), 0),
    )


def generator(seed: int, purpose: str, step: int = 0, device: torch.device | None = None) -> torch.Generator:
    """A torch generator that is a pure function of its arguments."""
    number = int(rng(seed, purpose, step).integers(2**62))
    return torch.Generator(device or torch.device("cpu")).manual_seed(number)


class VarianceDraw(NamedTuple):
    """What `Variances` averages, of a draw of inputs and weights."""

    vector: float
    logit: float
    output: Float[ndarray, "layers length"]
    cumulative: Float[ndarray, "length"]


def _draw(setting: RandomModel, chance: torch.Generator, kind: Attention) -> VarianceDraw:
    x = normal((setting.length, setting.d_model), setting, chance)
    seen = torch.ones(setting.length, setting.length, dtype=torch.bool).tril()
    vector = logit = 0.0
    outputs, cumulative = [], np.zeros(setting.length)
    for at in range(setting.n_layers):
        layer, e = draw_layer(setting, chance), layer_norm(x)
        logits, v = logits_of(e, layer, setting.n_heads), e @ layer.v.T
        weights = attention(logits / math.sqrt(setting.d_model / setting.n_heads), kind)
        if at == 0:
            vector, logit = float(v.square().mean()), float(logits[:, seen].square().mean())
            cumulative = weights[:, -1].mean(0).cumsum(0).double().numpy()
        mixed = (weights @ split(v, setting.n_heads)).transpose(-2, -3).flatten(-2)  # (length, d)
        o = mixed @ layer.o.T
        outputs.append(o.double().square().mean(1).numpy())
        x = x + o
    return VarianceDraw(vector, logit, np.stack(outputs), cumulative)


def log_slope(variance: Float[ndarray, "length"]) -> float:
    """The slope of the log variance against the log position: -1 under Lemma 2.3, 0 where position left no trace.

    >>> round(log_slope(3.0 / np.arange(1, 100)), 6)
    -1.0
    """
    m = np.arange(1, len(variance) + 1)
    return float(np.polynomial.Polynomial.fit(np.log(m), np.log(variance), 1).convert().coef[1])


def after_norm(
    setting: RandomModel, seed: int, positions: Sequence[int], samples: int
) -> tuple[Float[ndarray, "positions d"], Float[ndarray, "positions d"], Float[ndarray, "positions d"]]:
    """Lemma 2.4: the variance of each component of LN(x_m + o_m) with the weights fixed, under Property 2.1.

    Returned are what was measured over so many inputs, what the lemma prints, and that with the term it leaves out.
    With M = W_o W_v it prints (m s^2 + sum_i M_ji^2) / (m s^2 + d^2 s^4). But x_m and e_m are one vector on two scales
    (x_m = s e_m), so x_m and o_m are correlated, and the numerator has 2 s M_jj too.
    """
    if max(positions) > setting.length or min(positions) < 1:
        raise UserError(f"positions up to {max(positions)}; give positions from 1 to {setting.length}")
    layer = draw_layer(setting, generator(seed, "weights after norm"))
    M = layer.o @ layer.v
    total, at = torch.zeros(len(positions), setting.d_model, dtype=torch.float64), torch.tensor(positions)
    for x in _inputs(setting, seed, max(positions), samples):
        e = layer_norm(x)
        means = e.cumsum(1)[:, at - 1] / at[:, None].to(e)  # (batch, positions, d)
        total += layer_norm(x[:, at - 1] + means @ M.T).double().square().sum(0)
    m, s = np.array(positions)[:, None], setting.sigma
    below = m * s**2 + setting.d_model**2 * s**4
    squares, diagonal = M.double().square().sum(1).numpy(), M.double().diagonal().numpy()
    printed = (m * s**2 + squares) / below
    return (total / samples).numpy(), printed, printed + 2 * s * diagonal / below


def _inputs(setting: RandomModel, seed: int, length: int, samples: int) -> Iterator[Float[Tensor, "batch length d"]]:
    at_once = max(1, (1 << 22) // (length * setting.d_model))
    for at in range(0, samples, at_once):
        shape = (min(at_once, samples - at), length, setting.d_model)
        yield normal(shape, setting, generator(seed, "inputs after norm", at))
