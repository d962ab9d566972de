"""What today's recurrent networks share: one step of their blocks, and how the state is laid out.

h = embedding[symbol]; then, in each block, with R the norm of the root of the mean square,

    h = h + mixer(R(h));  h = h + down (silu(p) * q),  (p, q) = halves of up R(h)     (the second if `mlp` = swiglu)
    R(x) = g * x / sqrt(mean x^2 + 10^-5),  silu(x) = x / (1 + e^-x)

The logits are W R(h) + b. A linear layer has no bias unless it is named. The mixer reads what it carries, and carries
on; each network has its own. The state is, block after block, the arrays that the mixer carries, each row by row, a
complex number as re, im; then the old inputs of its short convolutions. All of it is 0 at the start.

A short convolution of size s, channel by channel, reads its last inputs x_1 .. x_s, of which it carries x_1 .. x_(s-1),
the oldest first: silu(sum_j w_j x_j), or silu(b + sum_j w_j x_j).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import numpy as np

from regulargpt.certificate.checker.balls import exp, joined, within_root
from regulargpt.certificate.checker.chain_network import ChainNetwork
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.files import Malformed
from regulargpt.certificate.checker.network import Ints, Shapes, linear_shapes, root_mean_square, silu

MAX_CONV = 64


class Mixing(ChainNetwork):
    """Blocks with a mixer each, of which a network of one kind says the tensors, what it carries, and one step."""

    CHOICES: ClassVar[Mapping[str, tuple[str, ...]]] = {"mlp": ("swiglu", "none"), "init": ("fan-in", "fla")}
    LAYOUT = "what its blocks carry, one after the other"

    def mixer_shapes(self, layer: int) -> Shapes:
        """The tensors of a block's mixer, by their names behind `blocks.{layer}.mixer.`."""
        raise NotImplementedError

    def parts(self, layer: int) -> list[tuple[int, ...]]:
        """The shapes of the arrays that a block carries, in order."""
        raise NotImplementedError

    def mixed(self, layer: int, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        """What the mixer makes of x (n, d), and what it carries on, from what it `carried`, (n, *shape) each."""
        raise NotImplementedError

    def width(self) -> int:
        return sum(prod(shape) for layer in range(self.layers) for shape in self.parts(layer))

    def layout(self) -> str:
        return self.LAYOUT

    def measure(self) -> None:
        if not 0 <= self.model.get("conv", 0) <= MAX_CONV:
            raise Malformed(
                f"config.json: a convolution of {self.model['conv']} symbols; at most {MAX_CONV} are checked"
            )
        super().measure()

    def heads(self) -> int:
        """How many heads the state has. Raises Malformed where they do not divide the width."""
        H = self.model["n_heads"]
        if H < 1 or self.d % H:
            raise Malformed(f"config.json: {H} heads do not divide the width {self.d}")
        return H

    def conv_shapes(self, name: str, width: int, bias: bool) -> Shapes:
        """The tensors of a short convolution of `conv` symbols; none of 0."""
        if not self.model["conv"]:
            return {}
        return {f"{name}.weight": (width, self.model["conv"])} | ({f"{name}.bias": (width,)} if bias else {})

    def conv_parts(self, width: int) -> list[tuple[int, ...]]:
        """The shapes of what it carries."""
        size = self.model["conv"]
        return [(size - 1, width)] if size else []

    def shapes(self) -> Shapes:
        shapes = {"embedding.weight": (len(self.alphabet), self.d)} | self.head_shapes()
        shapes |= linear_shapes("readout", len(self.output_names), self.d)
        for layer in range(self.layers):
            shapes |= {f"blocks.{layer}.{name}": shape for name, shape in self.block_shapes(layer).items()}
        return shapes

    def head_shapes(self) -> Shapes:
        """The tensors between the last block and the readout."""
        return {"norm.weight": (self.d,)}

    def block_shapes(self, layer: int) -> Shapes:
        """The tensors of a block, by their names in it."""
        d, wide, norms = self.d, 8 * -(-self.d // 3), ["norm"]
        shapes = {f"mixer.{name}": shape for name, shape in self.mixer_shapes(layer).items()}
        if self.model["mlp"] == "swiglu":
            shapes |= linear_shapes("mlp.up", 2 * wide, d, bias=False) | linear_shapes("mlp.down", d, wide, bias=False)
            norms.append("mlp_norm")
        return shapes | self.norms(norms)

    def norms(self, names: list[str]) -> Shapes:
        """The tensors of a block's norms."""
        return {f"{name}.weight": (self.d,) for name in names}

    def step(self, states: Any, symbols: Ints) -> tuple[Any, Any]:
        h, after, at, shown = self.w["embedding.weight"][symbols], [], 0, {}
        for layer in range(self.layers):
            shapes = self.parts(layer)
            ends = np.cumsum([at, *map(prod, shapes)]).tolist()
            carried = [
                states[:, start:end].reshape(len(states), *shape)  # (n, *shape)
                for (start, end), shape in zip(pairwise(ends), shapes, strict=True)
            ]
            h, carried = self.block(layer, h, carried, shown)
            at = ends[-1]
            after += [x.reshape(len(states), -1) for x in carried]  # (n, numbers)
        return self.linear("readout", self.head(h)), joined(after, -1)

    def head(self, h: Any) -> Any:
        """What the readout reads."""
        return self.rms("norm", h)

    def block(self, layer: int, h: Any, carried: list[Any], shown: dict[str, Any]) -> tuple[Any, list[Any]]:
        """h after a block, and what it carries on. Blocks above see what is `shown`."""
        more, carried = self.mixed(layer, self.entered(layer, h), carried)
        return self.onward(layer, h, more), carried

    def entered(self, layer: int, h: Any) -> Any:
        """What the mixer of a block reads of h."""
        return self.rms(f"blocks.{layer}.norm", h)

    def onward(self, layer: int, h: Any, more: Any) -> Any:
        """h after a block, from h before it and what its mixer makes."""
        return self.fed(f"blocks.{layer}.", h + more)

    def fed(self, block: str, h: Any) -> Any:
        """h after the MLP of a block, with its residual."""
        return h + self.mlp(block, self.rms(f"{block}mlp_norm", h)) if self.model["mlp"] == "swiglu" else h

    def mlp(self, block: str, x: Any) -> Any:
        p, q = halves(self.linear(f"{block}mlp.up", x))
        return self.linear(f"{block}mlp.down", silu(p) * q)

    def rms(self, name: str, x: Any) -> Any:
        """x (n, .., m) over the root of the mean square along the last axis, times a gain (m,)."""
        return within_root(x / root_mean_square(x), x.shape[-1]) * self.w[f"{name}.weight"]

    def convolved(self, name: str, x: Any, carried: list[Any]) -> tuple[Any, list[Any]]:
        """The short convolution of x (n, m) with what it carries (n, size - 1, m), and what it carries on."""
        return self.convolution(name, x, carried), [one_later(before, x) for before in carried]

    def convolution(self, name: str, x: Any, carried: list[Any]) -> Any:
        """The short convolution alone. Without one nothing is carried, and silu(x) stands in its place."""
        if not carried:
            return silu(x)
        weight, (before,) = self.w[f"{name}.weight"], carried  # (m, size)
        total = x * weight[:, -1]
        for j in range(before.shape[1]):
            total = total + before[:, j] * weight[:, j]
        if f"{name}.bias" in self.w:
            total = total + self.w[f"{name}.bias"]
        return silu(total)


def one_later(before: Any, x: Any) -> Any:
    """What is carried of old numbers (n, as many, m) once x (n, m) are the last of them."""
    return joined([before, x[:, None]], 1)[:, 1:]


def halves(x: Any) -> tuple[Any, Any]:
    """The two halves of vectors (n, 2 m)."""
    m = x.shape[-1] // 2
    return x[..., :m], x[..., m:]


def split(x: Any, *sizes: int) -> list[Any]:
    """Vectors (n, m) cut into parts of these sizes."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [x[..., start:end] for start, end in pairwise(ends)]


def alike(numbers: Any, like: Any) -> Any:
    """Balls of FLINT, nested in lists, as those of `like` are."""
    balls = np.array(numbers, dtype=object)
    return Doubles.from_value(balls) if isinstance(like, Doubles) else balls


def decay(rate: Any, time: Any) -> Any:
    """exp(-exp(rate) time)."""
    return exp(-exp(rate) * time)


def read_by(S: Any, q: Any) -> Any:
    """S^T q (n, .., V) of matrices (n, .., K, V) and vectors (n, .., K)."""
    return (S * q[..., None]).sum(-2)


def outer(k: Any, v: Any) -> Any:
    """k v^T (n, .., K, V) of vectors (n, .., K) and (n, .., V)."""
    return k[..., None] * v[..., None, :]
