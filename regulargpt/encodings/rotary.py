"""Rotary positions (RoFormer: Su et al. 2021, Eqs. 15 and 34), and how to scale them for longer words."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from languages.errors import UserError
from regulargpt.encodings.base import Encoding, Keys, Positions, Queries
from regulargpt.encodings.options import BY_LENGTH, PUBLISHED, RotaryOptions, turned_width

BASE = 10_000.0


def rotate(x: Float[Tensor, "*rows length width"], angle: Float[Tensor, "length pairs"]) -> Tensor:
    """Turn each pair (x_{2i}, x_{2i+1}) by its angle (the paper's interleaved pairs, not halves).

    >>> rotate(torch.tensor([[1.0, 0.0]]), torch.tensor([[torch.pi / 2]])).round(decimals=4)
    tensor([[-0., 1.]])
    """
    if torch.compiler.is_compiling():
        # The compiler makes one loop of it; of complex numbers it makes none, and warns.
        return rotate_written_out(x, angle)
    # As complex numbers, pairs are read and written once; there are none of half precision.
    pairs = x.to(torch.promote_types(x.dtype, torch.float32)).unflatten(-1, (-1, 2))  # (*rows, length, pairs, 2)
    z = torch.view_as_complex(pairs)  # (*rows, length, pairs)
    turned = z * torch.polar(torch.ones_like(angle), angle).to(z.dtype)  # (*rows, length, pairs)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)  # (*rows, length, width)


def rotate_written_out(x: Float[Tensor, "*rows length width"], angle: Float[Tensor, "length pairs"]) -> Tensor:
    """The same in real numbers, as the paper writes it (Eq. 34).

    >>> rotate_written_out(torch.tensor([[1.0, 0.0]]), torch.tensor([[torch.pi / 2]])).round(decimals=4)
    tensor([[-0., 1.]])
    """
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1)  # (*rows, length, pairs, 2)
    return turned.flatten(-2)  # (*rows, length, width)


def rotate_halves(x: Float[Tensor, "*rows length width"], angle: Float[Tensor, "length pairs"]) -> Tensor:
    """Turn each pair (x_i, x_{i+D/2}) by its angle, as GPT-NeoX and Llama.

    >>> rotate_halves(torch.tensor([[1.0, 2.0, 0.0, 0.0]]), torch.tensor([[0.0, torch.pi]])).round(decimals=4)
    tensor([[ 1., -2.,  0., -0.]])
    """
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)  # (*rows, length, width)


LAYOUTS = {"pairs": rotate, "halves": rotate_halves}


class Rotary(Encoding):
    """Query m and key n turned by m theta_i and n theta_i, theta_i = base^(-2i/D).

    Their product depends on the positions through m - n alone. With `fraction` below 1 only the first entries of a head
    are turned. `scaling` changes the angles when the model is not in training: by `factor`, or for a word of T symbols
    by T / train_len where that is above 1. All queries and keys of a word must then be turned in a single call.

    With `in_training` they are so in training, too. With `log_n` queries are scaled as by `log_n`, in tests alone.

    YaRN (Peng et al. 2023) leaves alone the pairs that turn more than `beta_fast` times over a training word, and
    interpolates those that turn less than `beta_slow` times. Queries and keys are multiplied by `attention_factor`;
    0 stands for 0.1 ln f + 1. Llama 3 does the same between `low_freq_factor` and `high_freq_factor` turns, linear in
    the turns. LongRoPE (Ding et al. 2024) divides pair by pair, by `short_factor` up to the length of training and by
    `long_factor` in longer words.

    Raises `UserError` where the width of a head, d_model / n_heads, is odd.

    >>> from regulargpt.encodings.base import consecutive
    >>> q = torch.ones(1, 1, 5, 4)
    >>> q, k = Rotary(d_model=4, n_heads=1).rotate(q, q, consecutive(q, q))
    >>> logits = q @ k.mT
    >>> bool(logits[0, 0, 1, 0].isclose(logits[0, 0, 4, 3]))
    True
    """

    Options = RotaryOptions

    def __init__(
        self,
        *,
        layout: str = "pairs",
        fraction: float = 1.0,
        base: float = BASE,
        scaling: str = "none",
        factor: float = 0.0,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        attention_factor: float = 0.0,
        low_freq_factor: float = 1.0,
        high_freq_factor: float = 4.0,
        short_factor: Sequence[float] = (),
        long_factor: Sequence[float] = (),
        in_training: bool = False,
        log_n: bool = False,
        train_len: int = 0,
        **sizes: Any,
    ):
        super().__init__(**sizes)
        self.turn, self.base = LAYOUTS[layout], base
        self.width, self.in_training = turned_width(fraction, self.d_head), in_training
        self.log_n = log_n
        self.beta_fast, self.beta_slow, self.attention_factor = beta_fast, beta_slow, attention_factor
        self.low_freq_factor, self.high_freq_factor = low_freq_factor, high_freq_factor
        self.short_factor, self.long_factor = short_factor, long_factor
        self.scaling, self.factor, self.train_len = scaling, factor, train_len or PUBLISHED

    def draw(self, generator: torch.Generator) -> None:
        """No parameters, but a width that must come in pairs."""
        if self.d_head % 2:
            raise UserError(
                f"rotary needs heads of even width, d_model / n_heads = {self.d_model} / {self.n_heads} "
                f"= {self.d_head}; change d_model or n_heads"
            )

    @property
    def keys_turn_alone(self) -> bool:
        """Unless angles depend on the word's length."""
        return type(self).rotate is Rotary.rotate and not self.depends_on_length

    @property
    def depends_on_length(self) -> bool:
        """Whether angles are squeezed by as much as the word is too long."""
        return self.scaling in BY_LENGTH or (self.scaling != "none" and not self.factor)

    def rotate(self, q: Queries, k: Keys, at: Positions) -> tuple[Queries, Keys]:
        theta, scale = self.scaled(at)
        if self.log_n and not self.training:
            q = q * self.sharpened(at).to(q.dtype)
        # Angles in float64: near position 100,000, numbers in float32 are 0.008 apart.
        return self.turned(q, at.m[:, None] * theta, scale), self.turned(k, at.n[:, None] * theta, scale)

    def sharpened(self, at: Positions) -> Float[Tensor, "queries 1"]:
        """ln n / ln L for the query that a view shows n > L keys, L the length of training, else 1 (Su 2021)."""
        n = at.n_visible(self.causal)
        return (n.log() / math.log(max(self.train_len, 2))).clamp(min=1)[:, None]

    def turned(self, x: Tensor, angle: Float[Tensor, "length pairs"], scale: float) -> Tensor:
        """The first `width` entries turned and scaled, the others as they are."""
        if self.width == self.d_head:
            return self.turn(x, angle) if scale == 1 else self.turn(x, angle) * scale
        return torch.cat([self.turn(x[..., : self.width], angle) * scale, x[..., self.width :]], -1)

    def theta(self, base: float, like: Tensor) -> Float[Tensor, "pairs"]:
        even = torch.arange(0, self.width, 2, dtype=torch.float64, device=like.device)
        return base ** -(even / max(self.width, 1))

    def scaled(self, at: Positions) -> tuple[Float[Tensor, "pairs"], float]:
        """The angles a position, and the factor of queries and keys, for the word in hand."""
        theta = self.theta(self.base, at.n)
        if self.scaling == "none" or (self.training and not self.in_training):
            return theta, 1.0
        if self.scaling == "longrope":
            by = self.long_factor if float(at.n.max()) >= self.train_len else self.short_factor
            return theta / torch.tensor(by).to(theta), self.attention_factor or 1.0
        f = self.squeeze(at)
        if f == 1:
            return theta, 1.0
        if self.scaling == "interpolation":  # Chen et al. 2023
            return theta / f, 1.0
        if self.scaling == "yarn":
            kept = self.kept(theta)
            return theta * (kept + (1 - kept) / f), self.attention_factor or 0.1 * math.log(f) + 1
        if self.scaling == "llama3":
            turns = self.train_len * theta / (2 * math.pi)  # over a training word
            kept = ((turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)).clamp(0, 1)
            return theta * (kept + (1 - kept) / f), 1.0
        # NTK: the slowest pair is interpolated by f, the fastest not at all; a single pair is the fastest.
        stretch = f ** (self.width / (self.width - 2)) if self.width > 2 else 1.0
        return self.theta(self.base * stretch, at.n), 1.0

    def kept(self, theta: Float[Tensor, "pairs"]) -> Float[Tensor, "pairs"]:
        """YaRN's ramp, linear in the index of the pair: 1 for a pair that is left alone, 0 for an interpolated pair.

        Its ends are rounded outwards and lie in the head, as in the authors' code. Theirs turns round where every pair
        turns fast, or none turns once; this one does not.
        """
        first, last = math.floor(self.pair_of(self.beta_fast)), math.ceil(self.pair_of(self.beta_slow))
        first, last = (min(max(end, 0), self.width - 1) for end in (first, last))
        index = torch.arange(len(theta), dtype=theta.dtype, device=theta.device)
        return 1 - ((index - first) / max(last - first, 0.001)).clamp(0, 1)

    def pair_of(self, turns: float) -> float:
        """The index of a pair that turns so often over a training word."""
        return self.width * math.log(self.train_len / (turns * 2 * math.pi)) / (2 * math.log(self.base))

    def squeeze(self, at: Positions) -> float:
        """f: the option's factor, or what makes the longest position one of the training."""
        ratio = max(1.0, (float(at.n.max()) + 1) / self.train_len)
        if self.scaling == "dynamic_ntk":
            f = self.factor or 1.0
            return f * ratio - (f - 1)
        return self.factor or ratio
