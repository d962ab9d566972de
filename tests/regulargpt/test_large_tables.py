"""Certificates that do not list their table: the checker finds it, and every forgery of one, or of its network."""

import ctypes
import json
import platform
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from regulargpt.certificate import record as records
from regulargpt.certificate.checker import Malformed, Rejected, nearest
from regulargpt.certificate.checker.balls import exact, exp, product, sqrt
from regulargpt.certificate.checker.doubles import Doubles, is_ieee, multiplies_plainly
from regulargpt.certificate.checker.files import parsed, tensors
from regulargpt.certificate.checker.images import Images
from regulargpt.certificate.checker.network import gelu, sigmoid
from regulargpt.certificate.checker.networks import network_of
from regulargpt.certificate.checker.tables import FoundTable, WindowTable
from regulargpt.storage.manifest import digest
from tests.regulargpt.exact_trees import as_config, certificate_of, last_ldru, last_symbol
from tests.regulargpt.forging import (
    Cases,
    Change,
    Record,
    assert_refused,
    checked,
    drop,
    forge,
    made,
    put,
    refused_each,
)

Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module", params=["right", "left"])
def certified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certified network that is made, not trained, counted from either side, and its certificate without a table."""
    folder = tmp_path_factory.mktemp(request.param) / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "MAX_LISTED", 0)
        if request.param == "right":
            made(folder, "even-pairs")
        else:
            options = {"operator": "linear", "d_model": 2}
            certificate_of(last_ldru(), as_config("ldru", options, last_symbol()), last_symbol(), folder)
    forge(folder, "certificate", put("unquantised", None))
    return folder


@pytest.fixture
def copy(certified: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(certified, tmp_path / "run"))


def test_a_table_that_is_found_is_accepted(certified: Path):
    record = json.loads((certified / "certificate.json").read_text())
    assert set(record["leaves"]) == set(record["nodes"]) == {"entries", "sha256"}
    accepted = checked(certified)
    assert accepted.entries == record["leaves"]["entries"] + record["nodes"]["entries"]
    assert accepted.smallest_margin > 0.5


def double_point(record: Record) -> None:
    """Two prototypes in one place, of which none is nearer; nothing is said of answers there."""
    record["prototypes"][1] = record["prototypes"][0]
    record["answers"][:2] = None, None


def count(part: str, more: int) -> Change:
    return lambda r: put(f"{part}/entries", r[part]["entries"] + more)(r)


def same_symbols(weights: Record) -> None:
    """Whatever the digest says, some root answers wrongly."""
    weights["embedding.weight"] = weights["embedding.weight"][:1].repeat(2, 1)


FORGERIES: Cases = {
    ("certificate", Rejected): {
        "digest": (put("nodes/sha256", "0" * 64), "have other images than the certificate says"),
        "fewer": (count("nodes", -1), "nodes: more than"),
        "more": (count("leaves", 1), r"leaves: \d windows occur, not"),
        "far more": (put("nodes/entries", 1 << 40), "at most 8,388,608 are gone through"),
        "answers": (lambda r: r["answers"].reverse(), "the answer at prototype 1 is not"),
        "a point twice": (double_point, "at least as near|a tie, or nearly one"),
    },
    ("certificate", Malformed): {
        "no digest": (put("nodes/sha256", "0"), "64 hexadecimal digits"),
        "no count": (drop("nodes/entries"), "'nodes' has no 'entries'"),
        "windows too": (put("nodes/windows", []), "unknown key 'windows'"),
        "negative": (put("leaves/entries", -1), "a number of entries from 0 on"),
        "a truth value": (put("leaves/entries", True), "of the wrong kind"),
    },
    ("weights", Rejected): {
        "same symbols": (same_symbols, r"leaves, window \[\d, \d\]: prototype \d is the root of words that lead"),
    },
}


@refused_each(FORGERIES)
def test_forgeries_are_refused(copy: Path, name: str, change: Change, kind: type[ValueError], message: str):
    assert_refused(copy, name, change, kind, message)


WINDOWS = st.lists(st.tuples(*[st.integers(0, 4)] * 3), unique=True, max_size=30)


@settings(max_examples=100)
@given(WINDOWS, st.integers(1, 9), st.sampled_from([5, 2**40]))
def test_a_table_that_is_found_is_the_table_that_is_listed(rows: list[tuple[int, ...]], size: int, base: int):
    windows = np.array(rows, dtype=np.int64).reshape(-1, 3)
    images = 1 + windows.sum(1)
    known = WindowTable(base, windows, images)
    found = FoundTable("nodes", base, 3, lambda new: 1 + new.sum(1), len(rows), known.digest())
    for at in range(0, len(windows), size):
        for _ in range(2):
            np.testing.assert_array_equal(found(windows[at : at + size]), images[at : at + size])
    found.check()
    np.testing.assert_array_equal(found.windows(), sorted(rows) or np.zeros((0, 3)))
    np.testing.assert_array_equal(found.windows(), known.windows())
    expected = b"".join(np.array([*row, 1 + sum(row)], dtype="<u4").tobytes() for row in sorted(rows))
    assert known.digest() == digest(expected)


NUMBERS = st.floats(-60, 60) | st.sampled_from([0.0, 1e-300, 5e-324, 6.0, -6.0, 1 / 128, 3 / 128, 2.0**40, -(2.0**40)])


def contains(quick: Doubles, balls: Any) -> bool:
    """Whether each ball lies in that of float64; what is not finite holds everything."""
    pairs = zip(quick.middle.ravel(), quick.radius.ravel(), balls.ravel(), strict=True)
    return all(not np.isfinite([m, r]).all() or bool(abs(x - arb(m)) <= arb(r)) for m, r, x in pairs)


@settings(max_examples=200)
@given(st.lists(NUMBERS, min_size=4, max_size=4), st.lists(NUMBERS, min_size=4, max_size=4), st.integers(0, 3))
def test_float64_balls_hold_what_the_balls_of_flint_hold(a: list[float], b: list[float], wide: int):
    # Bits enough that the sums below are exact.
    with ctx.workprec(1300), np.errstate(all="ignore"):
        x, y = exact(a), exact(b)
        # Numbers anywhere in their balls, also at the ends.
        radius = np.array([0.0, 1e-12, 1e-3, 0.25])[wide]
        p, q = Doubles(np.array(a), np.full(4, radius)), Doubles(np.array(b), np.full(4, radius / 2))
        for s, t in ((radius, -radius / 2), (-radius, radius / 2), (0.0, 0.0)):
            u, v = x + arb(s), y + arb(t)
            assert contains(p + q, u + v)
            assert contains(p - q, u - v)
            assert contains(1 - p, 1 - u)
            assert contains(p * q, u * v)
            assert contains(p.reshape(1, 4).sum(1), np.array([u.sum()]))
            assert p.sum(0).contains(u.sum())
            assert contains(abs(p), abs(u))
            assert all(bound >= abs(number) for bound, number in zip(exact(p.largest().middle), u, strict=True))
            assert not ((p > q) & ~(u > v)).any()
            assert not ((p < 0) & ~(u < 0)).any()
            scaled, size = p.scaled()
            assert contains(scaled, u / size)
            assert contains(p.where(p > q, q), np.where(p > q, u, v))
            assert contains(p.reshape(2, 2).product(q.reshape(2, 2)), product(u.reshape(2, 2), v.reshape(2, 2)))
            if all(abs(z) > radius for z in b):
                assert contains(p / q, u / v)
            assert contains(p.positive().sqrt(), sqrt(np.array([x.nonnegative_part() for x in u])))
            assert contains(exp(p), exp(u))
            assert contains(gelu(p), gelu(u))
            assert contains(sigmoid(p), sigmoid(u))


def test_what_overflows_decides_nothing():
    with np.errstate(all="ignore"):
        huge = Doubles(np.array([1e300, -1e300]), np.zeros(2))
        for value in (huge * huge, exp(huge), Doubles.from_value(1) / Doubles(np.zeros(1), np.ones(1))):
            assert not np.isfinite(value.middle[:1] + value.radius[:1]).any()


def test_a_sum_that_overflows_is_no_number_though_its_terms_have_small_radii():
    with np.errstate(all="ignore"):
        total = Doubles(np.full((1, 2), 2.0**1000), np.zeros((1, 2))).product(
            Doubles.from_value(np.full((2, 1), 2.0**23))
        )
        assert not np.isfinite((Doubles.from_value(2.0**1000) / total).radius).any()


def test_a_ball_too_small_for_a_double_keeps_a_radius():
    assert (Doubles.from_value(exact([1.0, 2.0**-1074])).radius == 0).all()
    assert Doubles.from_value(arb("1e-400")).radius > 0


def test_where_doubles_are_not_those_of_ieee_754_the_balls_decide_everything(certified: Path, monkeypatch):
    assert is_ieee()
    quick = checked(certified)
    monkeypatch.setattr(nearest, "is_ieee", lambda: False)
    slow = checked(certified)
    assert 0 < quick.smallest_margin <= slow.smallest_margin
    assert slow.entries == quick.entries


def test_arithmetic_that_is_not_that_of_ieee_754_is_noticed():
    """What a library may switch on for its process: numbers near 0 become 0, or all are rounded upward."""
    c, upward, nearest_even = ctypes.CDLL(None), 0x800, 0  # of x86-64, as fesetround has them
    if platform.machine() != "x86_64" or not torch.set_flush_denormal(True):
        pytest.skip("this processor has other switches")
    try:
        assert not is_ieee()
    finally:
        torch.set_flush_denormal(False)
    assert is_ieee()
    try:
        assert c.fesetround(upward) == 0
        assert not is_ieee()
    finally:
        c.fesetround(nearest_even)
    assert is_ieee()


def strassen(a: Floats, b: Floats) -> Floats:
    """The product of square matrices by seven products of halves, which adds entries of different rows (1969)."""
    h = len(a) // 2
    if h < 8:
        return a @ b
    (a11, a12), (a21, a22) = ((a[i, :h], a[i, h:]) for i in (slice(h), slice(h, None)))
    (b11, b12), (b21, b22) = ((b[i, :h], b[i, h:]) for i in (slice(h), slice(h, None)))
    m = strassen(a11 + a22, b11 + b22), strassen(a21 + a22, b11), strassen(a11, b12 - b22), strassen(a22, b21 - b11)
    n = strassen(a11 + a12, b22), strassen(a21 - a11, b11 + b12), strassen(a12 - a22, b21 + b22)
    return np.block([[m[0] + m[3] - n[0] + n[2], m[2] + n[0]], [m[1] + m[3], m[0] - m[1] + m[2] + n[1]]])


def test_matrix_products_that_lose_small_terms_are_noticed():
    a, b = np.random.default_rng(0).normal(size=(2, 128, 128))
    np.testing.assert_allclose(strassen(a, b), a @ b, atol=1e-11)

    def rounded(a: Floats) -> Floats:
        return a.astype(np.float32).astype(np.float64)

    def fixed(a: Floats, axis: int) -> Floats:
        """Each row or column to 60 bits of its largest number."""
        unit = np.ldexp(abs(a).max(axis, keepdims=True), -60)
        return np.rint(a / unit) * unit

    assert multiplies_plainly()
    assert multiplies_plainly(lambda a, b: np.einsum("ij,jk", a, b[::-1][::-1]))
    assert not multiplies_plainly(strassen)
    with np.errstate(over="ignore", invalid="ignore"):
        assert not multiplies_plainly(lambda a, b: (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float64))
    assert not multiplies_plainly(lambda a, b: rounded(a) @ rounded(b))
    # What is lost on one side only, or in sums only, is enough.
    assert not multiplies_plainly(lambda a, b: rounded(a) @ b)
    assert not multiplies_plainly(lambda a, b: a @ rounded(b))
    assert not multiplies_plainly(lambda a, b: (a @ b).astype(np.float32) if len(a) < 512 else a @ b)
    assert not multiplies_plainly(lambda a, b: fixed(a, 1) @ fixed(b, 0))


@pytest.mark.parametrize("seed", range(3))
def test_float64_decides_as_the_balls_do(certified: Path, seed: int):
    """On random prototypes, most of which are far apart; what float64 leaves open, the balls decide."""
    weights, config = ((certified / name).read_bytes() for name in ("model.safetensors", "config.json"))
    network = network_of(tensors(weights), parsed(config, "it"))
    random = np.random.default_rng(seed)
    prototypes = exact(random.normal(size=(9, network.d)))
    with ctx.workprec(64):
        rows = np.concatenate([network.absent, prototypes])
        windows = np.column_stack([random.integers(1, 10, 40), random.integers(0, 10, 40)])
        nodes = Images("nodes", network, network.in_doubles(), rows, prototypes, lambda *_: None)
        found, decided = nodes.quickly(windows, None)
        assert decided.any()
        quick, nodes.margin = nodes.margin, np.inf
        np.testing.assert_array_equal(found[decided], nodes.exactly(windows[decided], None))
        assert quick <= nodes.margin < quick + 1e-6
        np.testing.assert_array_equal(nodes.proven(windows), 1 + nodes.exactly(windows, None))
