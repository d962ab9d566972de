"""The checker's bound for states in balls: no displacement that is tried leaves it, and it is not much too large."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from regulargpt.certificate.checker.affine_forms import (
    ErrorSource,
    TooFar,
    WrittenForm,
    activation,
    layer_norm,
    side_by_side,
)
from regulargpt.certificate.checker.balls import Undecided, exact, greatest, largest, norm, of_flint, spectral
from regulargpt.certificate.checker.block_bounds import attend_head
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.image_bounds import CheckedImageBounds
from regulargpt.certificate.checker.network import Network
from regulargpt.certificate.checker.networks import bounds_of, network_of
from regulargpt.certificate.checker.regulargpt import R
from regulargpt.models.tree.base import Tree
from tests.regulargpt.networks import (
    D_FF,
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
    weights,
    within_balls,
    worst,
)
from tests.regulargpt.test_checker_network import LDRU, as_record, middle

Floats = npt.NDArray[np.float64]
IN_BOTH = pytest.mark.parametrize("kind", [np.asarray, Doubles.from_value], ids=["FLINT", "float64"])


def network(model: Tree, shape: dict[str, Any]) -> Network:
    """The checker's network with this model's weights."""
    if shape.get("name") == "ldru":
        return network_of(weights(model), as_record({"d_model": D} | shape, 2, 2, LDRU))
    known = {"d_model": D, "n_heads": HEADS, "d_ff": D_FF, "embedding_scale": 1.0}
    return network_of(weights(model), as_record(known | shape, 2, 2))


def bounds_in(
    arithmetic: str, model: Tree, shape: dict[str, Any], prototypes: Floats, radii: Floats
) -> CheckedImageBounds[Any]:
    """The checker's bounds, in balls of FLINT or of float64."""
    of, known = network(model, shape), exact(prototypes)
    if arithmetic == "float64":
        return bounds_of(of.in_doubles(), Doubles.from_value(known), exact(radii))
    return bounds_of(of, known, exact(radii))


def bound_each(bounds: CheckedImageBounds[Any], model: Tree, images: Any = None) -> Floats:
    """At most this far all windows move, or from the prototypes `images` (n,); infinite where nothing follows."""

    def bound(window: Any, image: int | None) -> float:
        try:
            far = bounds.image(window).deviation if image is None else bounds.distance(window, image).upper()
            return float(np.nan_to_num(float(far), nan=math.inf))  # what is not a number says nothing
        except (Undecided, TooFar):
            return math.inf

    windows = all_windows(model.chunk_size)
    of = [None] * len(windows) if images is None else images
    with ctx.workprec(64), np.errstate(all="ignore"):
        return np.array([bound(*entry) for entry in zip(windows, of, strict=True)])


@each(SHAPES[::3] + TREES)
@within_balls
def test_no_displacement_within_the_balls_leaves_the_bound(
    shape: dict[str, Any], seed: int, size: float, log_radii: tuple[float, ...]
):
    model = random_model(seed, size, **shape)
    case = pushed(model, seed, log_radii)
    for arithmetic in ("FLINT", "float64"):
        found = bounds_in(arithmetic, model, shape, case.prototypes, case.radii)
        assert (case.far <= bound_each(found, model, case.images)).all()


@each([SHAPES[2], SHAPES[7], SHAPES[12], TREES[0], TREES[4], TREES[5]])
@within_balls
def test_in_float64_images_move_as_far_as_in_flint(
    shape: dict[str, Any], seed: int, size: float, log_radii: tuple[float, ...]
):
    model = random_model(seed, size, **shape)
    rng = np.random.default_rng(seed)
    prototypes = rng.normal(size=(K, D)) * rng.uniform(0.1, 2)
    # Larger balls are bounded in other ways: which norm serves for a source, how the ends of a ball go through exp.
    radii = np.minimum(np.exp(np.array(log_radii)), 1e-3)
    exactly, quickly = (
        bound_each(bounds_in(kind, model, shape, prototypes, radii), model) for kind in ("FLINT", "float64")
    )
    small = exactly < 0.1
    np.testing.assert_allclose(quickly[small], exactly[small], rtol=0.01)
    assert (quickly[~small] > 0.09).all()


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.tuples(st.integers(1, 9), st.integers(1, 9)), st.floats(-300, 300))
def test_the_spectral_norm_is_bounded_from_above_and_not_by_much(seed: int, shape: tuple[int, int], log_size: float):
    a = np.random.default_rng(seed).normal(size=shape) * 2.0**log_size
    norm_of_a = np.linalg.norm(a, 2)
    with ctx.workprec(64):
        for balls, most in ((exact(a), min(shape) ** (1 / 64) * (1 + 1e-12)), (Doubles(a, np.zeros(shape)), 1.07)):
            assert norm_of_a * (1 - 1e-12) <= float(spectral(balls)) <= most * norm_of_a
        assert spectral(exact(np.zeros(shape))) == 0
        # Numbers at the ends of their balls.
        wide = float(spectral(Doubles(a, np.full(shape, norm_of_a))))
        for ends in (a + norm_of_a, a - norm_of_a):
            assert wide >= np.linalg.norm(ends, 2) * (1 - 1e-12)


def test_what_is_no_number_is_bounded_by_none():
    unknown = Doubles(np.array([[1.0, np.nan], [np.inf, 2.0]]), np.zeros((2, 2)))
    with np.errstate(all="ignore"):
        for bound in (spectral(unknown), greatest(unknown[0]), greatest(unknown[1]), norm(unknown[0])):
            assert not bound < 1e300
        # A bound that is too large for a double does not become a number known exactly.
        overflow = largest(Doubles(np.array([1e308, 1.0]), np.array([1e308, 0.0])))
        assert np.isfinite(overflow.radius).tolist() == [False, True]


@each(SHAPES[1::5] + TREES)
def test_for_small_balls_the_bound_is_about_what_can_happen(shape: dict[str, Any]):
    model = random_model(5, 1.0, **shape)
    windows = all_windows(model.chunk_size)
    prototypes = np.random.default_rng(2).normal(size=(K, D))
    rows = np.concatenate([model.absent.detach().numpy(), prototypes])
    of_images = block(model, torch.from_numpy(rows[windows]), windows == 0).detach().numpy()
    far = worst(model, rows[windows], np.where(windows > 0, 1e-5, 0.0), of_images, steps=30)
    with ctx.workprec(64):
        slopes = bounds_of(network(model, shape), exact(prototypes), exact(np.full(K, 1e-5)))
        moved = np.array([float(slopes.image(window).deviation) for window in windows])
    assert (far <= moved).all()
    assert (moved < 1.5 * far).all()


@each(SHAPES[1::3] + TREES)
def test_the_linear_part_is_torchs_jacobian_and_the_centre_the_image(shape: dict[str, Any]):
    model = random_model(3, **shape)
    prototypes = np.random.default_rng(0).normal(size=(K, D))
    rows = np.concatenate([model.absent.detach().numpy(), prototypes])
    with ctx.workprec(64):
        slopes = bounds_of(network(model, shape), exact(prototypes), exact(np.full(K, 1e-9)))
        for window in all_windows(model.chunk_size)[-4:]:
            found, states = slopes.image(window), torch.from_numpy(rows[window])[None]
            assert np.abs(middle(found.centre) - block(model, states)[0].detach().numpy()).max() < 1e-12
            jacobian = torch.autograd.functional.jacobian(lambda x: block(model, x)[0], states)[:, 0]  # (d, C, d)
            first = [m for s, m in found.maps.items() if s.size > 1e-10]
            assert len(first) == len(window)
            for c, m in enumerate(first):
                assert np.abs(middle(m) - jacobian[:, c].numpy()).max() < 1e-11


def ball(centre: Floats, radius: float) -> WrittenForm:
    """A vector that moves in a ball."""
    return WrittenForm(exact(centre), {ErrorSource(arb(radius)): exact(np.eye(len(centre)))})


def of_one(form: WrittenForm) -> tuple[Floats, float]:
    """The linear part by the one vector that moves, and the size of what is left, in a form made of `ball`."""
    first, *left = form.maps.items()
    return middle(first[1]), sum(float(s.size) for s, _ in left)


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
            first, limit = of_one(normed)
            for way in (h, -h, *rng.normal(size=(50, D))):
                delta = far * way / np.linalg.norm(way)
                left = plain_norm(u + delta) - middle(normed.centre) - first @ delta
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


@pytest.mark.parametrize("kind", ["gelu", "relu", "sigmoid"])
def test_what_the_activation_leaves(kind: str):
    function = {"gelu": torch.nn.functional.gelu, "relu": torch.nn.functional.relu, "sigmoid": torch.sigmoid}[kind]
    grid = torch.linspace(-1, 1, 401, dtype=torch.float64)
    with ctx.workprec(64):
        for z in (*np.linspace(-4, 4, 33), 0.0):
            for far in (1e-3, 0.1, 1.0, 5.0):
                found = activation(ball(np.array([z]), far), kind)
                slope, limit = of_one(found)
                moved = function(z + far * grid) - float(found.centre[0].mid()) - float(slope[0, 0]) * far * grid
                assert moved.abs().max() <= limit + 1e-12


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.floats(-8, 2), st.booleans())
def test_what_a_product_leaves_and_how_vectors_stand_side_by_side(seed: int, log_far: float, same: bool):
    """Of x = a + A e_1 + B e_2 and y = b + D e_2 + E e_3, or of x and x."""
    rng, far = np.random.default_rng(seed), math.exp(log_far)
    a, b, *matrices = rng.normal(size=(6, D, D))
    with ctx.workprec(64):
        sources = [ErrorSource(arb(far * scale)) for scale in (1, 2, 3)]
        x = WrittenForm(exact(a[0]), dict(zip(sources[:2], map(exact, matrices[:2]), strict=True)))
        y = x if same else WrittenForm(exact(b[0]), dict(zip(sources[1:], map(exact, matrices[2:]), strict=True)))
        product, pair = x.times(y), side_by_side([x, y])
        (left,) = [s for s in product.maps if s not in sources]

        def value(form: WrittenForm, vectors: list[Floats]) -> Floats:
            moved = (middle(form.maps[s]) @ v for s, v in zip(sources, vectors, strict=True) if s in form.maps)
            return middle(form.centre) + sum(moved)

        for _ in range(20):
            way = rng.normal(size=(3, D))
            vectors = [far * scale * v / np.linalg.norm(v) for scale, v in zip((1, 2, 3), way, strict=True)]
            found = value(x, vectors) * value(y, vectors) - value(product, vectors)
            assert np.linalg.norm(found) <= float(left.size) * (1 + 1e-12)
            assert (abs(found) <= middle(left.each) * (1 + 1e-12)).all()
            np.testing.assert_array_equal(value(pair, vectors), [*value(x, vectors), *value(y, vectors)])


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.tuples(st.integers(1, 9), st.integers(1, 9)), st.floats(-30, 30), st.booleans())
def test_no_vector_within_its_bounds_goes_beyond_what_it_can_reach(
    seed: int, shape: tuple[int, int], log_size: float, few: bool
):
    rng = np.random.default_rng(seed)
    m = rng.normal(size=shape) * 2.0**log_size
    each = rng.exponential(size=shape[1]) * (rng.integers(0, 4, shape[1]) == 0 if few else 1)
    size = rng.uniform(0.1, 1) * np.linalg.norm(each)
    with ctx.workprec(64):
        for balls, known in ((exact(m), exact(each)), (Doubles.from_value(exact(m)), Doubles.from_value(exact(each)))):
            source, free = ErrorSource(arb(size), known), ErrorSource(arb(size))
            reach = min(float(source.reach(balls).upper()), float(WrittenForm(balls[:, 0], {source: balls}).deviation))
            coordinates, anywhere = middle(of_flint(source.coordinate_reach(balls))), float(free.reach(balls).upper())
            assert reach <= anywhere * (1 + 1e-9) + 1e-300
            for _ in range(20):
                e = each * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], shape[1])
                e *= min(1.0, size / max(np.linalg.norm(e), 1e-300))
                assert np.linalg.norm(m @ e) <= reach * (1 + 1e-9)
                assert (abs(m @ e) <= coordinates * (1 + 1e-9) + 1e-300).all()


@IN_BOTH
@pytest.mark.parametrize("bounded", [True, False], ids=["each coordinate", "length"])
def test_a_remainder_takes_in_the_sources_that_move_little_and_all_that_they_do(kind: Any, bounded: bool):
    rng = np.random.default_rng(0)
    large, *small = rng.normal(size=(3, D, D))
    each = rng.exponential(size=D)
    with ctx.workprec(64):
        sources = [ErrorSource(arb(1)), ErrorSource(arb(1e-7)), ErrorSource(arb(2e-7), kind(exact(1e-7 * each)))]
        maps = {s: kind(exact(m)) for s, m in zip(sources, [large, *small], strict=True)}
        x = WrittenForm(kind(exact(np.zeros(D))), maps)
        found = x.with_remainder(arb(1e-9), kind(exact(np.full(D, 1e-9))) if bounded else None)
        kept, one = found.maps
        assert kept is sources[0]
        np.testing.assert_array_equal(middle(of_flint(found.maps[one].reshape(-1))), np.eye(D).ravel())
        for _ in range(100):
            way = rng.normal(size=D)
            first = 1e-7 * way / np.linalg.norm(way)
            second = 1e-7 * each * rng.choice([-1, 1], D)
            second *= min(1, 2e-7 / np.linalg.norm(second))
            moved = small[0] @ first + small[1] @ second + rng.choice([-1e-9, 1e-9], D) / math.sqrt(D)
            assert np.linalg.norm(moved) <= float(one.size)
            assert not bounded or (abs(moved) <= middle(of_flint(one.each))).all()
        # Nothing is taken in where nothing is left.
        assert x.with_remainder(arb(0)) is x


@IN_BOTH
def test_a_unit_that_changes_sign_moves_no_more_than_its_own_column(kind: Any):
    """W ReLU(x) with one of many units near 0: nothing of the other columns of W counts."""
    rng = np.random.default_rng(0)
    weight, z = rng.normal(size=(D, 64)), rng.choice([-1.0, 1.0], 64)
    weight[:, 5], z[5] = 0.01 * weight[:, 5], 1e-3
    with ctx.workprec(64):
        one = ErrorSource(arb(0.01))
        x = WrittenForm(kind(exact(z)), {one: kind(exact(np.eye(64)))})
        y = activation(x, "relu")
        (left,) = [s for s in y.maps if s is not one]
        alone = WrittenForm(y.centre, {left: y.maps[left]}).linear(kind(exact(weight))).deviation
        assert float(alone) == pytest.approx(0.009 * np.linalg.norm(weight[:, 5]), rel=1e-6)
        assert float(alone) < 0.02 * 0.009 * np.linalg.norm(weight, 2)


def test_no_less_would_do_for_a_product():
    """Where one coordinate alone moves, all three bounds of the product's remainder are met."""
    with ctx.workprec(64):
        one = WrittenForm(exact(np.zeros(D)), {ErrorSource(arb(0.5)): exact(np.eye(D)[:, :1])})
        *_, left = one.times(one).maps
        assert float(left.size) == pytest.approx(0.25)


def test_attention_leaves_the_product_of_what_pattern_and_values_move():
    """Two values that are equal at the centre: p_0 v_0 + p_1 v_1 = sigmoid(2 q) v_0 for logits q and -q, v_1 = 0."""
    one = np.ones(1)
    with ctx.workprec(64):
        q, v = ball(0 * one, 1.0), ball(0 * one, 1.0)
        keys, still = [WrittenForm(exact(sign * one), {}) for sign in (1, -1)], WrittenForm(exact(0 * one), {})
        network: Any = SimpleNamespace(d=1, w={R: exact(np.zeros((1, 2)))}, open=exact(np.ones((2, 1))))
        form, rest = attend_head(network, 0, q, keys, [v, still])
        (source,) = v.maps
        first = float(form.maps[source][0, 0])
        for moved in np.linspace(-1, 1, 21):
            assert abs(1 / (1 + math.exp(-2 * moved)) - first) <= float(rest)
        assert float(rest) < 0.51


def test_an_offset_that_takes_no_part_costs_attention_nothing():
    """However far its key moves, which no logit reads."""
    with ctx.workprec(64):
        q, near, far = (ball(np.ones(2), radius) for radius in (0.1, 0.2, 1e6))
        w = {R: exact(np.zeros((1, 3)))}
        network: Any = SimpleNamespace(d=2, w=w, open=exact(np.array([[1.0], [1.0], [0.0]])))
        _, rest = attend_head(network, 0, q, [near, q, far], [near, q, q])
        network = SimpleNamespace(d=2, w={R: w[R][:, :2]}, open=exact(np.ones((2, 1))))
        _, without = attend_head(network, 0, q, [near, q], [near, q])
        assert 0 < float(rest) == pytest.approx(float(without))


@IN_BOTH
def test_a_source_without_a_written_map_has_the_identity(kind: Any):
    rng = np.random.default_rng(0)
    weight, gain = kind(exact(rng.normal(size=(2, D)))), kind(exact(rng.normal(size=D)))
    with ctx.workprec(64):
        bare = WrittenForm(kind(exact(np.ones(D))), {}).with_remainder(arb(0.5))
        written = WrittenForm(bare.centre, bare.maps)
        assert bare.bare in written.written
        for change in (lambda x: x.linear(weight), lambda x: x.scaled(gain).linear(weight), lambda x: x.plus(x)):
            one, other = change(bare), change(written)
            assert list(one.maps) == list(other.maps) == [bare.bare]
            found, known = (middle(of_flint(form.maps[bare.bare].reshape(-1))) for form in (one, other))
            np.testing.assert_allclose(found, known, rtol=1e-15)


def test_a_wide_layer_needs_no_matrix_of_its_width_squared():
    """Which would be 80 GB here."""
    wide = WrittenForm(Doubles.from_value(exact(np.zeros(100_000))), {}).with_remainder(arb(1))
    found = wide.linear(Doubles.from_value(exact(np.ones((1, 100_000)))))
    assert float(found.deviation) == pytest.approx(math.sqrt(100_000))


def test_a_relu_at_an_unknown_sign_is_bounded_all_the_same():
    with ctx.workprec(64):
        unknown = WrittenForm(np.array([arb(0, 1e-9)]), {ErrorSource(arb(0.5)): exact(np.eye(1))})
        found = activation(unknown, "relu")
        slope, limit = of_one(found)
        assert slope.item() == 0
        assert limit >= 0.5
