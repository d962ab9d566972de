"""The checker's bound for states in balls: no displacement that is tried leaves it, and it is not much too large."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from flint import arb, ctx

from regulargpt.certificate.checker.affine_forms import (
    AffineForm,
    BlockBounds,
    TooFar,
    activation,
    identity,
    layer_norm,
)
from regulargpt.certificate.checker.balls import exact, norm
from regulargpt.certificate.checker.regulargpt import RegularGPT as Checked
from regulargpt.models.regulargpt import RegularGPT
from tests.regulargpt.networks import (
    D_FF,
    HEADS,
    IDS,
    SHAPES,
    D,
    K,
    all_windows,
    block,
    pushed,
    random_model,
    weights,
    within_balls,
    worst,
)
from tests.regulargpt.test_checker_network import as_record, middle

Floats = npt.NDArray[np.float64]


def network(model: RegularGPT, shape: dict[str, Any]) -> Checked:
    """The checker's network with this model's weights."""
    known = {"d_model": D, "n_heads": HEADS, "d_ff": D_FF, "embedding_scale": 1.0}
    return Checked(weights(model), as_record(known | shape, 2, 2))


def bounds(model: RegularGPT, shape: dict[str, Any], prototypes: Floats, radii: Floats, images: Any) -> Floats:
    """At most this far from the prototypes `images` (n,), for all windows; infinite where nothing follows."""
    with ctx.workprec(64):
        slopes = BlockBounds(network(model, shape), exact(prototypes), exact(radii))
        found = []
        for window, image in zip(all_windows(shape["chunk_size"]), images, strict=True):
            try:
                state = slopes.image(window)
                found.append(float((norm(state.centre - exact(prototypes[image - 1])) + state.deviation).upper()))
            except TooFar:
                found.append(math.inf)
        return np.array(found)


@pytest.mark.parametrize("shape", SHAPES[::3], ids=IDS[::3])
@within_balls
def test_no_displacement_within_the_balls_leaves_the_bound(
    shape: dict[str, Any], seed: int, size: float, log_radii: tuple[float, ...]
):
    model = random_model(seed, size, **shape)
    case = pushed(model, seed, log_radii)
    assert (case.far <= bounds(model, shape, case.prototypes, case.radii, case.images)).all()


@pytest.mark.parametrize("shape", SHAPES[:4], ids=IDS[:4])
def test_for_small_balls_the_bound_is_about_what_can_happen(shape: dict[str, Any]):
    model, windows = random_model(5, 1.0, **shape), all_windows(shape["chunk_size"])
    prototypes = np.random.default_rng(2).normal(size=(K, D))
    rows = np.concatenate([model.pad.detach().numpy(), prototypes])
    of_images = block(model, torch.from_numpy(rows[windows])).detach().numpy()
    far = worst(model, rows[windows], np.where(windows > 0, 1e-5, 0.0), of_images, steps=30)
    with ctx.workprec(64):
        slopes = BlockBounds(network(model, shape), exact(prototypes), exact(np.full(K, 1e-5)))
        moved = np.array([float(slopes.image(window).deviation) for window in windows])
    assert (far <= moved).all()
    assert (moved < 1.5 * far).all()


@pytest.mark.parametrize("shape", SHAPES[1::3], ids=IDS[1::3])
def test_the_linear_part_is_torchs_jacobian_and_the_centre_the_image(shape: dict[str, Any]):
    model = random_model(3, **shape)
    prototypes = np.random.default_rng(0).normal(size=(K, D))
    rows = np.concatenate([model.pad.detach().numpy(), prototypes])
    with ctx.workprec(64):
        slopes = BlockBounds(network(model, shape), exact(prototypes), exact(np.full(K, 1e-9)))
        for window in all_windows(shape["chunk_size"])[-4:]:
            found, states = slopes.image(window), torch.from_numpy(rows[window])[None]
            assert np.abs(middle(found.centre) - block(model, states)[0].detach().numpy()).max() < 1e-12
            jacobian = torch.autograd.functional.jacobian(lambda x: block(model, x)[0], states)[:, 0]  # (d, C, d)
            first = [m for m, size in zip(found.maps, found.sizes, strict=True) if size > 1e-10]
            assert len(first) == len(window)
            for c, m in enumerate(first):
                assert np.abs(middle(m) - jacobian[:, c].numpy()).max() < 1e-11


def ball(centre: Floats, radius: float) -> AffineForm:
    """A vector that moves in a ball."""
    return AffineForm(exact(centre), (identity(len(centre)),), (arb(radius),))


def plain_norm(x: Floats) -> Floats:
    return (x - x.mean()) / np.sqrt(np.square(x - x.mean()).mean() + 1e-5)


def test_what_layer_norm_leaves_and_that_no_less_would_do():
    rng = np.random.default_rng(0)
    u, across = rng.normal(size=(2, D))
    u -= u.mean()
    across -= across.mean() + u * (across @ u) / (u @ u)
    # Where y = D / 3, the bound is met as the ball shrinks.
    h = u / np.linalg.norm(u) / np.sqrt(3) + across / np.linalg.norm(across) * np.sqrt(2 / 3)
    with ctx.workprec(64):
        for far in (0.01, 0.1, 1.0, 0.9 * float(np.linalg.norm(u))):
            normed = layer_norm(ball(u, far))
            limit = float(normed.sizes[-1])
            for way in (h, -h, *rng.normal(size=(50, D))):
                delta = far * way / np.linalg.norm(way)
                left = plain_norm(u + delta) - middle(normed.centre) - middle(normed.maps[0]) @ delta
                assert np.linalg.norm(left) <= limit
                assert far > 0.01 or way is not h or np.linalg.norm(left) > 0.9 * limit
        with pytest.raises(TooFar):
            layer_norm(ball(u, 1.1 * float(np.linalg.norm(u))))


def test_the_remainder_of_two_unit_vectors_is_at_most_the_square_over_root_three():
    """|b/|b| - a - (I - a a^T)(b - a)| <= h^2 / (sqrt 3 (1 - h)) for |a| = 1 and |b - a| <= h, all over the plane."""
    t, angle = np.meshgrid(np.linspace(0.02, 2, 400), np.linspace(0, np.pi / 2, 400))
    a, b = np.array([1.0, 0.0]), np.stack([t * np.cos(angle), t * np.sin(angle)], -1)
    h = np.linalg.norm(b - a, axis=-1)
    left = b / t[..., None] - a - np.stack([np.zeros_like(t), b[..., 1]], -1)
    inside = h < 1
    assert (np.linalg.norm(left[inside], axis=-1) <= h[inside] ** 2 / (np.sqrt(3) * (1 - h[inside])) + 1e-12).all()


@pytest.mark.parametrize("kind", ["gelu", "relu"])
def test_what_the_activation_leaves(kind: str):
    function = {"gelu": torch.nn.functional.gelu, "relu": torch.nn.functional.relu}[kind]
    grid = torch.linspace(-1, 1, 401, dtype=torch.float64)
    with ctx.workprec(64):
        for z in (*np.linspace(-4, 4, 33), 0.0):
            for far in (1e-3, 0.1, 1.0, 5.0):
                found = activation(ball(np.array([z]), far), kind)
                slope, limit = float(found.maps[0][0, 0].mid()), float(found.sizes[-1])
                moved = function(z + far * grid) - float(found.centre[0].mid()) - slope * far * grid
                assert moved.abs().max() <= limit + 1e-12


def test_a_relu_at_an_unknown_sign_is_bounded_all_the_same():
    with ctx.workprec(64):
        unknown = AffineForm(np.array([arb(0, 1e-9)]), (identity(1),), (arb(0.5),))
        found = activation(unknown, "relu")
        assert float(found.maps[0][0, 0]) == 0
        assert float(found.sizes[-1]) >= 0.5
