"""Balls that the network maps into themselves: the bound holds for every displacement that is tried, and closes."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regulargpt.certificate.search import invariant_balls
from regulargpt.certificate.search.affine_forms import AffineForm, spectral_bound, spectral_norm
from regulargpt.certificate.search.attention_remainder import (
    AttentionExpansion,
    product_norm,
)
from regulargpt.certificate.search.block_bounds import expand, projections
from regulargpt.certificate.search.invariant_balls import (
    BallConditions,
    InvariantBalls,
    NotInvariant,
    find_invariant_balls,
    images_of,
)
from regulargpt.certificate.search.networks import image_bounds
from regulargpt.certificate.search.remainders import (
    gelu_remainder,
    layer_norm,
    relu_remainder,
)
from regulargpt.finite.float64_network import Float64Network
from regulargpt.models.tree.base import Tree
from tests.regulargpt.networks import (
    HEADS,
    SHAPES,
    TREES,
    D,
    K,
    all_windows,
    block,
    each,
    pushed,
    random_model,
    within_balls,
    worst,
)

Floats = npt.NDArray[np.float64]


def network(seed: int = 0, size: float = 2.0, **shape: Any) -> tuple[Tree, Float64Network]:
    """A random network, and what the search has of it."""
    model = random_model(seed, size, **shape)
    return model, in_float64(model, shape)


def in_float64(model: Tree, shape: dict[str, Any]) -> Float64Network:
    """The network with this model's weights."""
    sizes = {"name": "regulargpt", "n_heads": HEADS, "chunk_size": 2, "embedding_scale": 1.0}
    return Float64Network(
        model, sizes | {"state_norm": True, "norm": "pre", "activation": "gelu", "gates": False} | shape
    )


@each(SHAPES + TREES)
@within_balls
def test_no_displacement_within_the_balls_leaves_the_bound(
    shape: dict[str, Any], seed: int, size: float, log_radii: tuple[float, ...]
):
    model, net = network(seed, size, **shape)
    case = pushed(model, seed, log_radii)
    bound = image_bounds(net, case.prototypes, case.windows, case.images).bound(case.radii)
    assert (case.far <= bound).all()


@each(SHAPES)
def test_the_linear_part_is_torchs_jacobian_and_the_centre_the_image(shape: dict[str, Any]):
    model, net = network(3, **shape)
    C = shape["chunk_size"]
    rows = net.rows(np.random.default_rng(0).normal(size=(K, D)))
    windows = all_windows(C)
    of, _ = projections(net, rows)
    _, _, form = expand(net, rows, of, windows)
    assert np.abs(form.centre - images_of(net, rows[1:], windows)).max() < 1e-12
    states = torch.from_numpy(rows[windows])
    total = torch.autograd.functional.jacobian(lambda x: block(model, x).sum(0), states)  # (d, n, C, d)
    assert isinstance(total, torch.Tensor)
    for c in range(C):
        assert np.abs(form.maps[c] - total[:, :, c].permute(1, 0, 2).numpy()).max() < 1e-11


def test_what_is_far_and_what_stretches_is_looked_at_first(monkeypatch: pytest.MonkeyPatch):
    """Of 100 windows one moves as far as its child, and one lies apart from its prototype."""
    windows = np.stack([np.arange(1, 101), np.zeros(100, dtype=np.int64)], 1)
    prototypes, seen = 10 * np.eye(100), []

    class Stub:
        def over(self, rows: torch.Tensor, windows: npt.NDArray[np.int64]) -> torch.Tensor:
            states = prototypes + 0.01 * (rows.numpy() - prototypes)
            states[70], states[30, 0] = rows[70], 0.1
            return torch.from_numpy(states[windows[:, 0] - 1])

    class Refused:
        def __init__(self, network: Any, prototypes: Any, leaves: Any, nodes: Any, answers: Any):
            seen.append(nodes[0][:, 0])

        def solve(self, slack: float) -> NotInvariant:
            return NotInvariant("one of them")

    monkeypatch.setattr(invariant_balls, "max_entries", lambda network: 4096)
    monkeypatch.setattr(invariant_balls, "BallConditions", Refused)
    nodes = windows, np.arange(1, 101)
    stub: Any = Stub()
    found = find_invariant_balls(stub, prototypes, (windows[:0], nodes[1][:0]), nodes, np.zeros(100, dtype=np.int64))
    assert isinstance(found, NotInvariant)
    (first,) = seen
    assert {31, 71} <= set(first.tolist())
    assert len(first) <= invariant_balls.FIRST


@each(SHAPES[:4] + TREES)
def test_for_small_balls_the_bound_is_about_what_can_happen(shape: dict[str, Any]):
    model, net = network(5, 1.0, **shape)
    prototypes, windows = np.random.default_rng(2).normal(size=(K, D)), all_windows(model.chunk_size)
    rows = net.rows(prototypes)
    images = np.ones(len(windows), dtype=np.int64)
    bounds = image_bounds(net, prototypes, windows, images)
    moved = bounds.bound(np.full(K, 1e-5)) - bounds.residuals
    of_images = images_of(net, rows[1:], windows)
    far = worst(model, rows[windows], np.where(windows > 0, 1e-5, 0.0), of_images, steps=30)
    assert (far <= moved).all()
    assert (moved < 1.3 * far).all()


@given(x=st.floats(-5, 5), far=st.floats(1e-3, 6), at=st.floats(-1, 1))
def test_what_the_activations_leave(x: float, far: float, at: float):
    h, x_ = at * far, np.array([x])
    t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    for function, remainder in ((torch.nn.functional.gelu, gelu_remainder), (torch.relu, relu_remainder)):
        (slope,) = torch.autograd.grad(function(t), t)
        left = function(t + h) - function(t) - slope * h
        limit = remainder(x_, np.array([far]))[0]
        assert abs(left.item()) <= limit + 1e-12


def test_norms_are_bounds_and_tight():
    m = np.random.default_rng(0).normal(size=(20, 5, 9))
    true = np.linalg.svd(m, compute_uv=False)[:, 0]
    assert (spectral_norm(m) >= true).all()
    assert (spectral_norm(m) < true * 1.0001).all()
    assert (spectral_bound(m) >= true).all()
    assert (spectral_bound(m) < true * 1.08).all()
    true = np.linalg.svd(np.swapaxes(m, 1, 2) @ m[::-1], compute_uv=False)[:, 0]
    assert (product_norm(m, m[::-1]) >= true).all()
    assert (product_norm(m, m[::-1]) < true * 1.08).all()
    assert spectral_bound(np.zeros((3, 3))) < 1e-100
    assert spectral_norm(np.zeros((3, 3))) == 0


def contracting() -> tuple[Float64Network, Floats, Any, Any, npt.NDArray[np.int64]]:
    """The image is LayerNorm of a large constant and a little else, so all balls shrink."""
    model, _ = network(7, 0.05, chunk_size=2)
    with torch.no_grad():
        model.get_parameter("blocks.0.ff_out.bias").copy_(torch.linspace(-30, 30, D))
    net = in_float64(model, {})
    leaves = np.array([[a, b] for a in (1, 2) for b in (0, 1, 2)])
    point = net.over_symbols(leaves).numpy().mean(0, keepdims=True)
    prototypes = np.concatenate([point, point + 0.5, -point])
    images = np.ones(len(leaves), dtype=np.int64)
    nodes = all_windows(2)
    nodes = nodes[(nodes < 3).all(1)]
    net.w["readout.weight"][:] = np.stack([point[0], -point[0]])
    answers = np.array([0, 0, 1])
    return net, prototypes, (leaves, images), (nodes, np.ones(len(nodes), dtype=np.int64)), answers


def test_a_contracting_network_is_enclosed_the_largest_slack_first():
    case = contracting()
    closed = find_invariant_balls(*case)
    assert isinstance(closed, list)
    assert [found.slack for found in closed] == sorted((found.slack for found in closed), reverse=True)
    found = closed[0]
    assert found.slack > 0.01
    # Whatever starts in the balls stays there, rounding of half the slack included.
    net, prototypes, _, (nodes, images), _ = case
    # With room for a checker whose norms are a tenth larger.
    bounds = image_bounds(net, prototypes, nodes, images)
    moved = bounds.bound(found.radii) - bounds.residuals
    assert (bounds.residuals + 1.1 * moved + found.slack <= found.radii[images - 1] + 1e-12).all()
    rng = np.random.default_rng(0)
    for _ in range(50):
        moved_states = prototypes + found.radii[:, None] * sphere(rng, K)
        far = np.linalg.norm(images_of(net, moved_states, nodes) - prototypes[images - 1], axis=1)
        assert (far + found.slack / 2 <= found.radii[images - 1]).all()


@pytest.mark.parametrize("room", [0.99, 1.001, 1.01, 1.019, 1.1])
@pytest.mark.parametrize("asked", [True, False])
def test_a_ball_ends_where_its_answer_does_if_one_is_asked(room: float, asked: bool):
    """`room` is how far the answer of the third prototype holds, as a share of the slack, its ball's least radius."""
    net, prototypes, (leaves, leaf_images), nodes, answers = contracting()
    none, slack = (leaves[:0], leaf_images[:0]), 0.01
    limit = BallConditions(net, prototypes, none, nodes, answers).limits[2]
    apart = np.linalg.norm(net.w["readout.weight"][0] - net.w["readout.weight"][1])
    net.w["readout.bias"] += [(limit - room * slack) * apart, 0.0]
    answers = answers if asked else np.array([*answers[:2], -1])
    conditions = BallConditions(net, prototypes, none, nodes, answers)
    found = conditions.solve(slack)
    assert isinstance(found, InvariantBalls) == (room > 1 or not asked)
    if isinstance(found, InvariantBalls):
        assert (found.radii < conditions.limits).all()


def sphere(rng: np.random.Generator, n: int) -> Floats:
    """Vectors of length 1."""
    x = rng.normal(size=(n, D))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_an_untrained_network_is_not_enclosed_and_says_why():
    _, net = network(0, 1.0, chunk_size=2)
    prototypes, nodes = np.random.default_rng(0).normal(size=(K, D)), all_windows(2)
    answers = net.readout(torch.from_numpy(prototypes)).argmax(1).numpy()
    part = (nodes, np.ones(len(nodes), dtype=np.int64))
    found = find_invariant_balls(net, prototypes, (nodes[:0], part[1][:0]), part, answers)
    assert isinstance(found, NotInvariant)
    assert "too far for balls to close" in found.reason


def test_what_layer_norm_leaves_and_that_no_less_would_do():
    rng = np.random.default_rng(0)
    u = rng.normal(size=(1, D))
    u -= u.mean()
    across = rng.normal(size=D)
    across -= across.mean() + u[0] * (across @ u[0]) / (u[0] @ u[0])
    h = u[0] / np.linalg.norm(u) / np.sqrt(3) + across / np.linalg.norm(across) * np.sqrt(2 / 3)
    normed, remainder = layer_norm(AffineForm(u, {0: np.eye(D)[None]}), "norm", 1)
    plain = lambda x: (x - x.mean()) / np.sqrt(np.square(x - x.mean()).mean() + 1e-5)  # noqa: E731
    for far in (0.01, 0.1, 1.0, 3.0):
        limit = remainder(np.array([[far]]), {})[0]
        for way in (h, -h, sphere(rng, 1)[0]):
            left = np.linalg.norm(plain(u[0] + far * way) - normed.centre[0] - normed.maps[0][0] @ (far * way))
            assert left <= limit
            assert far > 0.01 or way is not h or left > 0.9 * limit


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize(("kind", "least"), [("all", 0.04), ("values", 0.1), ("errors", 0.1)])
def test_what_attention_leaves_and_that_far_less_would_not_do(C: int, kind: str, least: float):
    """Where all moves, where values are equal, so that only products of changes are left, and where x is inexact."""
    rng, largest = np.random.default_rng(C), 0.0
    for trial in range(0, 10, 2):
        _, net = network(trial, 1.5, chunk_size=C, norm="post")
        rows, windows = rng.normal(size=(4, D)), rng.integers(0, 4, size=(6, C))
        if kind == "values":
            windows[:] = windows[:, :1]
        of, _ = projections(net, rows)
        attention, derivative = AttentionExpansion.over(net.w["blocks.0.attn.r"], of, windows)
        gains = np.linalg.svd(derivative.transpose(0, 2, 1, 3), compute_uv=False)[..., 0]
        for far, error in [(0.0, 0.3)] if kind == "errors" else [(0.3, 0.0), (0.1, 0.1), (2.0, 1.0)]:
            box, ball = attention.remainder(np.full((6, C), far), np.full((6, C), error))
            assert (ball >= (gains * error).sum(1)).all()
            limit = np.linalg.norm(np.einsum("ndk,nk->nd", np.abs(attention.value_differences), box), axis=1) + ball
            for _ in range(8):
                delta = (far * sphere(rng, 6 * C) + error * sphere(rng, 6 * C)).reshape(6, C, D)
                moved, _ = projections(net, (rows[windows] + delta).reshape(6 * C, D))
                after, _ = AttentionExpansion.over(net.w["blocks.0.attn.r"], moved, np.arange(6 * C).reshape(6, C))
                left = after.value - attention.value
                # The change of x by an error is of the first order too; its bound is in the ball.
                if kind != "errors":
                    left = left - np.einsum("ndce,nce->nd", derivative, delta)
                size = np.linalg.norm(left, axis=1)
                assert (size <= limit).all()
                largest = max(largest, float((size / limit).max()))
    assert largest > least
