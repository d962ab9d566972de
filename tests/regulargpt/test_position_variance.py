"""Chapter 2 simulated: Lemmas 2.1-2.4 at the thesis's sizes, and where they are off (docs/errata.md)."""

import math

import numpy as np
import pytest
import torch

from languages.errors import UserError
from regulargpt.text.measurements.position_probe import (
    FrozenBlock,
    ProbeSetting,
    draw_blocks,
    middle_error,
    probe_positions,
    streams,
)
from regulargpt.text.measurements.position_variance import (
    Attention,
    Lemmas,
    RandomModel,
    Variances,
    after_norm,
    attention,
    generator,
    layer_norm,
    log_slope,
    simulate,
)

THESIS = RandomModel(draws=3)
SMALL = RandomModel(d_model=64, n_heads=4, length=64, sigma=0.05, draws=300)


@pytest.fixture(scope="module")
def thesis() -> Variances:
    """Three draws at d = 768, H = 12, L = 512, s = 0.02."""
    return simulate(THESIS, seed=0)


def test_lemma_2_1_holds_and_lemma_2_2_is_off_by_the_number_of_heads(thesis: Variances):
    lemmas = Lemmas.from_setting(THESIS)
    assert lemmas.vector == pytest.approx(0.3072)
    assert thesis.vector == pytest.approx(0.3072, rel=0.02)
    assert thesis.logit == pytest.approx(6.040, rel=0.02)
    assert lemmas.logit == pytest.approx(6.040, rel=1e-4)
    assert lemmas.logit_printed == pytest.approx(0.5033, rel=1e-3)
    assert thesis.scaled == pytest.approx(0.0944, rel=0.02)
    assert lemmas.scaled_printed == pytest.approx(0.0079, rel=5e-3)
    # l is a sum of d/H products of independent entries with variance d s^2 each: (d/H) (d s^2)^2 by Lemma 2.1.
    assert 768 / 12 * lemmas.vector**2 == pytest.approx(lemmas.logit)


@pytest.mark.parametrize("n_heads", [1, 2, 4, 16])
def test_the_scaled_logits_have_a_variance_that_no_head_enters(n_heads: int):
    found = simulate(RandomModel(d_model=64, n_heads=n_heads, length=16, sigma=0.05, draws=200), seed=1)
    assert found.scaled == pytest.approx(64**2 * 0.05**4, rel=0.06)


@pytest.mark.parametrize("kind", ["causal", "uniform"])
def test_lemma_2_3_the_output_falls_as_one_over_m(kind: Attention):
    found = simulate(SMALL, seed=0, kind=kind)
    ratio = found.output[0] / Lemmas.from_setting(SMALL).output
    assert np.abs(ratio - 1).max() < (0.1 if kind == "uniform" else 0.2)
    assert log_slope(found.output[0]) == pytest.approx(-1, abs=0.05)


def test_lemma_2_3_at_the_thesis_sizes(thesis: Variances):
    ratio = thesis.output[0] / Lemmas.from_setting(THESIS).output
    assert ratio[[0, 1, 7, 63]] == pytest.approx(1, abs=0.25)
    # Attention is not quite even, so that later positions keep more of their variance than the lemma says.
    assert 1.05 < ratio[256:].mean() < 1.3


def test_property_2_1_holds_where_the_scaled_variance_is_small(thesis: Variances):
    """The thesis asks for s^4 << H / d^2; as the scaled variance is d^2 s^4, the condition is s^4 << 1 / d^2."""
    line = np.arange(1, 513) / 512
    assert np.abs(thesis.cumulative - line).max() < 0.01
    # Here s^4 = 1 / d^2, which is a sixteenth of H / d^2, and attention is far from even.
    even = RandomModel(d_model=64, n_heads=16, length=64, sigma=64**-0.5, draws=20)
    assert even.sigma**4 == pytest.approx(even.n_heads / even.d_model**2 / 16)
    ratio = simulate(even, 0).output[0] / Lemmas.from_setting(even).output
    assert ratio[-1] > 2


def test_with_a_large_sigma_variance_says_little_of_position():
    """At s = 0.2 and d = 768 the thesis still sees a slope: one tenth of a factor over 512 positions."""
    found = simulate(RandomModel(sigma=0.2, draws=3), seed=0).output[0]
    assert 0.75 < found[-1] / found[0] < 1
    assert found[-1] / Lemmas.from_setting(RandomModel(sigma=0.2)).output[-1] > 300
    assert -0.05 < log_slope(found) < 0


def test_without_the_mask_all_positions_are_alike():
    found = simulate(SMALL, seed=0, kind="bidirectional")
    assert abs(log_slope(found.output[0])) < 0.02
    # The lemma's d^2 s^4 / L, and a little more since attention is not quite even.
    assert found.output[0].mean() == pytest.approx(Lemmas.from_setting(SMALL).output[-1], rel=0.15)


def test_lemma_2_4_leaves_out_a_term():
    """x_m and e_m are one vector on two scales, so that the numerator has 2 s M_jj too."""
    setting = RandomModel(d_model=128, n_heads=4, length=4, sigma=0.02)
    measured, printed, with_term = after_norm(setting, 0, [1, 2], samples=4000)
    for at in range(2):
        missing, expected = measured[at] - printed[at], with_term[at] - printed[at]
        assert np.corrcoef(missing, expected)[0, 1] > 0.7
        assert np.square(measured[at] - with_term[at]).mean() < 0.5 * np.square(missing).mean()
    assert np.abs(measured.mean(1) - 1).max() < 0.01


def test_lemma_2_4_is_right_to_a_few_percent():
    setting = RandomModel(d_model=128, n_heads=4, length=64, sigma=0.02)
    measured, printed, _ = after_norm(setting, 0, [1, 64], samples=1000)
    assert np.abs(measured / printed - 1).mean() < 0.1


def test_layers_beyond_the_first_flatten():
    found = simulate(RandomModel(d_model=64, n_heads=4, length=64, sigma=0.05, n_layers=3, draws=50), seed=0)
    assert found.output.shape == (3, 64)
    slopes = [log_slope(row) for row in found.output]
    assert slopes[0] < slopes[1] < slopes[2] < 0


@pytest.mark.parametrize("kind", ["causal", "uniform", "bidirectional"])
def test_attention_against_its_definition(kind: Attention):
    logits = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = attention(logits, kind)
    for head in range(2):
        for m in range(3):
            seen = range(3) if kind == "bidirectional" else range(m + 1)
            e = [math.exp(logits[head, m, n]) if kind != "uniform" else 1.0 for n in seen]
            assert found[head, m, : len(e)].tolist() == pytest.approx([value / sum(e) for value in e])
            assert found[head, m, len(e) :].tolist() == [0.0] * (3 - len(e))


def test_the_same_seed_gives_the_same_numbers_another_others_and_both_precisions_agree():
    setting = RandomModel(d_model=16, n_heads=2, length=8, draws=2)
    first, again, other = (simulate(setting, seed).output for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    sizes = {"d_model": 32, "n_heads": 2, "length": 8, "sigma": 0.1, "draws": 400}
    single, double = (simulate(RandomModel(**sizes, dtype=dtype), 0).output for dtype in (torch.float32, torch.float64))
    assert single == pytest.approx(double, rel=0.2)
    assert log_slope(5.0 * np.arange(1, 50) ** -0.5) == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n_heads": 5}, "n_heads = 5 does not divide d_model = 768"),
        ({"sigma": 0.0}, "are positive"),
        ({"draws": 0}, "are positive"),
        ({"length": 10_000}, "too many logits"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes: dict, message: str):
    with pytest.raises(UserError, match=message):
        RandomModel(**sizes)
    with pytest.raises(UserError, match="positions from 1 to 512"):
        after_norm(RandomModel(), 0, [513], 1)


def test_a_frozen_layer_is_causal_and_equals_its_definition():
    setting = RandomModel(d_model=8, n_heads=2, length=5, sigma=0.3, dtype=torch.float64)
    block = draw_blocks(setting, generator(0, "test"))[0]
    x = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    changed = x.clone()
    changed[:, 3:] += 1
    assert torch.equal(block(x, 2)[:, :3], block(changed, 2)[:, :3])
    assert torch.allclose(block(x, 2), by_definition(block, x[0])[None])


def by_definition(block: FrozenBlock, x: torch.Tensor) -> torch.Tensor:
    """Position by position, head by head."""
    e, d_head = layer_norm(x), 4
    q, k, v = (e @ weight.T for weight in block.attention[:3])
    mixed = torch.zeros_like(x)
    for m in range(len(x)):
        for head in range(2):
            own = slice(head * d_head, (head + 1) * d_head)
            weights = (k[: m + 1, own] @ q[m, own] / d_head**0.5).softmax(0)
            mixed[m, own] = weights @ v[: m + 1, own]
    x = x + mixed @ block.attention.o.T
    return x + torch.nn.functional.gelu(layer_norm(x) @ block.up.T) @ block.down.T


def test_positions_can_be_read_behind_a_layer_but_not_from_the_input():
    model = RandomModel(d_model=128, n_heads=2, length=16, n_layers=1)
    before, behind = probe_positions(ProbeSetting(model, updates=300), seed=0)
    assert middle_error(16) == 4
    assert before.mean == pytest.approx(4, abs=0.05)
    assert behind.mean < 3.7
    assert behind.argmax < before.argmax - 1


def test_the_streams_are_normed_without_eps_and_one_more_than_the_layers():
    setting = RandomModel(d_model=8, n_heads=2, length=3, n_layers=2)
    blocks = draw_blocks(setting, generator(0, "test"))
    x = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0))
    found = list(streams(x, blocks, 2))
    assert len(found) == 3
    assert all(stream.square().mean(-1) == pytest.approx(torch.ones(2, 3), abs=1e-3) for stream in found)
    assert layer_norm(1e-4 * x).var(-1, correction=0) == pytest.approx(torch.ones(2, 3), abs=1e-4)


def test_a_probe_reports_its_progress():
    seen: list[tuple[int, int]] = []
    model = RandomModel(d_model=8, n_heads=2, length=4)
    probe_positions(ProbeSetting(model, updates=3, batch_size=1), 0, progress=lambda *at: seen.append(at))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(UserError, match="at least 1"):
        ProbeSetting(model, updates=0)
