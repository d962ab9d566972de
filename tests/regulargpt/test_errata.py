"""Slips of the papers that docs/errata.md lists and that no other file of tests holds: small, exact counterexamples."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from languages.randomness import rng
from regulargpt.encodings.alibi import geometric, press
from regulargpt.measurements.measuring import measured
from regulargpt.measurements.receptive_field import cumulative, erf
from regulargpt.models.hooks import run_with_cache
from regulargpt.models.transformer import Transformer
from tests.regulargpt.test_kernels import cosines, sandwich

# Receptive fields


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=40))
def test_the_printed_receptive_field_is_always_1(norms: list[float]):
    """c_m = s_m + ... + s_L falls with m from c_1 = 1, so min{m : c_m > 0.99} is 1 for every model."""
    s = np.array(norms) / sum(norms)
    printed = s[::-1].cumsum()[::-1]
    assert int((printed > 0.99).argmax()) + 1 == 1
    # What is meant counts from the newest; in the paper's indices it is L - max{m : c_m > 0.99} + 1.
    meant = erf(cumulative(s[None])[0])
    assert meant == len(s) - int(np.flatnonzero(printed > 0.99).max())


def reach(masks: list[np.ndarray]) -> int:
    """How many positions the last one depends on through these attention masks (queries, keys), one a layer."""
    seen = np.eye(len(masks[0]), dtype=bool)[-1]
    for mask in masks[::-1]:
        seen = seen @ mask
    return int(seen.sum())


@pytest.mark.parametrize("layers", [1, 2, 5])
@pytest.mark.parametrize("w", [1, 2, 7])
def test_windows_reach_R_times_w_minus_1_plus_1(layers: int, w: int):
    """Not w R: each layer adds w - 1 keys, for the query's own position is one of the w."""
    T = 50
    mask = np.tri(T, dtype=bool) & ~np.tri(T, k=-w, dtype=bool)
    assert reach([mask] * layers) == layers * (w - 1) + 1


def test_the_largest_window_that_fits_512_is_43():
    """The thesis has w < 512 / 12 = 42.6; and its w = 40 reaches 469 tokens, not 480."""
    assert max(w for w in range(1, 512) if 12 * (w - 1) + 1 <= 512) == 43
    assert 12 * (40 - 1) + 1 == 469


@pytest.mark.parametrize(("chunk", "thickness", "depth"), [(2, 1, 3), (2, 3, 3), (3, 2, 2), (4, 2, 2)])
def test_thick_layers_reach_further_than_the_tree(chunk: int, thickness: int, depth: int):
    """C^depth is the reach at thickness 1; K layers a step reach 1 + K (C^depth - 1). At C = 32, K = 6 that is 6139."""
    expected = 1 + thickness * (chunk**depth - 1)
    T = expected + 5
    distance = np.arange(T)[:, None] - np.arange(T)[None, :]
    steps = [(distance % chunk**at == 0) & (distance >= 0) & (distance < chunk ** (at + 1)) for at in range(depth)]
    assert reach([step for step in steps for _ in range(thickness)]) == expected
    assert 1 + 6 * (32**2 - 1) == 6139


@given(st.integers(2, 40), st.integers(1, 200))
def test_blockwise_attention_meets_no_unseen_distance(train_len: int, length: int):
    """A query at m >= h = l // 2 sees h + 1 to l keys (l even), none of them farther than l - 1."""
    h = train_len // 2
    m, n = np.arange(length)[:, None], np.arange(length)[None, :]
    visible = (n <= m) & (m // h - n // h <= 1)
    assert (m - n)[visible].max() <= train_len - 1
    counts = visible.sum(1)[h:]
    assert ((counts >= h + 1) & (counts <= 2 * h)).all()


# Biases


def test_a_bias_is_added_after_the_scaling():
    """Eq. 3.1 and 4.3 divide it by sqrt(d_head) too, which makes ALiBi's slopes 8 times smaller at d_head = 64."""
    model = Transformer(2, 2, d_model=16, n_heads=1, d_ff=8, n_layers=1, encoding="alibi")
    torch.nn.init.zeros_(model.get_parameter("blocks.0.attn.qkv.weight"))  # all content logits are 0
    pattern = run_with_cache(model, torch.zeros(1, 6, dtype=torch.long))[1]["blocks.0.attn.hook_pattern"][0, 0]
    bias = -geometric(1) * torch.arange(5, -1, -1)
    assert torch.allclose(pattern[-1].double(), bias.softmax(0), atol=1e-6)
    assert not torch.allclose(pattern[-1].double(), (bias / 4).softmax(0), atol=1e-3)


def test_alibi_slopes_for_12_heads_are_two_different_sets():
    """8n/H for every H, as both papers print, and the 8 + 4 slopes of the code that their numbers come from."""
    printed, run = -geometric(12).log2(), -press(12).log2()
    assert printed.tolist() == pytest.approx([2 * n / 3 for n in range(1, 13)])
    assert run.tolist() == pytest.approx([*range(1, 9), 0.5, 1.5, 2.5, 3.5])
    for heads in (1, 2, 4, 8, 16):
        assert torch.equal(geometric(heads), press(heads))


def test_distances_in_bfloat16_are_rounded_above_256():
    exact = torch.arange(9000)
    rounded = exact.bfloat16().long()
    assert torch.equal(rounded[:257], exact[:257])
    assert rounded[257].item() != 257
    steps = {at: int(np.diff(np.unique(rounded[at : 2 * at].numpy())).min()) for at in (256, 512, 2048, 4096)}
    assert steps == {256: 2, 512: 4, 2048: 16, 4096: 32}
    assert int(np.diff(np.unique(rounded[8192:].numpy())).min()) == 64


def test_a_key_and_a_distance_bias_are_one_up_to_the_row():
    m, n = torch.arange(9.0, dtype=torch.float64)[:, None], torch.arange(9.0, dtype=torch.float64)
    assert torch.allclose((-0.3 * (m - n)).softmax(-1), (0.3 * n).expand(9, 9).softmax(-1), atol=1e-15)


# Sandwich


@pytest.mark.parametrize(("first", "lowest", "at_1"), [(0, 11, -0.2383), (1, 13, -0.1808)])
def test_sandwich_rises_at_distance_11(first: int, lowest: int, at_1: float):
    """The bias is no monotone decay: with i from 0 it falls to distance 11, then rises; with i from 1 to 13."""
    y = (cosines(np.arange(8192), first) - 64) / 8
    assert (np.diff(y[: lowest + 1]) < 0).all()
    assert y[lowest + 1] > y[lowest]
    assert (np.diff(y) > 0).mean() > 0.4
    assert y[1] == pytest.approx(at_1, abs=1e-4)


def test_the_encoding_counts_from_0_and_rises_too():
    bias = np.array(measured("kernels", "sandwich", heads=8, length=16).values["bias"][7])
    assert bias[:5] - bias[0] == pytest.approx([0, -0.238290, -0.827267, -1.476721, -1.926746], abs=1e-5)
    assert bias[12] > bias[11]


def fit(y: np.ndarray) -> list[float]:
    """a and b of the least-squares y = -a ln(1 + x) - b."""
    x = np.log1p(np.arange(len(y)))
    return (-np.linalg.lstsq(np.stack([x, np.ones_like(x)], 1), y, rcond=None)[0]).tolist()


def test_smoothed_sandwich_has_two_fits():
    """Figure 4.9 prints 0.825 and 0.8, near the fit to all 8192 points; footnote 7 fits the nearest 50, as was run."""
    y = sandwich(np.arange(8192))
    assert fit(y) == pytest.approx([0.832, 0.794], abs=1e-3)
    assert fit(y[:50]) == pytest.approx([1.024, 0.015], abs=1e-3)
    counted_from_1 = (cosines(np.arange(50), first=1) - 64) / 8
    assert fit(counted_from_1) == pytest.approx([1.015, -0.083], abs=1e-3)


def test_smoothed_sandwich_is_kerple_log_with_r2_1():
    found = [measured("kernels", "sandwich_smooth", heads=8, length=64).values["bias"][head] for head in range(8)]
    for head, bias in enumerate(found, 1):
        r1 = -(bias[1] - bias[0]) / math.log(2)
        assert np.array(bias) - bias[0] == pytest.approx(-r1 * np.log1p(np.arange(64)), abs=1e-4)
        assert r1 * head == pytest.approx(-(found[0][1] - found[0][0]) / math.log(2), rel=1e-4)


def test_the_listing_of_one_copy_divides_along_the_wrong_axis():
    """`ratio[None, None]` divides columns; the thesis has `ratio[..., None, None]`, which divides heads."""
    bias, ratio = np.ones((4, 4)), np.array([1.0, 2.0, 4.0, 8.0])
    wrong, right = bias[None, ...] / ratio[None, None], bias[None, ...] / ratio[..., None, None]
    assert wrong.shape == (1, 4, 4)
    assert right.shape == (4, 4, 4)
    assert np.array_equal(right[3], bias / 8)


# xPos


def test_uncentred_xpos_overflows_fp16_at_4532():
    """Algorithm 1 shows neither base 512 nor a centre. With the base, a key beyond 4532 is infinite in fp16."""
    smallest = 0.4 / 1.4

    def factor(position: int) -> np.float16:
        return np.float16(smallest ** (-position / 512))

    with np.errstate(over="ignore"):
        assert np.isfinite(factor(4532))
        # Above 65504 numbers still round down to it, up to half a step more.
        assert next(m for m in range(4532, 5000) if smallest ** (-m / 512) > 65_504) == 4533
        assert np.isinf(factor(4534))
    assert smallest ** (-4532 / 512) < 65_504 < smallest ** (-4533 / 512)
    assert smallest ** (-(9064 - 9064 // 2) / 512) < 65_504  # centred, twice as far: the paper's 8192 fits
    assert 36_000 < 512 * math.log(np.finfo(np.float32).max) / -math.log(smallest) < 36_300


def test_without_the_base_xpos_overflows_after_8_positions():
    assert (0.4 / 1.4) ** -8 < 65_504 < (0.4 / 1.4) ** -9


def test_a_multiplied_mask_masks_nothing():
    """Algorithm 1 writes softmax(Q K' / sqrt(d) . M): a product with 0 leaves weight on what is masked."""
    logits, mask = torch.tensor([[1.0, 2.0], [0.5, 1.0]]), torch.ones(2, 2).tril()
    assert (logits * mask).softmax(-1)[0, 1] > 0.2
    assert logits.masked_fill(mask == 0, -math.inf).softmax(-1)[0, 1] == 0


def test_sine_first_or_cosine_first_is_a_permutation():
    """Eq. 14 of LEX starts with the cosine, Eq. 4.5 of the thesis with the sine: p_m . p_n is the same."""
    angle = np.arange(20)[:, None] * 10_000.0 ** (-np.arange(8) / 8)
    sine_first = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(20, -1)  # (positions, 16)
    cosine_first = np.stack([np.cos(angle), np.sin(angle)], -1).reshape(20, -1)  # (positions, 16)
    assert np.allclose(sine_first @ sine_first.T, cosine_first @ cosine_first.T)


# Temperature (chapter 5)


def proposition_5_1(L_tr: float, L_ex: float, p_max: float, s_tr: float, s_ex: float) -> float | None:
    """The temperature that keeps P_max, the larger root of A t^2 - B t + C; None if there is no real one."""
    a, b, c = math.log(L_ex * p_max), math.log(L_tr * p_max) + s_tr**2 / 2, s_ex**2 / 2
    discriminant = b * b - 4 * a * c
    return None if a <= 0 or discriminant < 0 else (b + math.sqrt(discriminant)) / (2 * a)


def planted(length: int, sigma: float, largest: float) -> float:
    """P_max where one logit is `largest` and the others are N(0, sigma^2), by the thesis's own approximation."""
    return math.exp(largest) / (math.exp(largest) + (length - 1) * math.exp(sigma**2 / 2))


@pytest.mark.parametrize(
    ("sigma", "largest", "expected"),
    [(1, 7, 0.588), (0.75, 7, 0.611), (1.5, 5, None), (2, 5, None), (2, 7, None), (2, 8.7, None)],
)
def test_proposition_5_1_may_have_no_solution(sigma: float, largest: float, expected: float | None):
    found = proposition_5_1(512, 15_000, planted(512, sigma, largest), sigma, sigma)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-3))


@given(st.floats(0.01, 1), st.floats(0.1, 3))
def test_the_larger_root_is_the_wrong_one_for_wide_logits(p_max: float, sigma: float):
    """At L_ex = L_tr the roots are 1 and C / A. The larger one is 1 only while sigma^2 <= 2 ln(L P)."""
    found = proposition_5_1(512, 512, p_max, sigma, sigma)
    # Where both roots are 1, rounding may leave the discriminant below 0.
    assert found is None or found == pytest.approx(max(1, sigma**2 / (2 * math.log(512 * p_max))), rel=1e-6)


@pytest.mark.parametrize(("p_max", "largest"), [(0.28, 8.61), (0.27, 8.71), (0.32, 8.75)])
def test_proposition_5_1_has_no_solution_at_the_figures_of_tables_5_1_and_5_7(p_max: float, largest: float):
    """By Eq. 5.2 P_max and l_max at 512 give sigma, 2.6 to 2.8; with it 15,000 tokens have no temperature."""
    sigma = math.sqrt(2 * (largest - math.log(512 * p_max)))
    assert 2.6 < sigma < 2.8
    assert proposition_5_1(512, 15_000, p_max, sigma, sigma) is None


def test_proposition_5_2_holds_for_small_sigma_only():
    def entropy(length: int, sigma: float) -> float:
        logits = sigma * rng(0, "entropy").standard_normal((200, length))
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        return float(-(p * np.log(p)).sum(1).mean())

    error = {s: entropy(512, s) - (math.log(512) - s**2 / 2) for s in (0.5, 1.0, 2.0, 2.5)}
    assert abs(error[0.5]) < 0.005
    assert 0.15 < error[2.0] < 0.25
    assert error[2.5] > 0.4
    tau = 2 / math.sqrt(4 + 2 * math.log(15_000 / 512))
    assert tau == pytest.approx(0.610, abs=1e-3)
    assert entropy(15_000, 2 / tau) - entropy(512, 2) > 0.4  # aligned they were to be equal
