"""Encodings against numbers of their papers and codes, and their formulas written out pair by pair in float64.

Those of `none`, `sinusoidal`, `rotary`, `alibi` and `transformer_xl` are written out in test_transformer.py.
"""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from languages.errors import UserError, one_of
from regulargpt import encodings
from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import Encoding, Positions, consecutive
from regulargpt.encodings.options import ScaledOptions, T5Options, XposOptions, bucket_starts
from regulargpt.encodings.sinusoidal import sinusoid
from regulargpt.options import ConfigError

X = (0.0, 1.0, 2.0, 10.0, 511.0, 8191.0)
H, D, LAYERS, LENGTH = 2, 4, 2, 9


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


Q, K, INPUT = normal(1, 2, H, LENGTH, D), normal(2, 2, H, LENGTH, D), normal(3, 2, LENGTH, H * D)
AT = consecutive(Q, K)
CONTENT = Q @ K.mT / math.sqrt(D)


def built(written: str, n_heads: int = 4, d_head: int = 4, causal: bool = True, n_layers: int = 1) -> Any:
    options = ENCODINGS.options(written, "encoding")
    made = encodings.build(options, d_model=n_heads * d_head, n_heads=n_heads, n_layers=n_layers, causal=causal)
    return made.double().eval().requires_grad_(False)


def small(written: str, causal: bool = True) -> Any:
    """For the queries and keys Q and K, in two layers."""
    return built(written, H, D, causal, LAYERS)


def at_distances(*x: float) -> Positions:
    """One query, whose keys lie so far behind it."""
    m = max(x)
    return Positions(torch.tensor([m], dtype=torch.float64), torch.tensor([m - d for d in x], dtype=torch.float64))


def bias(encoding: Encoding, *x: float) -> Tensor:
    """What is added at these distances: (n_heads, distances)."""
    q = torch.zeros(1, encoding.n_heads, 1, encoding.d_head, dtype=torch.float64)
    found = encoding.bias(q, q.expand(-1, -1, len(x), -1), at_distances(*x))
    assert found is not None
    return found[0, :, 0]


def bias_of(encoding: Encoding, length: int) -> Tensor:
    """What is added in a word: (n_heads, length, length)."""
    q = torch.zeros(1, encoding.n_heads, length, encoding.d_head, dtype=torch.float64)
    found = encoding.bias(q, q, consecutive(q, q))
    assert found is not None
    return found[0]


def weight(encoding: Encoding, *x: float) -> Tensor:
    """By what the logits are multiplied at these distances: (n_heads, distances)."""
    q = torch.zeros(1, encoding.n_heads, 1, encoding.d_head, dtype=torch.float64)
    return encoding.score(torch.ones(1, encoding.n_heads, 1, len(x)).double(), q, q, at_distances(*x))[0, :, 0]


def with_values(encoding: Encoding, **values: list[float]) -> Encoding:
    for name, given in values.items():
        encoding.get_parameter(name).copy_(torch.tensor(given, dtype=torch.float64)[:, None, None])
    return encoding


@pytest.mark.parametrize("width", [1, 2, 5, 8])
def test_sinusoid_is_the_papers_formula(width: int):
    positions = [0.0, 1.0, 7.0, 1e6, -3.0]
    for row, m in zip(sinusoid(torch.tensor(positions, dtype=torch.float64), width), positions, strict=True):
        for column in range(width):
            angle = m / 10000 ** ((column - column % 2) / width)
            assert float(row[column]) == pytest.approx((math.sin, math.cos)[column % 2](angle), abs=1e-9)


def exponents(n: int) -> list[float]:
    """The recursion of fairseq's get_slopes: P heads, then every second one of 2 P heads."""
    if n & (n - 1) == 0:
        return [8 * (h + 1) / n for h in range(n)]
    power = max(2**k for k in range(5) if 2**k <= n)
    return exponents(power) + exponents(2 * power)[0::2][: n - power]


@pytest.mark.parametrize("n_heads", range(1, 17))
def test_the_slopes_of_alibi_are_those_of_the_paper_and_of_the_published_code(n_heads: int):
    for rule, wanted in (
        ("geometric", [8 * n / n_heads for n in range(1, n_heads + 1)]),
        ("press", exponents(n_heads)),
    ):
        slopes = -bias(built(f"alibi:slopes={rule}", n_heads), 1)[:, 0]
        assert slopes.log2().neg().tolist() == pytest.approx(wanted)


def test_the_table_of_sinusoids_gives_every_distance_in_any_order_of_asking():
    encoding = encodings.build("transformer_xl", d_model=6, n_heads=2)
    with torch.inference_mode():
        encoding.sinusoids(2, -1)
    for highest, lowest in [(0, -1), (4, -5), (3, -1), (40, -1), (0, -33), (31, -32), (32, -1)]:
        wanted = sinusoid(torch.arange(highest, lowest - 1, -1).double(), 6)
        assert torch.equal(encoding.sinusoids(highest, lowest), wanted)
    q = normal(0, 1, 2, 3, 3).requires_grad_()
    encoding.float().double().bias(q, q, consecutive(q, q)).sum().backward()
    assert encoding.weight.grad is not None


@pytest.mark.parametrize("shift", [-3, 0, 2, 4, 6, 8])
def test_the_shift_of_alibi_is_added_to_every_exponent(shift: int):
    shifted = -bias(built(f"alibi:shift={shift}", n_heads=8), 1)[:, 0]
    assert shifted.tolist() == [2.0 ** -(n + shift) for n in range(1, 9)]
    equal = -bias(built(f"alibi:slopes=equal,shift={shift}", n_heads=12), 3)[:, 0]
    assert equal.tolist() == [3 * 2.0**-shift] * 12


def test_a_bias_of_key_positions_alone_is_alibi_after_the_softmax():
    """-s(m - n) and +s n differ by a constant in each row."""
    future = torch.ones(9, 9, dtype=torch.bool).triu(1)
    of_keys = (2.0 ** -(2 * torch.arange(1.0, 5.0)))[:, None, None] * torch.arange(9.0)
    of_keys = of_keys.double().expand(4, 9, 9)
    one, other = (b.masked_fill(future, -math.inf).softmax(-1) for b in (bias_of(built("alibi"), 9), of_keys))
    assert torch.allclose(one, other, atol=1e-14)


def test_the_buckets_of_t5_begin_where_every_published_code_lets_them_begin():
    wanted = [*range(1, 17), 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    assert bucket_starts(32, 128) == wanted
    encoding = built("t5")
    for x in range(200):
        bucket = x if x < 16 else min(31, 16 + int(16 * math.log(x / 16) / math.log(8) + 1e-9))
        assert int(encoding.bucket(torch.tensor([[float(x)]]))) == bucket


def test_t5_of_a_model_that_is_not_causal_has_a_half_of_the_buckets_for_each_side():
    encoding = built("t5", causal=False)
    past, future = (encoding.bucket(torch.tensor([[sign * x for x in range(1, 130)]]))[0] for sign in (1.0, -1.0))
    assert (future - past).unique().tolist() == [16]
    wanted = [x if x < 8 else min(15, 8 + int(8 * math.log(x / 8) / math.log(16) + 1e-9)) for x in range(1, 130)]
    assert past.tolist() == wanted


@pytest.mark.parametrize(("scale", "factor"), [("neox", 3.0), ("mesh", 1.0)])
def test_the_bias_of_t5_is_its_table_at_the_bucket_times_the_scale(scale: str, factor: float):
    encoding = built(f"t5:scale={scale}", d_head=9)
    rows = torch.tensor([0, 1, 16, 31])
    table = encoding.get_parameter("weight")
    assert torch.allclose(bias(encoding, 0, 1, 18, 500), factor * table[rows].T, atol=1e-14)


def test_t5_starts_as_its_sources():
    xavier, normal = (built(f"t5:drawn={name}", n_heads=2048, d_head=1) for name in ("xavier", "normal"))
    assert float(xavier.get_parameter("weight").std()) == pytest.approx(math.sqrt(2 / 2080), rel=0.02)
    assert float(normal.get_parameter("weight").std()) == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("train_len", [1, 2, 10, 16, 17, 40, 100, 128, 512])
def test_all_buckets_of_t5_that_are_used_are_trained(train_len: int):
    """The distances of training reach the last bucket that any distance is in."""
    encoding = built(f"t5:train_len={train_len}")
    trained, far = (encoding.bucket(torch.arange(float(end))[None]) for end in (train_len, 10_000))
    assert max(int(trained.max()), 1) == int(far.max())


def test_t5_refuses_buckets_that_training_does_not_reach():
    far = T5Options("t5", max_distance=128)
    assert [far.too_short(length) is None for length in (113, 114)] == [False, True]
    most = int((far.too_short(40) or "").rpartition(" ")[2])
    assert T5Options("t5", max_distance=most).too_short(40) is None
    assert all(T5Options("t5").too_short(length) is None for length in (1, 2, 40, 512))


# By the first index, with h = 8: values at distances, where they rise first, and the fit of r_1 ln(1 + x) + c.
SANDWICH = {
    0: ({0: 0.0, 1: -0.238, 2: -0.827, 3: -1.477, 4: -1.927, 8191: -8.105}, 11, (-1.024, -0.015)),
    1: ({0: 0.0, 1: -0.181}, 13, (-1.015, 0.083)),
}


@pytest.mark.parametrize("first", SANDWICH)
def test_sandwich_has_the_published_numbers(first: int):
    encoding, (values, rises, fit) = built(f"sandwich:first_index={first}", n_heads=1), SANDWICH[first]
    assert bias(encoding, *values)[0].tolist() == pytest.approx(list(values.values()), abs=5e-4)
    x = torch.arange(50).double()
    y = bias(encoding, *x.tolist())[0]
    assert int((y.diff() > 0).nonzero()[0]) == rises
    design = torch.stack([x.log1p(), torch.ones(50).double()], -1)
    assert torch.linalg.lstsq(design, y[:, None]).solution[:, 0].tolist() == pytest.approx(fit, abs=1e-3)


@pytest.mark.parametrize("first", [0, 1])
def test_sandwich_is_the_product_of_two_sinusoids(first: int):
    """Of p_m and p_n without what belongs to the symbols, over h_n: the appendix's listing."""
    angle = torch.arange(20).double()[:, None] * 10_000.0 ** (-2 * (torch.arange(4).double() + first) / 8)
    p = torch.cat([angle.sin(), angle.cos()], -1)
    h = torch.tensor([2.0, 4, 6, 8], dtype=torch.float64)[:, None, None]
    found = bias_of(built(f"sandwich:d_bar=8,first_index={first}"), 20)
    assert torch.allclose(found, (p @ p.T - 4) / h, atol=1e-12)


@pytest.mark.parametrize(("fit", "a"), [("figure", 0.825), ("nearest", 1.024)])
def test_the_smooth_sandwich_is_kerple_log(fit: str, a: float):
    """Section 6.3: r_1 = 8a/h_n, r_2 = 1."""
    h = [8 * n / 12 for n in range(1, 13)]
    kerple = with_values(built("kerple_log", n_heads=12), r1=[8 * a / each for each in h], r2=[1.0] * 12)
    smooth = built(f"sandwich_smooth:fit={fit}", n_heads=12)
    assert torch.allclose(bias(smooth, *X), bias(kerple, *X), atol=1e-12)


R1, R2, R3, R4 = [0.5, 1.5], [0.3, 2.0], [1.0, 1.7], [0.01, 1.0]
FORMULAS = {
    "kerple_power": lambda x, a, b, c, d: -a * x**b,
    "kerple_log": lambda x, a, b, c, d: -a * math.log(1 + b * x),
    "kerple_log3": lambda x, a, b, c, d: -a * math.log(1 + b * x**c),
    "kerple_bias_wht": lambda x, a, b, c, d: -a * x**b,
    "gauss_bias2": lambda x, a, b, c, d: a * math.exp(-b * x**2),
    "gauss_bias3": lambda x, a, b, c, d: a * math.exp(-b * x**c),
}
WEIGHTS = {
    "kerple_bias_wht": lambda x, a, b, c, d: math.exp(-c * x**d),
    "gauss_wht1": lambda x, a, b, c, d: math.exp(-a * x**2),
    "gauss_wht2": lambda x, a, b, c, d: math.exp(-a * x**b),
}


@pytest.mark.parametrize("name", sorted(FORMULAS.keys() | WEIGHTS.keys()))
def test_kernels_are_their_formulas(name: str):
    encoding = built(name, n_heads=2)
    own = dict(zip(("r1", "r2", "r3", "r4"), (R1, R2, R3, R4), strict=True))
    with_values(encoding, **{key: own[key] for key, _ in encoding.named_parameters()})
    for formulas, found in ((FORMULAS, bias), (WEIGHTS, weight)):
        if name in formulas:
            values = zip(R1, R2, R3, R4, strict=True)
            wanted = [[formulas[name](x, *four) for x in X] for four in values]
            assert torch.allclose(found(encoding, *X), torch.tensor(wanted, dtype=torch.float64), atol=1e-12)


# Where each parameter starts at most; exponents stay at most 2 for ever.
STARTS: dict[str, dict[str, int]] = {
    **{"kerple_power": {"r1": 1, "r2": 2}, "kerple_log": {"r1": 2, "r2": 1}, "gauss_wht1": {"r1": 1}},
    **{"kerple_log3": {"r1": 2, "r2": 1, "r3": 2}, "kerple_bias_wht": {"r1": 1, "r2": 2, "r3": 1, "r4": 2}},
    **{"gauss_bias2": {"r1": 2, "r2": 1}, "gauss_bias3": {"r1": 2, "r2": 1, "r3": 2}, "gauss_wht2": {"r1": 1, "r2": 2}},
}
EXPONENTS = {("kerple_power", "r2"), ("kerple_log3", "r3"), ("kerple_bias_wht", "r2"), ("kerple_bias_wht", "r4"),
             ("gauss_bias3", "r3"), ("gauss_wht2", "r2")}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_kernels_start_uniformly_from_one_hundredth_on_and_stay_in_their_domain(name: str):
    encoding = built(name, n_heads=10_000, d_head=1)
    assert [key for key, _ in encoding.named_parameters()] == list(STARTS[name])
    for key, high in STARTS[name].items():
        value = encoding.get_parameter(key)
        assert value.shape == (10_000, 1, 1)
        assert float(value.min()) == pytest.approx(0.01)
        assert float(value.max()) == pytest.approx(high, rel=1e-2)
        assert float(value.mean()) == pytest.approx(high / 2, rel=5e-2)
    for start in (-5.0, 5.0):
        for p in encoding.parameters():
            p.fill_(start)
        encoding.project()
        for key, p in encoding.named_parameters():
            # Only exponents have an upper end.
            assert p.unique().tolist() == [0.01 if start < 0 else 2.0 if (name, key) in EXPONENTS else 5.0]


def test_xpos_has_the_published_zeta():
    zeta = built("xpos", n_heads=1, d_head=32).zeta.tolist()
    assert (zeta[0], zeta[15]) == pytest.approx((0.285714, 0.955357), abs=1e-6)
    assert zeta == pytest.approx([(2 * i + 0.4 * 32) / (1.4 * 32) for i in range(16)], abs=1e-12)


def products(encoding: Encoding, q: Tensor, k: Tensor, at: Positions) -> Tensor:
    q, k = encoding.rotate(q, k, at)
    return q @ k.mT


def test_xpos_is_equation_10_whatever_the_centre():
    """zeta_i^((m-n)/B) cos((m-n) theta_i) summed over the pairs, for q and k of ones."""
    encoding, pairs = built("xpos", n_heads=1, d_head=8), range(4)
    q = torch.ones(1, 1, 5, 8, dtype=torch.float64)
    for first in (0.0, 300.0):
        n = first + torch.tensor([0.0, 1, 5, 70, 400], dtype=torch.float64)
        found = products(encoding, q, q, Positions(n, n))[0, 0]
        for i, m in enumerate(n.tolist()):
            for j, key in enumerate(n.tolist()):
                x = m - key
                terms = [((2 * p / 8 + 0.4) / 1.4) ** (x / 512) * math.cos(x * 10_000 ** (-2 * p / 8)) for p in pairs]
                assert float(found[i, j]) == pytest.approx(2 * sum(terms), abs=1e-9)


def test_the_limits_of_xpos():
    q, k = normal(1, 1, 2, 9, 8), normal(2, 1, 2, 9, 8)
    at = consecutive(q, k)
    rotary = products(built("rotary", n_heads=2, d_head=8), q, k, at)
    wide = products(built("xpos:gamma=1e12", n_heads=2, d_head=8), q, k, at)
    assert torch.allclose(wide, rotary, atol=1e-9)
    still = built("xpos:rotate=false,zeta=scalar", n_heads=2, d_head=8)
    decay = (0.4 / 1.4) ** (at.distances / 512)
    assert torch.allclose(products(still, q, k, at), decay * (q @ k.mT), atol=1e-12)


def test_xpos_is_finite_as_far_as_it_says_and_refuses_farther():
    options = XposOptions("xpos")
    most = next(n for n in range(70_000, 71_000) if options.too_long(n + 1))
    n = torch.tensor([0.0, most - 1.0])
    q = torch.ones(1, 1, 2, 4)
    turned = encodings.build("xpos", d_model=4, n_heads=1).rotate(q, q, Positions(n.double(), n.double()))
    assert all(bool(x.isfinite().all()) for x in turned)


def test_halves_are_pairs_with_the_columns_in_another_order():
    q, k = normal(1, 1, 2, 9, 8), normal(2, 1, 2, 9, 8)
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])
    pairs, halves = (built(f"rotary:layout={layout}", n_heads=2, d_head=8) for layout in ("pairs", "halves"))
    at = consecutive(q, k)
    assert torch.allclose(products(pairs, q[..., order], k[..., order], at), products(halves, q, k, at), atol=1e-12)
    assert not torch.allclose(products(pairs, q, k, at), products(halves, q, k, at))


def test_a_fraction_of_a_head_is_rotary_there_and_nothing_elsewhere():
    q = normal(1, 1, 2, 9, 8)
    part, _ = built("rotary:fraction=0.5", n_heads=2, d_head=8).rotate(q, q, consecutive(q, q))
    whole, _ = built("rotary", n_heads=2, d_head=4).rotate(q[..., :4], q[..., :4], consecutive(q, q))
    assert torch.equal(part[..., 4:], q[..., 4:])
    assert torch.allclose(part[..., :4], whole, atol=1e-12)


def angles(written: str, length: int) -> Tensor:
    """theta_i of a word of this length, read off the rotation of (1, 0) at position 1."""
    encoding = built(written, n_heads=1, d_head=8)
    q = torch.tensor([1.0, 0.0] * 4).double().expand(1, 1, length, 8)
    turned, _ = encoding.rotate(q, q, consecutive(q, q))
    pairs = turned[0, 0, 1].unflatten(-1, (4, 2))
    return torch.atan2(pairs[:, 1], pairs[:, 0])


THETA = 10_000.0 ** (-torch.arange(4).double() / 4)


@pytest.mark.parametrize("scaling", ["interpolation", "ntk", "dynamic_ntk", "yarn"])
def test_scaling_changes_nothing_up_to_the_training_length_nor_in_training(scaling: str):
    written = f"rotary:scaling={scaling},train_len=16"
    assert torch.allclose(angles(written, 16), THETA, atol=1e-12)
    assert not torch.allclose(angles(written, 32), THETA)
    training = built(written, n_heads=1, d_head=8).train()
    q = normal(1, 1, 1, 32, 8)
    plain = built("rotary", n_heads=1, d_head=8).rotate(q, q, consecutive(q, q))[0]
    assert torch.equal(training.rotate(q, q, consecutive(q, q))[0], plain)


@pytest.mark.parametrize(
    ("written", "stretch"),
    [
        ("scaling=interpolation", [1 / 4] * 4),
        ("scaling=interpolation,factor=8", [1 / 8] * 4),
        ("scaling=ntk", [4.0 ** (-i / 3) for i in range(4)]),
        ("scaling=ntk,factor=2", [2.0 ** (-i / 3) for i in range(4)]),
        ("scaling=dynamic_ntk", [4.0 ** (-i / 3) for i in range(4)]),
        ("scaling=dynamic_ntk,factor=2", [7.0 ** (-i / 3) for i in range(4)]),
    ],
)
def test_scaled_angles(written: str, stretch: list[float]):
    """A word four times as long as those of the training; under NTK the slowest pair is interpolated exactly."""
    found = angles(f"rotary:train_len=16,{written}", 64)
    assert torch.allclose(found, THETA * torch.tensor(stretch, dtype=torch.float64), atol=1e-12)


def test_the_window_is_a_mask():
    encoding = built("window:width=3")
    assert bias(encoding, 0, 1, 2, 3, 4)[0].tolist() == [0, 0, 0, -math.inf, -math.inf]
    assert encoding.span == 3
    seen = bias_of(built("window:width=2", causal=False), 4)[0] == 0
    assert seen.long().tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]


def test_learned_positions_are_rows_and_end():
    encoding, x = built("learned:train_len=5"), torch.zeros(2, 5, 16, dtype=torch.float64)
    rows = encoding.get_parameter("weight")
    assert rows.shape == (5, 16)
    assert torch.equal(encoding.embed(x, torch.arange(5.0))[1], rows)
    with pytest.raises(UserError, match=r"^learned positions end at length 5, not 6; "):
        encoding.embed(x, 1 + torch.arange(5.0))
    clamped = built("learned:train_len=5,beyond=clamp")
    assert torch.equal(clamped.embed(x, 3 + torch.arange(5.0))[0], rows[[3, 4, 4, 4, 4]])


def test_learned_positions_start_small():
    assert float(built("learned").get_parameter("weight").std()) == pytest.approx(0.02, rel=0.02)


def test_transformer_xl_with_a_clamp_sees_far_keys_at_the_clamp():
    q = normal(1, 1, 4, 1, 4).expand(-1, -1, 8, -1)
    clamped, plain = (
        built(f"transformer_xl{clamp}").bias(q, q, consecutive(q, q))[0, :, -1] for clamp in (":clamp=3", "")
    )
    assert torch.allclose(clamped[:, :5], clamped[:, 4:5].expand(-1, 5), atol=1e-14)
    assert torch.allclose(clamped[:, 4:], plain[:, 4:], atol=1e-14)


@pytest.mark.parametrize("causal", [True, False])
def test_fire_is_a_network_of_the_distance_over_the_longest(causal: bool):
    encoding = small("fire:train_len=4", causal)
    encoding.L.fill_(1.5)
    found = encoding.bias(Q, K, AT)[0]

    def psi(x: int) -> float:
        return math.log(abs(float(encoding.c) * x) + 1)

    for m in range(LENGTH):
        for n in range(m + 1 if causal else LENGTH):
            x = torch.tensor(psi(m - n) / (psi(max(m, n, 6)) + 1e-6), dtype=torch.float64)
            hidden = F.relu(x * encoding.w1 + encoding.b1)
            assert torch.allclose(found[:, m, n], encoding.w2 @ hidden + encoding.b2, atol=1e-12)


def test_the_argument_of_fire_stays_within_0_and_1_however_long_the_word():
    encoding = small("fire:train_len=4")
    for name, value in (("w1", 1.0), ("w2", 1.0), ("b1", 0.0), ("b2", 0.0)):
        encoding.get_parameter(name).fill_(value)
    far = Positions(torch.tensor([1e6]).double(), torch.tensor([0.0, 1e6]).double())
    found = encoding.bias(Q[:, :, :1], K[:, :, :2], far)[0, 0, 0] / encoding.width
    assert found.tolist() == pytest.approx([1, 0], abs=1e-6)


def forgotten(encoding: Any, layer: int = 0) -> Tensor:
    """The bias that forgetting makes of the input."""
    return encoding.bias(Q, K, Positions(AT.m, AT.n, layer, encoding.prepare(INPUT, layer)))


@pytest.mark.parametrize("layer", range(LAYERS))
def test_forgetting_adds_up_the_logarithms_of_the_gates_between(layer: int):
    encoding = small("forgetting:gate_bias=1")
    found = forgotten(encoding, layer)
    gates = torch.sigmoid(INPUT @ encoding.weight[layer].T + encoding.offset[layer])  # (batch, length, n_heads)
    for m in range(LENGTH):
        for n in range(m + 1):
            assert torch.allclose(found[:, :, m, n], gates[:, n + 1 : m + 1].log().sum(1), atol=1e-12)


def test_gates_start_where_those_of_the_authors_do():
    """Linear maps of N(0, 0.02^2) and biases of 0 (zhixuan-lin/forgetting-transformer): a half fades a symbol."""
    encoding = built("forgetting", n_heads=8, d_head=32, n_layers=4)
    assert not bool(encoding.offset.any())
    assert (float(encoding.weight.mean()), float(encoding.weight.std())) == pytest.approx((0, 0.02), abs=5e-4)
    assert float(encoding.prepare(normal(4, 2, 50, 256), 1).exp().mean()) == pytest.approx(0.5, abs=0.01)
    assert small("forgetting:gate_bias=5").offset.unique().tolist() == [5.0]


@pytest.mark.parametrize(("offset", "slope"), [(40.0, 0.0), (0.0, math.log(2))])
def test_gates_that_never_close_forget_nothing_and_equal_ones_are_alibi(offset: float, slope: float):
    encoding = small("forgetting")
    encoding.weight.zero_()
    encoding.offset.fill_(offset)
    assert torch.allclose(forgotten(encoding), -slope * AT.distances.expand(2, H, -1, -1), atol=1e-12)


def test_cope_interpolates_between_vectors_of_counts_and_starts_as_no_encoding():
    encoding, gates = small("cope:p_max=4"), torch.sigmoid(CONTENT)
    assert torch.equal(encoding.score(CONTENT, Q, K, AT), CONTENT)
    encoding.weight.copy_(normal(5, LAYERS, 4, D))
    found, e = encoding.score(CONTENT, Q, K, consecutive(Q, K, 1)), encoding.weight[1]
    for m in range(LENGTH):
        for n in range(m + 1):
            p = gates[:, :, m, n : m + 1].sum(-1).clamp(max=3)
            low, high = e[p.floor().long()], e[p.ceil().long()]  # each (batch, n_heads, d_head)
            mixed = low + (p - p.floor())[..., None] * (high - low)
            assert torch.allclose(found[:, :, m, n] - CONTENT[:, :, m, n], (Q[:, :, m] * mixed).sum(-1), atol=1e-12)


def logits(encoding: Encoding) -> Tensor:
    q, k = encoding.rotate(Q, K, AT)
    found, added = q @ k.mT / math.sqrt(D), encoding.bias(q, k, AT)
    return found if added is None else found + added


@pytest.mark.parametrize("positions", ["none", "rotary", "alibi"])
def test_log_n_sharpens_beyond_training_alone(positions: str):
    """Content times ln(m + 1) / ln 4 from the fifth query on; what is added stays as it is."""
    plain, scaled = small(positions), small(f"log_n:train_len=4,inner={positions}")
    added = 0 if (found := plain.bias(Q, K, AT)) is None else found
    factors = [max(1.0, math.log(m + 1) / math.log(4)) for m in range(LENGTH)]
    content = torch.tensor(factors, dtype=torch.float64)[:, None] * (logits(plain) - added)
    assert torch.allclose(logits(scaled), content + added, atol=1e-12)


def test_ssmax_is_a_power_of_the_number_of_keys():
    """softmax(s ln n z)_j = n^(s z_j) / sum n^(s z_i)."""
    encoding = small("ssmax")
    encoding.s.copy_(torch.tensor([[0.5, 2.0]] * LAYERS))
    found = logits(encoding)
    for m in range(LENGTH):
        for head, s in enumerate((0.5, 2.0)):
            powers = (m + 1.0) ** (s * CONTENT[:, head, m, : m + 1])
            wanted = powers / powers.sum(-1, keepdim=True)
            assert torch.allclose(found[:, head, m, : m + 1].softmax(-1), wanted, atol=1e-12)


@pytest.mark.parametrize("train_len", [1, 2, 40, 512])
def test_ssmax_starts_as_sharp_as_attention_on_a_training_word(train_len: int):
    scale = small(f"ssmax:train_len={train_len}").scale(torch.arange(1.0, train_len + 1, dtype=torch.float64), 1)
    assert train_len == 1 or float(scale.mean()) == pytest.approx(1, abs=1e-6)
    assert bool(scale.isfinite().all())


def test_in_a_model_that_is_not_causal_every_query_sees_all_keys():
    found = logits(small("log_n:train_len=3", causal=False))
    assert torch.allclose(found, math.log(LENGTH) / math.log(3) * CONTENT, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in ENCODINGS if ENCODINGS[name].options is not ScaledOptions])
def test_what_another_encoding_says_of_itself_is_said_of_it_scaled(name: str):
    options, plain, scaled = ENCODINGS.options(name, ""), small(name), small(f"log_n:inner={name}")
    for said in ("changes_logits", "changes_score", "span", "learning_rate"):
        assert getattr(plain, said) == getattr(scaled, said)
    inner = {f"inner.{key}": value for key, value in plain.state_dict().items()}
    assert inner.keys() == scaled.state_dict().keys()
    assert all(torch.equal(value, scaled.state_dict()[key]) for key, value in inner.items())
    outer = ScaledOptions("log_n", options)
    assert outer.not_bidirectional() == options.not_bidirectional()
    for length in (1, 40, 10**6):
        assert outer.too_long(length) == options.too_long(length)
        assert outer.too_short(length) == options.too_short(length)
    assert list(outer.refuse_heads(6, 2)) == list(options.refuse_heads(6, 2))
    assert outer.parameters(8) == options.parameters(8)


REFUSED = {
    "alibi:slopes=flat": "slopes = 'flat'; choose one of geometric, press, equal",
    "rotary:factor=0.5": "factor = 0.5; it is at least 1, or 0: test length / train_len",
    "rotary:fraction=2": "fraction = 2.0; it is a share, 0 to 1",
    "t5:buckets=30": "buckets = 30 is not a multiple of 4",
    "sandwich:d_bar=7": "d_bar = 7 is odd; it counts pairs of a sine and a cosine",
    "window:width=0": "width = 0; a window has at least 1 key",
    "xpos:gamma=0": "gamma = 0.0; zeta_0 must be above 0",
    "kerple_log:learning_rate=-1": "learning_rate = -1.0; it is not negative",
}


@pytest.mark.parametrize(("written", "message"), REFUSED.items())
def test_refused_options(written: str, message: str):
    with pytest.raises(ConfigError) as refused:
        ENCODINGS.options(written, "encoding")
    assert str(refused.value) == f"encoding.{message}"


UNBUILT = {
    ("rotery", 8, 2): "unknown encoding 'rotery'; did you mean 'rotary'?",
    ("zzz", 8, 2): "unknown encoding 'zzz'; choose " + one_of(list(ENCODINGS)),
    ("rotary", 6, 2): "rotary needs heads of even width, d_model / n_heads = 6 / 2 = 3; change d_model or n_heads",
    ("alibi", 8, 3): "n_heads = 3 does not divide d_model = 8; choose one that does",
}


@pytest.mark.parametrize(("given", "message"), UNBUILT.items())
def test_what_cannot_be_built_is_refused(given: tuple[str, int, int], message: str):
    with pytest.raises(UserError) as refused:
        encodings.build(given[0], d_model=given[1], n_heads=given[2])
    assert str(refused.value) == message


def test_every_file_of_the_package_is_in_the_registry_and_every_encoding_in_the_guide():
    files = {path.stem for path in Path(encodings.__file__).parent.glob("*.py")}
    # The last three are put around one that is trained.
    own = {"__init__", "wrapper", "base", "distance", "options", "regrouped", "tempered", "added"}
    assert files - own == {row.place.partition(":")[0].rpartition(".")[2] for row in ENCODINGS.values()}
    guide = Path(encodings.__file__).parents[2] / "docs/models.md"
    rows = [line.split("|")[1] for line in guide.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = " ".join(rows).replace("`", "").replace(",", "").split()
    assert [name for name in ENCODINGS if name not in named] == []
