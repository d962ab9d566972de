"""Small networks that were never trained, and the worst that can happen to their states within balls."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regulargpt.models.ldru.model import Ldru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.base import Tree

Floats = npt.NDArray[np.float64]
SHAPES: list[dict[str, Any]] = [
    {"norm": norm, "activation": act, "attention_bias": bias, "state_norm": settle, "chunk_size": C}
    for (norm, act), (bias, settle), C in itertools.product(
        [("pre", "gelu"), ("post", "relu"), ("pre", "relu"), ("post", "gelu")], [(True, True), (False, False)], [2, 3]
    )
]
TREES: list[dict[str, Any]] = [
    *({"name": "regulargpt", "gates": True} | SHAPES[i] for i in (0, 3, 5, 8)),
    *({"name": "ldru", "operator": operator} for operator in ("mlp", "gated-sum", "sum", "linear")),
]
D, D_FF, HEADS, K = 8, 12, 2, 3


def each(shapes: list[dict[str, Any]]) -> pytest.MarkDecorator:
    """A test of each shape."""
    return pytest.mark.parametrize("shape", shapes, ids=lambda shape: "-".join(map(str, shape.values())))


def random_model(seed: int = 0, size: float = 2.0, name: str = "regulargpt", **shape: Any) -> Tree:
    """A random network in float64; `size` makes its maps more or less curved."""
    generator = torch.Generator().manual_seed(seed)
    if name == "ldru":
        return perturbed(Ldru(2, 2, d_model=D, dropout=0.0, generator=generator, **shape), size, generator)
    model = RegularGPT(2, 2, d_model=D, n_heads=HEADS, d_ff=D_FF, generator=generator, **shape)
    return perturbed(model, size, generator)


def perturbed(model: Tree, size: float, generator: torch.Generator) -> Tree:
    """In float64, with larger matrices, and every weight moved."""
    model = model.double()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(size)
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return model


def weights(model: Tree) -> dict[str, Floats]:
    """Its tensors."""
    return {name: value.numpy().copy() for name, value in model.state_dict().items()}


def all_windows(C: int) -> npt.NDArray[np.int64]:
    """Every window of K prototypes, pads on the left of the word only."""
    found = [w + (0,) * (C - len(w)) for n in range(1, C + 1) for w in itertools.product(range(1, K + 1), repeat=n)]
    return np.array(found)


def block(model: Tree, states: torch.Tensor, absent: npt.NDArray[np.bool_] | None = None) -> torch.Tensor:
    """The new states (n, d) of windows of states (n, C, d), of which some may be `absent` (n, C)."""
    n, C, d = states.shape
    rows = torch.cat([model.absent, states.reshape(n * C, d)])  # (1 + n C, d)
    children = 1 + torch.arange(n * C).reshape(n, C)  # (n, C)
    return model.merge(rows, children if absent is None else children * torch.from_numpy(~absent))


def worst(model: Tree, states: Floats, radii: Floats, targets: Floats, steps: int) -> Floats:
    """How far from the targets ascent along the gradient brings the images, within the balls: (n,). What does not
    move is absent."""
    generator = torch.Generator().manual_seed(1)
    centre, target = torch.from_numpy(states), torch.from_numpy(targets)
    length = torch.from_numpy(radii)[..., None]
    delta = torch.randn(centre.shape, generator=generator, dtype=torch.float64)
    found = torch.zeros(len(states), dtype=torch.float64)
    for _ in range(steps):
        delta = (length * delta / delta.norm(dim=-1, keepdim=True).clamp_min(1e-12)).requires_grad_()
        far = (block(model, centre + delta, radii == 0) - target).norm(dim=1)
        found = torch.maximum(found, far.detach())
        (slope,) = torch.autograd.grad(far.sum(), delta)
        delta = delta.detach() + 2 * length * slope / slope.norm(dim=-1, keepdim=True).clamp_min(1e-12)
    return found.numpy()


class Pushed(NamedTuple):
    """Windows of prototypes, radii of balls around these, and how `far` (n,) from `images` ascent gets within them."""

    prototypes: Floats
    windows: npt.NDArray[np.int64]
    images: npt.NDArray[np.int64]
    radii: Floats
    far: Floats


def pushed(model: Tree, seed: int, log_radii: tuple[float, ...]) -> Pushed:
    """Random prototypes and images, and the worst that was found."""
    rng, windows = np.random.default_rng(seed), all_windows(model.chunk_size)
    prototypes = rng.normal(size=(K, D)) * rng.uniform(0.1, 2)
    images, radii = rng.integers(1, K + 1, len(windows)), np.exp(np.array(log_radii))
    rows = np.concatenate([model.absent.detach().numpy(), prototypes])
    lengths = np.concatenate([[0.0], radii])[windows]
    far = worst(model, rows[windows], lengths, prototypes[images - 1], steps=12)
    return Pushed(prototypes, windows, images, radii, far)


def within_balls(test: Callable[..., None]) -> Callable[..., None]:
    """Draw the seed and size of a network, and radii of balls from hardly any to large."""
    drawn = given(
        seed=st.integers(0, 10**6),
        size=st.sampled_from([0.5, 1.0, 2.0]),
        log_radii=st.tuples(*[st.floats(-6, 1)] * K),
    )
    return settings(max_examples=3)(drawn(test))
