"""Layers of today's recurrent networks: RMSNorm, SwiGLU and the short convolution."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.layers import undrawn

EPS = 1e-5


class RmsNorm(nn.Module):
    """x / sqrt(mean x^2 + eps), times a gain (Zhang and Sennrich 2019).

    >>> round(RmsNorm(2)(torch.tensor([[3.0, 4.0]])).square().mean().item(), 4)
    1.0
    """

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        return F.rms_norm(x, (x.shape[-1],), self.weight, EPS)


class Swiglu(nn.Module):
    """W_3 (SiLU(W_1 x) * W_2 x), 8 d / 3 units wide, rounded up to a multiple of 8 (Shazeer 2020)."""

    def __init__(self, d_model: int, draw: Draw):
        super().__init__()
        width = -(-d_model // 3)  # a third, rounded up: 8 times as many are the first multiple of 8 above 8 d / 3
        self.up, self.down = draw(d_model, 16 * width), draw(8 * width, d_model)

    def forward(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        gate, value = self.up(x).chunk(2, -1)
        return self.down(F.silu(gate) * value)


class ShortConvolution(nn.Module):
    """A causal convolution of each channel by itself, over `size` symbols, then SiLU; zeros before the word.

    It starts uniform in +-1/sqrt(size). What it carries from piece to piece are its last `size` - 1 inputs.

    >>> conv = ShortConvolution(3, 4, torch.Generator().manual_seed(0))
    >>> x = torch.ones(1, 5, 3)
    >>> y, before = conv(x[:, :2], conv.start(1))
    >>> torch.allclose(torch.cat([y, conv(x[:, 2:], before)[0]], 1), conv(x, conv.start(1))[0])
    True
    """

    def __init__(self, width: int, size: int, generator: torch.Generator, bias: bool = False):
        super().__init__()
        weight = torch.empty(width, size).uniform_(-(size**-0.5), size**-0.5, generator=generator)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    @property
    def reach(self) -> int:
        """Symbols before each that it reads."""
        return self.weight.shape[1] - 1

    def start(self, batch: int) -> Float[Tensor, "batch before width"]:
        return self.weight.new_zeros(batch, self.reach, len(self.weight))

    def forward(
        self, x: Float[Tensor, "batch length width"], before: Float[Tensor, "batch before width"]
    ) -> tuple[Float[Tensor, "batch length width"], Float[Tensor, "batch before width"]]:
        x = torch.cat([before, x], 1)  # (batch, before + length, width)
        after = x[:, x.shape[1] - before.shape[1] :]
        length = x.shape[1] - self.reach
        # Not `conv1d`: by it training on words of 40 symbols takes 1.5 times as long, and float64 ten times.
        y = x.new_zeros(()) if self.bias is None else self.bias
        for j in range(self.reach + 1):
            y = torch.addcmul(y, self.weight[:, j], x[:, j : j + length])
        return F.silu(y), after


class NoConvolution(nn.Module):
    """SiLU alone, in the place of a convolution; it carries nothing."""

    reach = 0

    def start(self, batch: int) -> None:
        return None

    def forward(self, x: Float[Tensor, "batch length width"], before: None) -> tuple[Tensor, None]:
        return F.silu(x), None


def convolution(
    width: int, size: int, generator: torch.Generator, bias: bool = False
) -> ShortConvolution | NoConvolution:
    """Of `size` symbols; 0: none."""
    return ShortConvolution(width, size, generator, bias) if size else NoConvolution()


def start_of_steps(n: int, generator: torch.Generator) -> Float[Tensor, "n"]:
    """Biases b at which softplus(b) is log-uniform in 0.001..0.1 (Gu et al. 2022).

    >>> steps = F.softplus(start_of_steps(1000, torch.Generator().manual_seed(0)))
    >>> bool(((steps > 0.00099) & (steps < 0.101)).all())
    True
    """
    low, high = math.log(0.001), math.log(0.1)
    steps = torch.empty(n).uniform_(low, high, generator=generator).exp()
    return steps + (-torch.expm1(-steps)).log()  # the inverse of softplus


class Draw:
    """Linear layers as the options `init` has them start; no bias unless requested."""

    def __init__(self, init: str, generator: torch.Generator):
        self.init, self.generator = init, generator

    def __call__(self, n_in: int, n_out: int, bias: bool = False) -> nn.Linear:
        layer = undrawn(n_in, n_out, bias)
        nn.init.normal_(layer.weight, std=self.std(n_in), generator=self.generator)
        return layer

    def std(self, n_in: int) -> float:
        return n_in**-0.5 if self.init == "fan-in" else 0.02
