"""What all encodings share whose logits depend on the distance x = |m - n|."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regulargpt.encodings.base import Encoding, Positions

LEAST = 0.01
"""No parameter of a kernel falls below it (the published code's clamp; the thesis does not mention it)."""


class DistanceEncoding(Encoding):
    """An encoding that sees positions as the distance alone: -x in a causal model, its symmetric form in another.

    The symmetric form alone cannot tell left from right.
    """

    shared_bias = True

    def __init__(self, *, bias_dtype: str = "auto", **sizes: Any):
        self.rounded = bias_dtype == "bfloat16"
        super().__init__(**sizes)

    def distances(self, q: Tensor, at: Positions) -> Float[Tensor, "queries keys"]:
        """|m - n| in float32, or float64 for q of float64; rounded to bfloat16 before where the options say so.

        >>> encoding, q = DistanceEncoding(d_model=4, n_heads=1, bias_dtype="bfloat16"), torch.zeros(1)
        >>> encoding.distances(q, Positions(torch.tensor([257.0, 3.0]), torch.tensor([0.0])))
        tensor([[256.],
                [  3.]])
        """
        x = at.distances.abs()
        return (x.bfloat16() if self.rounded else x).to(torch.promote_types(q.dtype, torch.float32))


class Kernel(DistanceEncoding):
    """A function of the distance with a few learned numbers a head, the same in all layers.

    `drawn` says of each parameter from which U(0, high) it starts, and what is the most it may be. `project` is the
    published code's clamp in place: there before every forward pass, here after every step, which is the same.
    """

    drawn: ClassVar[dict[str, tuple[float, float]]] = {}

    def draw(self, generator: torch.Generator) -> None:
        for name, (high, _) in self.drawn.items():
            start = high * torch.rand(self.n_heads, 1, 1, generator=generator)
            self.register_parameter(name, nn.Parameter(start))
        self.project()

    @torch.no_grad()
    def project(self) -> None:
        for name, (_, most) in self.drawn.items():
            self.get_parameter(name).clamp_(LEAST, most)


def power(x: Float[Tensor, "queries keys"], p: Float[Tensor, "n_heads 1 1"]) -> Float[Tensor, "n_heads queries keys"]:
    """x^p, with 0 and no gradient at x = 0, where that of x^p in p is 0 ln 0.

    >>> power(torch.tensor([[0.0, 3.0]]), torch.tensor([[[2.0]]]))
    tensor([[[0., 9.]]])
    """
    return torch.where(x > 0, x, 1) ** p * (x > 0)
