"""Balls that the network maps into themselves: the bound holds for every displacement that is tried, and closes."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regulargpt.certificate.search import invariant_balls
from regulargpt.certificate.search.affine_forms import (
    AffineForm,
    Coordinates,
    DeviationBound,
    Source,
    spectral_bound,
    spectral_norm,
)
from regulargpt.certificate.search.attention_remainder import (
    AttentionExpansion,
    Projections,
    product_norm,
    shift_log_odds,
    softmax_curvature,
)
from regulargpt.certificate.search.block_bounds import expand, projections
from regulargpt.certificate.search.gated_bounds import attend_head
from regulargpt.certificate.search.invariant_balls import (
    BallConditions,
    InvariantBalls,
    NotInvariant,
    find_invariant_balls,
    half_distances,
    images_of,
    largest,
    stretches,
)
from regulargpt.certificate.search.networks import image_bounds
from regulargpt.certificate.search.remainders import (
    EXPANSIONS,
    CoordinateBound,
    activation,
    gelu_remainder,
    gelu_slope,
    layer_norm,
    product,
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


@given(x=st.floats(-5, 5), far=st.floats(1e-3, 6))
def test_what_activations_leave_is_no_more_than_their_curvature_says(x: float, far: float):
    """By a fine grid: ReLU leaves the overhang, the others at most far^2 / 2 times the largest second derivative."""
    h, ends = torch.linspace(-far, far, 2001, dtype=torch.float64), np.array([far])
    t, centre = (x + h).requires_grad_(), torch.tensor(x, dtype=torch.float64)
    for name, function in (("gelu", torch.nn.functional.gelu), ("sigmoid", torch.sigmoid), ("relu", torch.relu)):
        value, slope, remainder = EXPANSIONS[name]
        assert abs(value(np.array([x]))[0] - function(centre).item()) < 1e-14
        (slopes,) = torch.autograd.grad(function(t).sum(), t, create_graph=True)
        left = (function(t) - function(centre) - float(slope(np.array([x]))[0]) * h).abs().max()
        limit = remainder(np.array([x]), ends)[0]
        assert left.item() <= limit + 1e-12
        if name == "relu":
            assert limit <= left.item() + 1e-12
        else:
            (curvature,) = torch.autograd.grad(slopes.sum(), t)
            most = 1 / (6 * np.sqrt(3)) if name == "sigmoid" else curvature.abs().max().item()
            assert limit <= most * far**2 / 2 * (1 + 1e-4)


def test_coordinates_and_products_move_just_as_far_as_is_said():
    """Each coordinate alone is moved so far by some vectors in the sources' bounds, and by none farther."""
    rng = np.random.default_rng(0)
    sources: list[Source] = [0, 1, "ball", Coordinates("box")]
    x, y = (AffineForm(rng.normal(size=(4, 3)), {s: rng.normal(size=(4, 3, 5)) for s in sources}) for _ in range(2))
    radii, ball, box = rng.uniform(0, 1, (4, 2)), rng.uniform(0, 1, 4), rng.uniform(0, 1, (4, 5))
    lengths = {"ball": ball, Coordinates("box"): box}
    sizes = [radii[:, 0], radii[:, 1], ball]

    def farthest(form: AffineForm) -> Floats:
        of_balls = [
            np.linalg.norm(form.maps[s], axis=2) * size[:, None] for s, size in zip(sources, sizes, strict=False)
        ]
        return sum(of_balls) + (np.abs(form.maps[Coordinates("box")]) * box[:, None]).sum(2)

    def near(limit: Floats, exact: Floats) -> bool:
        return bool(((exact <= limit) & (limit <= exact * (1 + 1e-7))).all())

    assert near(CoordinateBound.from_form(x)(radii, lengths), farthest(x))
    form, remainder = product(x, y, Coordinates("product"))
    assert near(remainder(radii, lengths), farthest(x) * farthest(y))
    e = {s: rng.normal(size=(4, 5)) for s in sources}
    moved = [f.centre + sum(np.einsum("nmk,nk->nm", f.maps[s], e[s]) for s in sources) for f in (x, y)]
    first = form.centre + sum(np.einsum("nmk,nk->nm", form.maps[s], e[s]) for s in sources)
    assert np.allclose(moved[0] * moved[1] - first, (moved[0] - x.centre) * (moved[1] - y.centre))
    active, left = activation(x, "gelu", Coordinates("activation"))
    assert np.allclose(active.maps[0], gelu_slope(x.centre)[..., None] * x.maps[0])
    assert near(left(radii, lengths), gelu_remainder(x.centre, farthest(x)))


@pytest.mark.parametrize("sizes", [(1.0, 1.0, 1.0), (2.0, 0.5, 1.0), (0.3, 2.0), (2.0, 0.3)])
def test_what_logits_leave_of_a_pattern_is_reached(sizes: tuple[float, ...]):
    """Where queries and keys are 0, logits move by products alone; keys are the queries turned round, to reach all."""
    C, far = len(sizes), 0.01
    _, net = network(3, 1.0, chunk_size=C, norm="post", attention_bias=False)
    net.w["blocks.0.attn.key.weight"][:] = -net.w["blocks.0.attn.query.weight"]
    jacobian = np.array([size * np.eye(D) for size in sizes])
    p = Projections.from_network(net, np.zeros((C, D)), jacobian, np.ones(D), np.zeros(D))
    attention, _ = AttentionExpansion.over(np.zeros((HEADS, C)), p, np.arange(C)[None])
    box, _ = attention.remainder(np.full((1, C), far), np.zeros((1, C)))
    left = box.reshape(C, HEADS)
    for h in range(HEADS):
        way = np.linalg.svd(p.query_map[h])[2][0]
        for j in range(1, C):
            signs = np.where(np.arange(C) == j, -1, 1)  # the own node's logit falls, that of j rises, others fall
            x = (signs * far * np.array(sizes))[:, None] * way
            logits = np.array([(p.query_map[h] @ x[0]) @ (p.key_map[h] @ x[c]) for c in range(C)])
            moved = np.exp(logits) / np.exp(logits).sum() - 1 / C
            assert 0.9 * left[j, h] <= moved[j] <= left[j, h]


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("far", [0.03, 0.3, 2.0])
def test_no_displacement_moves_a_pattern_farther_from_its_first_order(C: int, far: float):
    """By rows that differ in how far they move, each offset and head alone."""
    rng = np.random.default_rng(C)
    for trial in range(4):
        _, net = network(trial, 1.0, chunk_size=C, norm="post")
        rows, jacobian = rng.normal(size=(C, D)), rng.normal(size=(C, D, D)) * rng.uniform(0.05, 0.6, (C, 1, 1))
        r = rng.normal(size=(HEADS, C))

        def pattern(delta: Floats, p: Projections, r: Floats) -> Floats:
            x = delta @ np.swapaxes(p.jacobian, 1, 2)  # (C, 1, D)
            query = p.query[0] + np.einsum("hkd,d->hk", p.query_map, x[0, 0])
            key = p.key + np.einsum("hkd,cd->chk", p.key_map, x[:, 0])
            logits = np.einsum("hk,chk->ch", query, key) + r.T
            e = np.exp(logits - logits.max(0))
            return e / e.sum(0)

        p = Projections.from_network(net, rows, jacobian, np.ones(D), np.zeros(D))
        attention, _ = AttentionExpansion.over(r, p, np.arange(C)[None])
        box, _ = attention.remainder(np.full((1, C), far), np.zeros((1, C)))
        still = pattern(np.zeros((C, 1, D)), p, r)
        assert np.allclose(attention.pattern[0], still)
        for _ in range(30):
            delta = far * unit(rng, C, D)[:, None]
            slope = (pattern(1e-5 * delta, p, r) - pattern(-1e-5 * delta, p, r)) / 2e-5
            left = np.abs(pattern(delta, p, r) - still - slope)
            assert (left <= box.reshape(C, HEADS) + 1e-9).all()


@given(p=st.floats(1e-6, 1 - 1e-6), by=st.floats(-49, 49), wider=st.floats(0, 3))
def test_what_a_shift_of_logits_does_to_a_probability(p: float, by: float, wider: float):
    shifted = shift_log_odds(np.array(p), np.array(1 - p), np.array(by))
    assert np.isclose(shifted, 1 / (1 + (1 - p) / p * np.exp(-by)), rtol=1e-12)
    assert shift_log_odds(np.array(p), np.array(1 - p), np.array([-51.0, 51.0])).tolist() == [0, 1]
    low, high = (shift_log_odds(np.array(p), np.array(1 - p), np.array(way)) for way in (-wider, wider))
    grid = np.linspace(low, high, 200)
    two = (grid * (1 - grid) * abs(1 - 2 * grid)).max()
    limit = softmax_curvature(low, high, 2)
    assert two <= limit + 1e-12
    assert limit <= 1 / (6 * np.sqrt(3)) * (1 + 1e-8)
    if wider == 0:
        assert np.isclose(limit, two)
    # Of three: any second derivative of a softmax along changes h of range 1.
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = float(rng.choice(grid))
        share = rng.uniform()
        of = np.array([q, (1 - q) * share, (1 - q) * (1 - share)])
        h = rng.permutation([0.0, 1.0, rng.uniform()])
        m = of @ h
        assert q * abs((h[0] - m) ** 2 - of @ (h - m) ** 2) <= softmax_curvature(low, high, 3) + 1e-12
    assert softmax_curvature(low, high, 2) <= softmax_curvature(low, high, 3) <= 9 / 64 * (1 + 1e-8)


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


@given(seed=st.integers(0, 10**6))
def test_a_bound_holds_for_every_displacement_and_is_the_least_of_its_kinds(seed: int):
    """Of two states, of a vector of bounded length, and of one with bounded coordinates."""
    rng, C = np.random.default_rng(seed), 2
    sources: list[Source] = [0, 1, "ball", Coordinates("box")]
    sizes = [3, 3, 4, 5]
    maps = {s: rng.normal(size=(6, 7, k)) for s, k in zip(sources, sizes, strict=True)}
    form = AffineForm(rng.normal(size=(6, 7)), maps)
    radii, ball, box = rng.uniform(0, 1, (6, C)), rng.uniform(0, 1, 6), rng.uniform(0, 1, (6, 5))
    bound = DeviationBound.from_form(form, C)
    limit = bound(radii, {"ball": ball, Coordinates("box"): box})
    largest = np.zeros(6)
    for _ in range(50):
        parts = [radii[:, c, None] * unit(rng, 6, 3) for c in range(C)]
        parts += [ball[:, None] * unit(rng, 6, 4), box * rng.choice([-1, 1], box.shape)]
        moved = sum(np.einsum("nmk,nk->nm", maps[s], part) for s, part in zip(sources, parts, strict=True))
        largest = np.maximum(largest, np.linalg.norm(moved, axis=1))
    assert (largest <= limit).all()
    # Each alone: the norm, as sharp as the spectral bound; of coordinates the lesser of both ways, and each is less.
    norms = {s: np.linalg.svd(m, compute_uv=False)[:, 0] for s, m in maps.items()}
    no_states, nothing = np.zeros((6, C)), {"ball": np.zeros(6), Coordinates("box"): np.zeros((6, 5))}
    of_ball = bound(no_states, nothing | {"ball": ball})
    assert (norms["ball"] * ball <= of_ball).all()
    assert (of_ball <= 1.08 * norms["ball"] * ball).all()
    columns = np.linalg.norm(maps[sources[3]], axis=1)
    for at in (0, slice(None)):
        some = np.zeros((6, 5))
        some[:, at] = box[:, at]
        ways = [(columns * some).sum(1), norms[sources[3]] * np.linalg.norm(some, axis=1)]
        assert (bound(no_states, nothing | {Coordinates("box"): some}) <= 1.08 * np.minimum(*ways)).all()
    for c in range(C):
        only = np.where(np.arange(C) == c, radii, 0)
        assert (bound(only, nothing) <= 1.08 * norms[c] * radii[:, c]).all()
        assert (bound(only, nothing) >= norms[c] * radii[:, c]).all()
    # Two states that undo each other move it hardly at all; the bound knows them as two vectors.
    both = bound(radii, nothing)
    assert (both <= 1.08 * (norms[0] * radii[:, 0] + norms[1] * radii[:, 1])).all()
    across = AffineForm(form.centre, {0: maps[0], 1: np.linalg.svd(maps[0])[0][:, :, 3:6]})
    pythagoras = np.sqrt(np.square(norms[0] * radii[:, 0]) + np.square(radii[:, 1]))
    assert (DeviationBound.from_form(across, C)(radii, {}) <= 1.08 * pythagoras).all()


def unit(rng: np.random.Generator, n: int, k: int) -> Floats:
    """Vectors (n, k) of length 1."""
    x = rng.normal(size=(n, k))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("size", [0.3, 3.0, 40.0])
def test_a_head_in_first_order_is_what_a_small_step_does_however_sharp_its_pattern(C: int, size: float):
    rng, d = np.random.default_rng(C), 4

    def head(x: Floats) -> Floats:
        query, *rest = x.reshape(1 + 2 * C, d)
        keys, values = np.stack(rest[:C]), np.stack(rest[C:])
        logits = keys @ query + bias
        p = np.exp(logits - logits.max())
        return out @ (p / p.sum() @ values)

    x, bias, out = rng.normal(size=(1 + 2 * C) * d), rng.normal(size=C), rng.normal(size=(6, d))
    x[: (1 + C) * d] *= size
    forms = [
        AffineForm(x[None, at * d : (at + 1) * d], {"x": np.eye(len(x))[None, at * d : (at + 1) * d]})
        for at in range(1 + 2 * C)
    ]
    moved, remainder = attend_head(bias, forms[0], forms[1 : 1 + C], forms[1 + C :], out)
    assert np.allclose(moved.centre[0], head(x), atol=1e-12)
    assert np.allclose(remainder.pattern.sum(1), 1)
    assert np.allclose(remainder.complement, 1 - remainder.pattern, atol=1e-12)
    step = 1e-6 / size
    slopes = np.stack([(head(x + step * e) - head(x - step * e)) / (2 * step) for e in np.eye(len(x))], 1)
    assert np.allclose(moved.maps["x"][0], slopes, atol=1e-5 * (1 + np.abs(slopes).max()))
    for far in (1e-3, 0.1, 1.0):
        radii, lengths = np.zeros((1, C)), dict[Source, Floats]({"x": np.array([far])})
        limit = remainder(radii, lengths)[0]
        for _ in range(20):
            delta = far * unit(rng, 1, len(x))[0]
            left = head(x + delta) - head(x) - moved.maps["x"][0] @ delta
            assert np.linalg.norm(left) <= limit + 1e-9


def test_what_a_head_leaves_is_reached_where_logits_move_by_products_alone():
    """Of two offsets, queries and keys about 0: one logit falls, the other rises, and the values stand still."""
    rng, d, far = np.random.default_rng(0), 4, 0.02
    zero, eye = np.zeros((1, d)), np.eye(d)[None]
    values = [AffineForm(rng.normal(size=(1, d)), {}) for _ in range(2)]
    q, keys = AffineForm(zero, {0: eye}), [AffineForm(zero, {0: -eye}), AffineForm(zero, {1: eye})]
    out = rng.normal(size=(6, d))
    for bias in (np.zeros(2), np.array([1.0, -0.5])):
        p = np.exp(bias) / np.exp(bias).sum()
        _, remainder = attend_head(bias, q, keys, values, out)
        limit = remainder(np.full((1, 2), far), {})[0]
        logits = bias + far**2 * np.array([-1, 1])
        moved = np.exp(logits) / np.exp(logits).sum() - p
        left = np.linalg.norm(out @ (moved @ np.concatenate([value.centre for value in values])))
        assert 0.85 * limit <= left <= limit


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


@pytest.mark.parametrize("slack", [1e-3, 0.05])
def test_the_radii_are_hardly_more_than_the_least_that_close(slack: float):
    """Beside a slow iteration, which creeps up on them; so far the answers hold, and no farther."""
    net, prototypes, leaves, nodes, answers = contracting()
    conditions = BallConditions(net, prototypes, leaves, nodes, answers)
    found = conditions.solve(slack)
    assert isinstance(found, InvariantBalls)
    bounds, (windows, images), (leaf_windows, leaf_images) = conditions.nodes, nodes, leaves
    residuals = np.linalg.norm(images_of(net, prototypes, windows) - prototypes[images - 1], axis=1)
    of_leaves = np.linalg.norm(net.over_symbols(leaf_windows).numpy() - prototypes[leaf_images - 1], axis=1)
    floor = np.full(len(prototypes), slack)
    np.maximum.at(floor, leaf_images - 1, of_leaves + slack)
    least = floor
    for _ in range(300):
        least = floor.copy()
        moved = bounds.bound(np.maximum(least, floor)) - bounds.residuals
        np.maximum.at(least, images - 1, residuals + 1.1 * moved + slack)
        floor = np.maximum(floor, least)
    assert np.allclose(bounds.residuals, residuals)
    assert (found.radii >= least - 1e-9).all()
    assert (found.radii <= 1.03 * least + 1e-6).all()
    moved = bounds.bound(found.radii) - bounds.residuals
    node, leaf = found.radii[images - 1] - residuals - 1.1 * moved, found.radii[leaf_images - 1] - of_leaves
    assert np.isclose(found.slack, min(node.min(), leaf.min()))
    # One step along the difference of two answers' weights, just before its end and just behind it.
    weight = net.w["readout.weight"]
    for k, limit in enumerate(conditions.limits):
        way = weight[1 - answers[k]] - weight[answers[k]]
        for share, is_right in ((0.999, True), (1.001, False)):
            state = prototypes[k] + share * limit * way / np.linalg.norm(way)
            assert (int(net.readout(torch.from_numpy(state[None])).argmax()) == answers[k]) == is_right


def test_how_far_windows_stretch_is_about_the_size_of_their_jacobians():
    model, net = network(3, 1.0)
    prototypes, windows = np.random.default_rng(2).normal(size=(K, D)), all_windows(model.chunk_size)
    states = images_of(net, prototypes, windows)
    found = stretches(net, prototypes, windows, states)
    children = torch.from_numpy(net.rows(prototypes)[windows])
    jacobian = torch.autograd.functional.jacobian(lambda x: block(model, x, windows == 0).sum(0), children)
    assert isinstance(jacobian, torch.Tensor)
    for i, window in enumerate(windows):
        by_row = torch.zeros(K, D, D, dtype=torch.float64)  # a row that stands in a window twice moves twice
        for c, row in enumerate(window):
            if row:
                by_row[row - 1] += jacobian[:, i, c]
        assert 0.5 < found[i] / by_row.norm().item() < 1.6
    assert largest(np.array([3.0, 1.0, 2.0])).tolist() == [0, 2, 1]
    others = [np.delete(prototypes, k, 0) - p for k, p in enumerate(prototypes)]
    assert np.allclose(half_distances(prototypes), [np.linalg.norm(other, axis=1).min() / 2 for other in others])


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
