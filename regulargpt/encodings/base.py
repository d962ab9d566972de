"""The protocol of positional encodings: three hooks, each doing nothing unless an encoding says otherwise.

    embed(x)             the input of the first block     sinusoidal, learned
    rotate(q, k, layer)  the queries and keys of a block  rotary, xpos, transformer_xl
    bias(q, k, layer)    added to the scaled logits       alibi, kerple, t5, sandwich, window, transformer_xl

A model owns one encoding and hands it to all its blocks; parameters that differ between blocks have a leading
layer axis. The causal mask is the attention's business, never the encoding's.

An encoding of your own is a class derived from `Encoding`, in any package. It overrides what it needs of the three
hooks, and `draw` if it has parameters. If it has options, a frozen dataclass derived from `EncodingOptions`, its class
attribute `Options`, names them with types, defaults, bounds and a line of help; they arrive as keyword arguments.
"""

from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.encodings.options import EncodingOptions


class Encoding(nn.Module):
    """Base of all encodings. The queries stand at the last of the keys' positions (outside decoding, at all).

    The constructor gets the model's sizes, and `generator`, from which `draw` draws the parameters. A class with
    options takes them by name and hands everything else on; what `draw` reads is set before that.

    Raises `UserError` where `n_heads` does not divide `d_model`.

    >>> from dataclasses import dataclass
    >>> from regulargpt.config.options import option
    >>> @dataclass(frozen=True)
    ... class WindowOptions(EncodingOptions):
    ...     width: int = option(2, "Positions that are seen.", least=1, why="a window has at least 1 position")
    >>> class Window(Encoding):
    ...     Options = WindowOptions
    ...
    ...     def __init__(self, *, width=2, **sizes):
    ...         self.width = width
    ...         super().__init__(**sizes)
    ...
    ...     def bias(self, q, k, layer=0):
    ...         far = distances(q, k) >= self.width
    ...         return torch.zeros(far.shape).masked_fill(far, -torch.inf).expand(1, self.n_heads, -1, -1)
    >>> q = torch.zeros(1, 1, 3, 4)
    >>> Window(width=2, d_model=4, n_heads=1).bias(q, q)[0, 0]
    tensor([[0., 0., 0.],
            [0., 0., 0.],
            [-inf, 0., 0.]])
    """

    Options: ClassVar[type[EncodingOptions]] = EncodingOptions

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        n_layers: int = 1,
        causal: bool = True,
        generator: torch.Generator | None = None,
    ):
        super().__init__()
        if d_model % n_heads:
            raise UserError(f"n_heads = {n_heads} does not divide d_model = {d_model}; choose one that does")
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_model // n_heads
        self.n_layers, self.causal = n_layers, causal
        self.draw(generator or torch.Generator().manual_seed(0))

    def draw(self, generator: torch.Generator) -> None:
        """Create the parameters, if there are any."""

    def embed(self, x: Float[Tensor, "batch length d_model"]) -> Float[Tensor, "batch length d_model"]:
        """What the first block reads instead of the symbols' embeddings x."""
        return x

    def rotate(
        self,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        layer: int = 0,
    ) -> tuple[Float[Tensor, "batch n_heads queries d_head"], Float[Tensor, "batch n_heads keys d_head"]]:
        """The queries and keys with their positions in them."""
        return q, k

    def bias(
        self,
        q: Float[Tensor, "batch n_heads queries d_head"],
        k: Float[Tensor, "batch n_heads keys d_head"],
        layer: int = 0,
    ) -> Float[Tensor, "#batch n_heads queries keys"] | None:
        """What is added to q k / sqrt(d_head), for q and k as `rotate` left them. -inf forbids a pair.

        In a causal model the entries above the diagonal may hold anything finite: the attention masks them.
        """
        return None


def positions(x: Float[Tensor, "*rows length width"], n_keys: int) -> Float[Tensor, "length"]:
    """The positions of the last `length` of `n_keys` positions, in float64: exact, and their angles precise.

    >>> positions(torch.zeros(2, 8), n_keys=5)
    tensor([3., 4.], dtype=torch.float64)
    """
    return torch.arange(n_keys - x.shape[-2], n_keys, dtype=torch.float64, device=x.device)


def distances(
    q: Float[Tensor, "*rows queries width"], k: Float[Tensor, "*rows keys width"]
) -> Int[Tensor, "queries keys"]:
    """m - n for every query position m and key position n: positive where the key lies in the past.

    >>> distances(torch.zeros(2, 8), torch.zeros(3, 8))
    tensor([[ 1,  0, -1],
            [ 2,  1,  0]])
    """
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    # While decoding there are fewer queries than keys: they are the last ones.
    m = torch.arange(n_keys - n_queries, n_keys, device=q.device)
    n = torch.arange(n_keys, device=q.device)
    return m[:, None] - n  # (queries, keys)
